package output

import (
	"errors"
	"os"
	"sync/atomic"

	"github.com/extsort/extsort/chunker/spill"
)

// Resumable describes an output file that a later process can continue after a crash. It has a
// temporary name until Commit, and can be opened again by that name.
type Resumable struct {
	File  *spill.KeptOutput // nil if there is no file yet
	Owner string            // identifies the job that keeps the file; "" if none does
	Begun bool              // the file is from an earlier process; its content must be verified
	// HasRecords is set if an earlier process has recorded its progress in File, which therefore
	// stays until Commit.
	HasRecords bool

	preserved atomic.Bool
}

// Preserve makes the file stay even if the output is aborted.
func (r *Resumable) Preserve() { r.preserved.Store(true) }

// isPreserved reports whether the file has records that must stay.
func (r *Resumable) isPreserved() bool { return r.preserved.Load() }

// isResumable reports whether a later process may continue the file.
func (r *Resumable) isResumable() bool { return r.Owner != "" }

// reopen opens the file of an earlier process. It returns errors.ErrUnsupported if there is
// none, or if another file has its name.
func (n *naming) reopen() (*os.File, error) {
	files := n.parent.files
	before := n.resumable.File
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
	n.resumable.Begun = true
	if n.resumable.HasRecords {
		n.resumable.Preserve()
	}
	return file, nil
}

// noteResumable records a description of the file of a kept output, so that it can be opened again.
func (n *naming) noteResumable(file *os.File) error {
	info, err := file.Stat()
	if err != nil {
		return err
	}
	n.resumable.File = &spill.KeptOutput{
		Name:  spill.RawName(n.temp),
		Inode: inodeOf(info),
		Mode:  info.Mode(),
	}
	return nil
}
