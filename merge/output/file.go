package output

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync/atomic"

	"github.com/extsort/extsort/device"
	"github.com/extsort/extsort/internal/fileerr"
)

// File is an output that appears whole under its name when Commit returns, or not at all. Until
// then it has no name (O_TMPFILE) or, if that is not possible, a temporary name in the same
// directory. An existing file of its name is untouched until Commit, so the output may be one of
// the inputs. If a process is killed, its temporary file stays until the next output of the same
// name on the same machine, which removes it; a lock shows that its owner is dead. Windows has no
// such lock, so there the file stays.
type File struct {
	rawFile
	writer fileWriter // moves the bytes to the file
	naming *naming    // gives the file its name
	access access     // applied when the file is complete

	// size is the size of the complete file. Until Commit, it is the number of bytes that Write
	// wrote.
	size   atomic.Int64
	closed bool

	complete func(file *os.File) error // FileOptions.Complete
	inSet    bool                      // a set gives the file its name
	bundle   *Bundle                   // a bundle gives the file its name; nil if none does
}

// newFile returns a File for a file that has been created. Space for opt.Bytes is reserved.
func newFile(raw rawFile, n *naming, a access, opt FileOptions) *File {
	complete := opt.Complete
	if complete == nil {
		complete = func(*os.File) error { return nil }
	}
	return &File{
		rawFile:  raw,
		writer:   newFileWriter(raw, opt),
		naming:   n,
		access:   a,
		complete: complete,
		bundle:   opt.Bundle,
	}
}

// pieceBytes limits the size of a single write; each piece ends at a multiple of it. A file system
// with large folios allocates pages for a whole write at once. Small allocations are more likely
// to reuse pages that were just freed, whereas the first access to other pages is slow.
const pieceBytes = 64 << 10

// WriteAt writes p at an offset. It may be called concurrently.
func (f *File) WriteAt(p []byte, offset int64) (n int, err error) {
	for n < len(p) {
		at := offset + int64(n)
		piece := p[n:min(len(p), n+int(pieceBytes-at%pieceBytes))]
		written, err := f.writer.WriteAt(piece, at)
		n += written
		if err != nil {
			return n, err
		}
	}

	return n, nil
}

// Write appends p to the data written by earlier calls of Write.
func (f *File) Write(p []byte) (int, error) {
	n, err := f.WriteAt(p, f.size.Load())
	f.size.Add(int64(n))
	return n, err
}

// Expect announces the size of a file that was opened without one. It reserves the space and may
// choose a better way to write the file for the given number of concurrent writers. REQUIRES: no
// write is in progress
func (f *File) Expect(bytes int64, writers int) error {
	if err := reserveFor(f.rawFile, f.naming.path, bytes); err != nil {
		return err
	}
	huge, ok := newHugePages(f.rawFile, bytes, writers)
	if !ok {
		return nil
	}
	err := f.writer.flush()
	f.writer.close()
	f.writer = huge
	return err
}

// ReadAt reads data that was written but not yet committed. REQUIRES: no write is in progress
func (f *File) ReadAt(p []byte, offset int64) (n int, err error) {
	if err := f.writer.flush(); err != nil {
		return 0, err
	}
	n, err = attempt(f.ops, "read output back", func() (int, error) { return f.file.ReadAt(p, offset) })
	if err != nil {
		err = &fileerr.Error{Op: "read back", File: f.name, Offset: offset + int64(n), Err: device.WithoutPath(err)}
	}
	return n, err
}

// Restart discards pending data, so that everything can be written again. REQUIRES: no write is in
// progress
func (f *File) Restart() { f.writer.discard() }

// Sync makes the data written so far durable.
func (f *File) Sync() error { return f.rawFile.sync() }

// Commit makes the file durable and gives it its name, unless the file belongs to a set or a
// bundle, which does that later. It keeps the first size bytes, or, if size is negative, the bytes written by
// Write. After an error the previous file is unchanged and nothing else is left, unless only the
// last step failed: syncing the directory, or closing. Once ctx is cancelled, Commit does not wait
// for a sync.
func (f *File) Commit(ctx context.Context, size int64) error {
	if size >= 0 {
		f.size.Store(size)
	}
	err := f.finish(ctx)
	if err == nil && f.inSet {
		return nil
	}
	if err == nil && f.bundle != nil {
		f.bundle.files = append(f.bundle.files, f)
		return nil
	}
	if err == nil {
		err = f.appear()
	}
	if err != nil {
		return fmt.Errorf("finish output %s: %w", f.name, errors.Join(err, f.Abort()))
	}
	return f.settle(ctx)
}

// finish sets the size and access of the file and makes it durable.
func (f *File) finish(ctx context.Context) error {
	if err := f.writer.flush(); err != nil {
		return err
	}
	err := f.ops.perform("truncate output", func() error { return f.file.Truncate(f.size.Load()) })
	if err != nil {
		return err
	}
	if err := f.access.applyIn(f.ops, f.file); err != nil {
		return err
	}
	if err := Await(ctx, f.writer.sync); err != nil {
		return err
	}
	if ctx.Err() != nil { // cancelled while the sync ended
		return context.Cause(ctx)
	}
	if err := f.complete(f.file); err != nil {
		return err
	}
	// A checkpoint that has noted the file finds that it has no name, and continues.
	return context.Cause(ctx)
}

// appear gives the durable file its name.
func (f *File) appear() error {
	if !renamesOpen {
		if err := f.close(); err != nil {
			return err
		}
	}
	return f.naming.appear(f.file)
}

// settle makes the name durable and closes the file.
func (f *File) settle(ctx context.Context) error {
	return f.end(Await(ctx, func() error { return f.naming.sync(f.file) }))
}

// end closes the file after a sync of its directory that returned err.
func (f *File) end(err error) error {
	defer f.naming.close()
	if err = errors.Join(err, f.close()); err != nil {
		return fmt.Errorf(
			"finish output %s: it is complete, but may be lost if the machine crashes: %w",
			f.name, err,
		)
	}
	return nil
}

// close closes the file, once.
func (f *File) close() error {
	if f.closed {
		return nil
	}
	f.closed = true
	f.writer.close()
	// the file is closed even if a test makes this operation fail
	return errors.Join(f.ops.perform("close output", func() error { return nil }), f.file.Close())
}

// Abort gives up the file and removes it. It does nothing after Commit.
func (f *File) Abort() error {
	f.writer.discard()
	return f.naming.giveUp(f.close)
}
