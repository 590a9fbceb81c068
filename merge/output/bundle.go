package output

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"syscall"
)

// A Bundle is a group of files that appear together: all of them when they are complete, or none.
// Files that are opened with FileOptions.Bundle belong to it. Their Commit makes them durable, and
// Bundle.Commit gives them their names. Streams and objects cannot belong to a bundle. A Bundle is
// not safe for concurrent use.
type Bundle struct {
	files []*File // files that are durable and have no name yet
}

// Commit gives all durable files their names. After an error, none of them has its name, and the
// previous files are unchanged; the error names the exceptions, which only a file system without
// links can cause.
func (b *Bundle) Commit(ctx context.Context) error {
	if err := b.appear(ctx); err != nil {
		return errors.Join(err, b.Abort())
	}
	files := b.files
	b.files = nil
	ctx = context.WithoutCancel(ctx) // the files have their names
	var err error
	for _, f := range files {
		err = errors.Join(err, f.settle(ctx))
	}
	return err
}

// Abort removes all durable files. It does nothing after Commit.
func (b *Bundle) Abort() (err error) {
	for _, f := range b.files {
		err = errors.Join(err, f.Abort())
	}
	b.files = nil
	return err
}

func (b *Bundle) appear(ctx context.Context) error {
	for _, f := range b.files {
		// if the directory has no room for more names, the error occurs here
		if err := f.naming.linkTemp(f.file); err != nil {
			return fmt.Errorf("finish output %s: %w", f.name, err)
		}
	}
	if ctx.Err() != nil { // from here on, cancelling has no effect
		return context.Cause(ctx)
	}
	for i, f := range b.files {
		err := f.naming.keepOld()
		if err == nil {
			err = f.appear()
		}
		if err != nil {
			return errors.Join(fmt.Errorf("finish output %s: %w", f.name, err), f.naming.dropOld(), takeBack(b.files[:i]))
		}
	}
	for _, f := range b.files {
		_ = f.naming.dropOld() // the next output of this name removes it as well
	}
	return nil
}

// takeBack replaces files that have their names by the previous files.
func takeBack(files []*File) (err error) {
	for _, f := range slices.Backward(files) {
		if failed := f.naming.restoreOld(); failed != nil {
			err = errors.Join(err, fmt.Errorf("output %s is new already: %w", f.name, failed))
		}
	}
	return err
}

// errNotKept is the error of restoring a file that keepOld could not keep.
var errNotKept = errors.New("its file system cannot keep the old one under a second name")

// keepOld gives the file that is about to be replaced a second name, if there is such a file and if
// its file system can. A file can have too many names already, or belong to another user.
func (n *naming) keepOld() error {
	old, err := n.firstFree("keep old output", func(name string) error {
		return n.parent.files.Link(n.base, name)
	})
	n.old = old
	n.lost = nil
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	unable := []error{syscall.EMLINK, syscall.EXDEV, syscall.EPERM, syscall.EACCES, errors.ErrUnsupported}
	if slices.ContainsFunc(unable, func(reason error) bool { return errors.Is(err, reason) }) {
		n.lost = errNotKept
		return nil
	}
	return err
}

// restoreOld gives the file that keepOld has kept its name again. If there was no such file, it
// removes the file that has the name now.
func (n *naming) restoreOld() error {
	switch {
	case n.lost != nil:
		return n.lost
	case n.old == "":
		return n.takeBack()
	}
	old := n.old
	n.old = ""
	return n.parent.files.Rename(old, n.base)
}

// dropOld removes the second name of the previous file.
func (n *naming) dropOld() error {
	if n.old == "" {
		return nil
	}
	old := n.old
	n.old = ""
	return n.parent.files.Remove(old)
}
