package output

import (
	"errors"
	"os"
	"sync/atomic"

	"github.com/extsort/extsort/chunker/spill"
)

// Kept describes an output file that a later process can continue after a crash. It has a
// temporary name until Commit, and can be opened again by that name.
type Kept struct {
	File  *spill.KeptOutput // nil if there is no file yet
	Owner string            // identifies the job that keeps the file; "" if none does
	Begun bool              // the file is from an earlier process; its content must be verified

	hasRecords atomic.Bool
}

// Keep makes the file stay even if the output is aborted.
func (k *Kept) Keep() { k.hasRecords.Store(true) }

// keepsRecords reports whether the file has records that must stay.
func (k *Kept) keepsRecords() bool { return k.hasRecords.Load() }

// isWanted reports whether a later process may continue the file.
func (k *Kept) isWanted() bool { return k.Owner != "" }

// openKept opens the file of an earlier process. It returns errors.ErrUnsupported if there is
// none, or if another file has its name.
func (n *naming) openKept() (*os.File, error) {
	files := n.parent.files
	before := n.kept.File
	if before == nil {
		_ = files.Remove(n.tempName(0)) // left by an owner that has lost the name of its file
		return nil, errors.ErrUnsupported
	}

	name := string(before.Name)
	info, err := files.Lstat(name)
	if err != nil || info.IsDir() {
		return nil, errors.ErrUnsupported
	}
	if !isKept(info, before) {
		_ = files.Remove(name) // does not affect other names of that file, or the target of a link
		return nil, errors.ErrUnsupported
	}

	file, err := files.OpenFile(name, os.O_RDWR, 0)
	if err != nil {
		return nil, err
	}
	if opened, err := file.Stat(); err != nil || !os.SameFile(info, opened) {
		file.Close()
		return nil, errors.ErrUnsupported
	}

	n.temp = name
	n.kept.Begun = true
	return file, nil
}

// noteKept records a description of the file of a kept output, so that it can be opened again.
func (n *naming) noteKept(file *os.File) error {
	info, err := file.Stat()
	if err != nil {
		return err
	}
	n.kept.File = &spill.KeptOutput{
		Name:  spill.RawName(n.temp),
		Inode: inodeOf(info),
		Mode:  info.Mode(),
	}
	return nil
}
