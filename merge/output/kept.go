package output

import (
	"errors"
	"os"
	"sync/atomic"

	"github.com/extsort/extsort/chunker/spill"
)

// Kept is the file of an output that can be gone on with after a crash: until Commit it has a temporary name, by which
// it can be opened again.
type Kept struct {
	File  *spill.KeptOutput // nil: there is none yet
	Owner string            // what keeps it, and nobody else does
	Begun bool              // it is that of before; what it holds has to be verified

	hasRecords atomic.Bool
}

// Keep has the file stay there also where the output is given up.
func (k *Kept) Keep() { k.hasRecords.Store(true) }

func (k *Kept) worth() bool { return k != nil && k.hasRecords.Load() }

// openKept opens the file of before; errors.ErrUnsupported: there is none, or another file has its name.
func (o *Output) openKept() (*os.File, error) {
	before := o.kept.File
	if before == nil {
		_ = o.root.Remove(o.tempName(0)) // of an owner that has lost the name of its file
		return nil, errors.ErrUnsupported
	}
	name := string(before.Name)
	info, err := o.root.Lstat(name)
	if err != nil || info.IsDir() {
		return nil, errors.ErrUnsupported
	}
	if !isKept(info, before) {
		_ = o.root.Remove(name) // which leaves other names of that file, and the target of a link
		return nil, errors.ErrUnsupported
	}
	file, err := o.root.OpenFile(name, os.O_RDWR, 0)
	if err != nil {
		return nil, err
	}
	if opened, err := file.Stat(); err != nil || !os.SameFile(info, opened) {
		file.Close()
		return nil, errors.ErrUnsupported
	}
	o.temp = name
	o.kept.Begun = true
	return file, nil
}

// noteKept describes the file of an output that is kept, so that it can be opened again.
func noteKept(o *Output) error {
	info, err := o.file.Stat()
	if err != nil {
		return err
	}
	o.kept.File = &spill.KeptOutput{Name: spill.RawName(o.temp), Inode: inodeOf(info), Mode: info.Mode()}
	return nil
}

// Sync makes what was written durable.
func (o *Output) Sync() error { return o.do("sync output", o.file.Sync) }
