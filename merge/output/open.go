package output

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/extsort/extsort/device"
	"github.com/extsort/extsort/internal/remote"
)

// Open begins an output. If fault is not nil, it is called before each file system operation; if
// it returns an error, the operation fails with that error. Open waits for a reader of a FIFO
// until ctx is cancelled.
func Open(ctx context.Context, name string, fault func(operation string) error) (*Output, error) {
	return OpenKept(ctx, name, fault, nil)
}

// A Whole is an output that appears when it is complete: an Output, or an object in a store.
type Whole interface {
	io.Writer
	Commit(ctx context.Context, size int64) error // a negative size means everything written
	Abort() error
}

// Create begins a file, or an object that is uploaded in parts of the given size, with up to
// parallel uploads at a time.
func Create(ctx context.Context, name string, part, parallel int) (Whole, error) {
	if remote.Is(name) {
		return remote.Create(ctx, name, part, parallel)
	}
	return Open(ctx, name, nil)
}

// WriteFile creates a file with the content that write produces. After an error, the previous
// file, if any, is unchanged.
func WriteFile(ctx context.Context, name string, write func(io.Writer) error) error {
	out, err := Open(ctx, name, nil)
	if err != nil {
		return err
	}
	if err := write(out); err != nil {
		return errors.Join(err, out.Abort())
	}
	return out.Commit(ctx, -1)
}

// OpenKept is Open for an output that can be continued. If kept describes no usable file,
// OpenKept creates one and records it in kept. kept may be nil.
func OpenKept(
	ctx context.Context, name string, fault func(operation string) error, kept *Kept,
) (*Output, error) {
	o := &Output{
		fault:  fault,
		name:   name,
		kept:   kept,
		unmap:  func() {},
		behind: writeBehind,
	}
	o.early.least = earlyBytes
	info, err := o.resolve()
	switch {
	case err != nil:
	case info == nil:
		err = o.create(0o666)
	case info.IsDir():
		err = errors.New("it is a directory")
	case o.IsStream || !info.Mode().IsRegular():
		err = o.openStream(ctx, !o.IsStream && info.Mode()&fs.ModeNamedPipe != 0)
	default:
		o.replaces = info
		if err = o.checkWritable(); err == nil {
			o.access = accessOf(o.target, info)
			err = hintInPlace(o.name, o.create(0o600)) // restrictive until the file is complete
		}
		if err == nil {
			err = o.checkReplaceable()
		}
	}

	if err == nil && kept != nil && !o.IsStream {
		err = noteKept(o)
	}
	if err != nil {
		o.Abort()
		return nil, fmt.Errorf("create output %s: %w", name, advise(err))
	}

	o.at = o.file
	return o, nil
}

// maxLinks is the maximum number of symbolic links to follow, as in Linux.
const maxLinks = 40

// resolve follows symbolic links and describes the file at their end. It returns nil if there is
// no such file.
func (o *Output) resolve() (fs.FileInfo, error) {
	o.target = o.name
	for range maxLinks {
		_, o.IsStream = descriptor(o.target)
		info, err := attempt(o, "look for output", func() (fs.FileInfo, error) {
			return os.Lstat(o.target)
		})
		if errors.Is(err, fs.ErrNotExist) && !o.IsStream {
			return nil, nil
		}
		if err != nil || o.IsStream || info.Mode()&fs.ModeSymlink == 0 {
			return info, err
		}
		link, err := attempt(o, "read link", func() (string, error) {
			return os.Readlink(o.target)
		})
		if err != nil {
			return nil, err
		}
		if !filepath.IsAbs(link) {
			folder, _ := filepath.Split(o.target)
			link = folder + link
		}

		o.target = link
	}

	return nil, errors.New("too many symbolic links")
}

// openFolder opens the directory of the target. It does so early, because the directory must be
// synced at the end. It does not use filepath.Dir, which would resolve ".." after a symbolic link
// without following the link.
func (o *Output) openFolder() (err error) {
	folder, base := filepath.Split(o.target)
	o.base = base
	o.root, o.folder, o.syncable, err = openDirectory(o, folder+".")

	switch {
	case errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf(
			"its directory %s: %w: create it first", filepath.Dir(o.target),
			device.WithoutPath(err),
		)
	case err != nil:
		return fmt.Errorf("open directory %s: %w", filepath.Dir(o.target), device.WithoutPath(err))
	}

	return nil
}

// closeFolder ignores errors, because nothing was written through these descriptors.
func (o *Output) closeFolder() {
	if o.root != nil {
		o.root.Close()
	}
	if o.folder != nil {
		o.folder.Close()
	}
	o.root, o.folder = nil, nil
}

// Descriptor reports whether name refers, possibly through symbolic links, to an open descriptor
// of this process, and returns its number. Such an output is written through the descriptor, even
// if it is a regular file, because the user redirected it.
func Descriptor(name string) (number int, ok bool) {
	o := &Output{name: name}
	_, _ = o.resolve() // an error is reported when the output is opened
	return descriptor(o.target)
}

// descriptor is Descriptor for a name that is not a symbolic link.
func descriptor(name string) (number int, ok bool) {
	name = filepath.Clean(name)
	number, ok = map[string]int{"/dev/stdin": 0, "/dev/stdout": 1, "/dev/stderr": 2}[name]
	if ok {
		return number, true
	}
	for _, folder := range []string{"/dev/fd/", "/proc/self/fd/", fmt.Sprintf(
		"/proc/%d/fd/", os.Getpid(),
	)} {
		if rest, found := strings.CutPrefix(name, folder); found {
			number, err := strconv.Atoi(rest)
			return number, err == nil
		}
	}

	return 0, false
}

func (o *Output) openStream(ctx context.Context, fifo bool) (err error) {
	o.IsStream = true
	number, open := descriptor(o.target)
	switch {
	case open && number == 1:
		o.file = os.Stdout // stays open
	case open:
		o.file, err = openDescriptor(number) // opening the file by name would write from its start
	case fifo:
		o.file, err = attempt(o, "open output", func() (*os.File, error) {
			return openFIFO(ctx, o.target)
		})
	default:
		o.file, err = o.openFile(o.target, os.O_WRONLY, 0)
	}

	return err
}

// fifoPause is the interval between checks for a reader of a FIFO.
const fifoPause = 10 * time.Millisecond

// openFIFO waits until a process opens the FIFO for reading. It polls, because a blocking open
// could not be cancelled.
func openFIFO(ctx context.Context, name string) (*os.File, error) {
	for {
		f, err := os.OpenFile(name, os.O_WRONLY|syscall.O_NONBLOCK, 0)
		if !errors.Is(err, syscall.ENXIO) {
			return f, err
		}
		select {
		case <-time.After(fifoPause):
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
}

func (o *Output) openFile(name string, flag int, perm fs.FileMode) (*os.File, error) {
	return attempt(o, "open output", func() (*os.File, error) {
		return os.OpenFile(name, flag, perm)
	})
}

// checkWritable returns an error if the existing file is write-protected, so that it is not
// replaced.
func (o *Output) checkWritable() error {
	f, err := o.openFile(o.target, os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	return f.Close()
}

// hintInPlace adds advice to the error if a file is writable but its directory is not.
func hintInPlace(name string, err error) error {
	if errors.Is(err, fs.ErrPermission) || errors.Is(err, syscall.EROFS) {
		return fmt.Errorf(
			"%w (to overwrite the file in place, redirect standard output: > %s)", err, name,
		)
	}
	return err
}

// checkReplaceable returns an error if the directory does not allow the file to be replaced. It
// runs before any work is done.
func (o *Output) checkReplaceable() error {
	err := o.perform("check directory", func() error { return checkRemovable(o.folder, o.base) })
	if err != nil {
		return fmt.Errorf(
			"directory %s does not allow replacing it: in a sticky directory only its owner "+
				"may (name another output): %w",
			filepath.Dir(o.target), err,
		)
	}
	return nil
}

func (o *Output) create(perm fs.FileMode) (err error) {
	if err := o.openFolder(); err != nil {
		return err
	}
	o.removeLeftovers()
	// no other process may take a kept file for a leftover
	if o.unlocked = o.kept != nil; o.unlocked {
		o.file, err = attempt(o, "open output", o.openKept)
	} else {
		o.file, err = attempt(o, "create output", func() (*os.File, error) {
			return openUnnamed(o.folder, perm)
		})
		o.unlocked = err == nil && lock(o.file) != nil
	}

	if errors.Is(err, errors.ErrUnsupported) {
		err = o.nameTemp("open output", func(name string) error { return o.openTemp(name, perm) })
	}
	if err != nil {
		return fmt.Errorf(
			"a file in directory %s: %w", filepath.Dir(o.target), device.WithoutPath(err),
		)
	}
	return nil
}
