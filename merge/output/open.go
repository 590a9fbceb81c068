package output

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"

	"github.com/extsort/extsort/internal/fileerr"
	"github.com/extsort/extsort/internal/human"
)

// Open begins an output: a File if the name refers to a regular file or to nothing, and otherwise
// a stream. Open waits for a reader of a FIFO until ctx is cancelled.
func Open(ctx context.Context, name string, opt FileOptions) (Output, error) {
	ops := newOperations(opt.Fault)
	at, err := resolve(ops, name)
	switch {
	case err != nil:
		return nil, createError(name, err)
	case at.isStream():
		return openStream(ctx, ops, name, at)
	case at.exists() && at.info.IsDir():
		return nil, createError(name, errDirectory)
	}
	return createFile(ops, name, at, opt)
}

func createError(name string, err error) error {
	return fmt.Errorf("create output %s: %w", name, fileerr.WithPath("create", name, advise(err)))
}

// errDirectory is the error of an output whose name is that of a directory.
var errDirectory = isDirectory{}

type isDirectory struct{}

func (isDirectory) Error() string { return "it is a directory" }

func (isDirectory) Unwrap() error { return syscall.EISDIR }

// A place is the target of an output's name. It may not exist yet.
type place struct {
	path         string      // the name after following symbolic links
	info         fs.FileInfo // nil if there is no such file
	descriptor   int         // number of an open descriptor, if isDescriptor is true
	isDescriptor bool
}

// exists reports whether there is a file.
func (p *place) exists() bool { return p.info != nil }

// isStream reports whether the output can only be written sequentially. A directory counts as a
// file.
func (p *place) isStream() bool {
	return p.isDescriptor || p.exists() && !p.info.Mode().IsRegular() && !p.info.IsDir()
}

// isFIFO reports whether the place is a FIFO that is not open yet.
func (p *place) isFIFO() bool {
	return !p.isDescriptor && p.info.Mode()&fs.ModeNamedPipe != 0
}

// maxLinks is the maximum number of symbolic links to follow, as in Linux.
const maxLinks = 40

// resolve follows symbolic links and describes the file at their end. After an error, the result
// describes the last link.
func resolve(ops operations, name string) (p place, err error) {
	p.path = name
	for range maxLinks {
		p.descriptor, p.isDescriptor = descriptor(p.path)
		info, err := attempt(ops, "look for output", func() (fs.FileInfo, error) {
			return os.Lstat(p.path)
		})
		if errors.Is(err, fs.ErrNotExist) && !p.isDescriptor {
			return p, nil
		}
		if err != nil {
			return p, err
		}
		if p.isDescriptor || info.Mode()&fs.ModeSymlink == 0 {
			p.info = info
			return p, nil
		}
		link, err := attempt(ops, "read link", func() (string, error) {
			return os.Readlink(p.path)
		})
		if err != nil {
			return p, err
		}
		if !filepath.IsAbs(link) {
			folder, _ := filepath.Split(p.path)
			link = folder + link
		}

		p.path = link
	}

	return p, errors.New("too many symbolic links")
}

// Descriptor reports whether name refers, possibly through symbolic links, to an open descriptor
// of this process, and returns its number. Such an output is written through the descriptor, even
// if it is a regular file, because the user redirected it.
func Descriptor(name string) (number int, ok bool) {
	p, _ := resolve(newOperations(nil), name) // an error is reported when the output is opened
	return descriptor(p.path)
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

// createFile begins a file. If it replaces another one, it will get the access of that file.
func createFile(ops operations, name string, at place, opt FileOptions) (Output, error) {
	raw := rawFile{ops: ops, name: name}
	var n *naming
	var permissions access
	var err error
	if at.exists() {
		permissions = accessOf(at.path, at.info)
		n, raw.file, err = replaceAt(ops, name, at, opt.Resumable)
	} else {
		n, raw.file, err = createAt(ops, at, 0o666, opt.Resumable)
	}
	if err != nil {
		return nil, createError(name, err)
	}

	if err := reserveFor(raw, at.path, opt.Bytes); err != nil {
		return nil, errors.Join(err, n.giveUp(raw.file.Close))
	}
	return newFile(raw, n, permissions, opt), nil
}

// createAt creates a file that has no name yet, or only a temporary one.
func createAt(
	ops operations, at place, perm fs.FileMode, kept *Resumable,
) (n *naming, file *os.File, err error) {
	n, err = newNaming(ops, at.path, at.exists(), kept)
	if err != nil {
		return nil, nil, err
	}
	file, err = n.create(perm)
	if err != nil {
		n.close()
		return nil, nil, err
	}
	return n, file, nil
}

// replaceAt is createAt for a file that replaces an existing one. It returns an error if the
// existing file is write-protected or cannot be replaced.
func replaceAt(
	ops operations, name string, at place, kept *Resumable,
) (n *naming, file *os.File, err error) {
	if err := checkWritable(ops, at.path); err != nil {
		return nil, nil, err
	}
	n, file, err = createAt(ops, at, 0o600, kept) // restrictive until the file is complete
	if err != nil {
		return nil, nil, hintInPlace(name, err)
	}
	if err := n.checkReplaceable(); err != nil {
		return nil, nil, errors.Join(err, n.giveUp(file.Close))
	}
	return n, file, nil
}

// checkWritable returns an error if an existing file is write-protected. If the file has vanished in
// the meantime, there is nothing to protect: another process may be replacing it.
func checkWritable(ops operations, path string) error {
	f, err := attempt(ops, "open output", func() (*os.File, error) {
		return os.OpenFile(path, os.O_WRONLY, 0)
	})
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
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

// reserveFor makes sure, if the system can, that there is space for a file of the given size. A
// size of 0 is not known.
func reserveFor(f rawFile, path string, bytes int64) error {
	if bytes == 0 {
		return nil
	}
	err := f.ops.perform("reserve output", func() error {
		if err := checkSizeLimit(bytes); err != nil {
			return err
		}
		return reserve(f.file, bytes)
	})
	if err != nil {
		folder := filepath.Dir(path)
		return fmt.Errorf("reserve %s for output %s in %s: %w", human.Bytes(bytes), f.name, folder, advise(err))
	}
	return nil
}
