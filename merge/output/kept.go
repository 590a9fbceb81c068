package output

import (
	"errors"
	"os"
	"sync/atomic"
)

// Kept is the file of an output that can be gone on with after a crash: until Commit it has a temporary name, by which
// it can be opened again.
type Kept struct {
	Name  string // in the folder of the output; "": there is none yet
	Owner string // what keeps it, and nobody else does
	Begun bool   // it is that of before

	hasRecords atomic.Bool
}

// Keep has the file stay there also where the output is given up.
func (k *Kept) Keep() { k.hasRecords.Store(true) }

func (k *Kept) worth() bool { return k != nil && k.hasRecords.Load() }

// openKept opens the file of before; errors.ErrUnsupported: there is none.
func (o *Output) openKept() (*os.File, error) {
	name := o.kept.Name
	if name == "" {
		_ = o.root.Remove(o.tempName(0)) // of an owner that has lost the name of its file
		return nil, errors.ErrUnsupported
	}
	info, err := o.root.Lstat(name)
	if err != nil || !info.Mode().IsRegular() {
		return nil, errors.ErrUnsupported
	}
	o.temp = name
	file, err := o.root.OpenFile(name, os.O_RDWR, 0)
	o.kept.Begun = err == nil
	return file, err
}

// Sync makes what was written durable.
func (o *Output) Sync() error { return o.do("sync output", o.file.Sync) }
