package output

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/extsort/extsort/device"
)

// A naming creates a file in a directory and gives it its name when the file is complete. If the
// process ends earlier, the name still refers to the previous file. Its methods are not safe for
// concurrent use.
type naming struct {
	ops       operations
	path      string     // the name after following symbolic links
	base      string     // the name within the directory
	parent    directory  // the directory
	temp      string     // temporary name within the directory; "" if none exists
	unlocked  bool       // no lock shows other processes that this one is running
	replaces  bool       // a file with this name exists
	old       string     // second name of the file that is being replaced; "" if it has none
	lost      error      // the reason why that file has no second name; nil if it needs none
	resumable *Resumable // how a later process finds the file
}

// newNaming opens the directory of a name. It does so early, because the directory must be synced
// at the end. It does not use filepath.Dir, which would resolve ".." after a symbolic link without
// following the link.
func newNaming(ops operations, path string, replaces bool, kept *Resumable) (*naming, error) {
	if kept == nil {
		kept = new(Resumable)
	}
	folder, base := filepath.Split(path)
	n := &naming{
		ops:       ops,
		path:      path,
		base:      base,
		replaces:  replaces,
		resumable: kept,
	}

	var err error
	n.parent, err = openDirectory(ops, folder+".")
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, fmt.Errorf(
			"its directory %s: %w: create it first", filepath.Dir(path),
			device.WithoutPath(err),
		)
	case err != nil:
		return nil, fmt.Errorf("open directory %s: %w", filepath.Dir(path), device.WithoutPath(err))
	}
	return n, nil
}

// create creates the file or, for a kept output, opens the file of an earlier process.
func (n *naming) create(perm fs.FileMode) (file *os.File, err error) {
	n.removeLeftovers()
	if n.resumable.isResumable() {
		n.unlocked = true // no other process may take a kept file for a leftover
		file, err = attempt(n.ops, "open output", n.reopen)
	} else {
		file, err = attempt(n.ops, "create output", func() (*os.File, error) {
			return openUnnamed(n.parent.folder, perm)
		})
		n.unlocked = err == nil && lock(file) != nil
	}

	if errors.Is(err, errors.ErrUnsupported) {
		err = n.nameTemporarily("open output", func(name string) (err error) {
			file, err = n.openTemp(name, perm)
			return err
		})
	}
	if err == nil && n.resumable.isResumable() {
		if err = n.noteResumable(file); err != nil {
			err = errors.Join(err, n.removeTemp(), file.Close())
		}
	}
	if err != nil {
		return nil, fmt.Errorf(
			"a file in directory %s: %w", filepath.Dir(n.path), device.WithoutPath(err),
		)
	}
	return file, nil
}

// checkReplaceable returns an error if the directory does not allow the existing file to be
// replaced. It runs before any work is done.
func (n *naming) checkReplaceable() error {
	err := n.ops.perform("check directory", func() error {
		return checkRemovable(n.parent.folder, n.base)
	})
	if err != nil {
		return fmt.Errorf(notReplaceable, filepath.Dir(n.path), err)
	}
	return nil
}

// appear gives the file its name. Only if an unnamed file replaces another one does it get a
// temporary name first, for a moment.
func (n *naming) appear(file *os.File) error {
	if n.temp == "" && !n.replaces {
		err := n.ops.perform("link output", func() error {
			return link(file, n.parent.folder, n.base)
		})
		if !errors.Is(err, fs.ErrExist) {
			return err
		}
	}

	if err := n.linkTemp(file); err != nil {
		return err
	}
	return n.rename()
}

// linkTemp gives the file a temporary name if it has none.
func (n *naming) linkTemp(file *os.File) error {
	if n.temp != "" {
		return nil
	}
	return n.nameTemporarily("link output", func(name string) error {
		return link(file, n.parent.folder, name)
	})
}

// rename replaces the temporary name by the final one.
func (n *naming) rename() error {
	err := n.ops.perform("rename output", func() error {
		return n.parent.files.Rename(n.temp, n.base)
	})
	if err == nil {
		n.temp = ""
	}
	return err
}

// sync makes the names in the directory durable. file is the output; it may be closed if the
// directory can be synced.
func (n *naming) sync(file *os.File) error {
	return n.ops.perform("sync directory", func() error { return n.parent.sync(file) })
}

// takeBack removes the file that appear has named.
func (n *naming) takeBack() error { return n.parent.files.Remove(n.base) }

// removeTemp removes the temporary name, unless the file is to be kept.
func (n *naming) removeTemp() error {
	name := n.temp
	n.temp = ""
	if name == "" || n.resumable.isPreserved() {
		return nil
	}
	return n.parent.files.Remove(name)
}

// giveUp removes the file. It calls closeFile to close the file.
func (n *naming) giveUp(closeFile func() error) error {
	var removing error
	if renamesOpen {
		// while the file is locked: later the name may belong to another process
		removing = n.removeTemp()
	}
	err := errors.Join(closeFile(), removing, n.removeTemp())
	n.close()
	return err
}

// close closes the directory. It may be called more than once.
func (n *naming) close() { n.parent.close() }
