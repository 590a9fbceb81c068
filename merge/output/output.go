// Package output writes the result of a sort or a merge. A result appears completely or not at
// all.
//
// Only the root package of this module is stable: this package may change in any version.
//
// An Output is a file that appears under its name when it is complete and durable. Until Commit,
// an existing file of that name is untouched. After Abort, an error or a crash, nothing else is
// left.
//
// A Sink writes records to an Output or to a stream. It accepts blocks in any order, writes a
// header before them, and can compress them. Its Kind says whether written data can be changed or
// taken back. A set is an output of several files with an index.
//
// Clip, Offset, Groups, Excerpt and Observe are BlockWriters that filter or transform the records
// on their way to a sink.
package output

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"sync/atomic"
	"syscall"

	"github.com/extsort/extsort/chunker/spill"
	"github.com/extsort/extsort/device"
	"github.com/extsort/extsort/internal/fileerr"
	"github.com/extsort/extsort/internal/human"
	"github.com/extsort/extsort/internal/safely"
)

// Output is the file that receives a result. It appears whole under its name when Commit returns,
// or not at all. Until then it has no name (O_TMPFILE) or, if that is not possible, a temporary
// name in the same directory. An existing file of its name is untouched until Commit, so the
// output may be one of the inputs. If a process is killed, its temporary file stays until the
// next output of the same name on the same machine, which removes it; a lock shows that its owner
// is dead. Windows has no such lock, so there the file stays.
//
// If the name refers to something other than a regular file, such as a FIFO, a terminal,
// /dev/null or /dev/stdout, the output is written directly. Then IsStream is true, and only Write
// may be used.
type Output struct {
	// Complete is called with the durable file before it gets its name, unless it is nil.
	Complete func(file *os.File) error
	IsStream bool // the output can only be written sequentially

	fault func(operation string) error // nil except in tests

	name     string      // as given by the user; for messages
	target   string      // name after following symbolic links
	base     string      // name within the directory
	root     directory   // the directory of the output
	folder   *os.File    // the same directory, for syncing it
	syncable bool        // whether the directory itself can be synced
	temp     string      // temporary name within the directory; "" if none exists
	unlocked bool        // no lock shows other processes that this one is running
	kept     *Kept       // nil if an aborted output leaves nothing behind
	replaces fs.FileInfo // the file to be replaced; nil if none exists
	access   *access     // the access that the file gets; nil for the default of a new file
	held     bool        // a set gives the file its name
	file     *os.File
	at       io.WriterAt // file, or its replacement since Reserve
	unmap    func()      // ends the use of the replacement
	// direct equals at if the file is written with direct I/O.
	direct  *directWriter
	size    atomic.Int64                      // number of bytes written by Write
	written spill.Stretches                   // ranges written but not yet sent to the disk
	behind  func(f *os.File, offset, n int64) // sends a range to the disk
	early   earlySync
}

// attempt performs an operation on the file system, unless the fault hook returns an error for
// it. It converts a panic to an error, so that the caller removes the unfinished output.
func attempt[T any](o *Output, operation string, f func() (T, error)) (result T, err error) {
	err = safely.Call(func() (err error) {
		if o.fault != nil {
			if err := o.fault(operation); err != nil {
				return err
			}
		}
		result, err = f()
		return err
	})
	return result, err
}

// perform is attempt for an operation without a result.
func (o *Output) perform(operation string, f func() error) error {
	_, err := attempt(o, operation, func() (struct{}, error) { return struct{}{}, f() })
	return err
}

// advise adds advice to an error if the disk is full or the process has reached a limit. It
// removes the path from the error.
func advise(err error) error {
	err = device.WithoutPath(err)
	how := spill.OutOfRoom(err)
	switch {
	case errors.Is(err, syscall.EFBIG):
		return fmt.Errorf("%w; its directory %s: raise ulimit -f, or write elsewhere", err, how)
	case how != "":
		return fmt.Errorf("%w; its directory %s: free some space, or write elsewhere", err, how)
	case errors.Is(err, syscall.EMFILE):
		return fmt.Errorf("%w (raise ulimit -n)", err)
	}

	return err
}

// Reserve makes sure, if the system can, that there is space for an output of the given size, and
// prepares the output for the given number of concurrent writers.
func (o *Output) Reserve(bytes int64, writers int) error {
	if o.IsStream || bytes == 0 {
		return nil
	}
	err := o.perform("reserve output", func() (err error) {
		if err = checkSizeLimit(bytes); err == nil {
			o.at, o.unmap, err = reserve(o.file, bytes, writers)
		}
		return err
	})
	if err != nil {
		folder := filepath.Dir(o.target)
		return fmt.Errorf(
			"reserve %s for output %s in %s: %w", human.Bytes(bytes), o.name, folder,
			advise(err),
		)
	}

	return nil
}

const (
	// pieceBytes limits the size of a single write; each piece ends at a multiple of it. A file
	// system with large folios allocates pages for a whole write at once. Small allocations are
	// more likely to reuse pages that were just freed, whereas the first access to other pages is
	// slow.
	pieceBytes = 64 << 10

	// writeBehindBytes is the number of adjacent bytes that are sent to the disk at once, so that
	// Commit has little left to wait for.
	writeBehindBytes = 1 << 20
)

// WriteAt writes p at an offset. It may be called concurrently.
func (o *Output) WriteAt(p []byte, offset int64) (n int, err error) {
	if err := o.direct.err(); err != nil {
		return 0, err
	}
	for n < len(p) {
		at := offset + int64(n)
		piece := p[n:min(len(p), n+int(pieceBytes-at%pieceBytes))]
		written, err := attempt(o, "write output", func() (int, error) {
			return o.at.WriteAt(piece, at)
		})
		if n += written; err != nil {
			return n, writeError(o, offset+int64(n), err)
		}
		o.wrote(at, written)
	}

	return n, nil
}

// wrote notes a written range, and sends it to the disk when enough adjacent bytes have been
// written.
func (o *Output) wrote(offset int64, n int) {
	if from, to := o.written.Collect(offset, offset+int64(n), writeBehindBytes); from < to {
		o.behind(o.file, from, to-from)
		o.early.noteSent(o, to-from)
	}
}

// ReadAt reads data that was written but not yet committed.
func (o *Output) ReadAt(p []byte, offset int64) (n int, err error) {
	if err := o.direct.settle(); err != nil {
		return 0, err
	}
	n, err = attempt(o, "read output back", func() (int, error) { return o.file.ReadAt(p, offset) })
	if err != nil {
		err = &fileerr.Error{Op: "read back", File: o.name, Offset: offset + int64(n), Err: device.WithoutPath(err)}
	}
	return n, err
}

// Write appends p to the data written by earlier calls of Write.
func (o *Output) Write(p []byte) (n int, err error) {
	n, err = attempt(o, "write output", func() (int, error) { return o.file.Write(p) })
	end := o.size.Add(int64(n))
	if err != nil {
		return n, writeError(o, end, err)
	}
	if !o.IsStream {
		o.wrote(end-int64(n), n)
	}
	return n, nil
}

// Commit makes the output durable and gives it its name, unless the output belongs to a set,
// which does that later. It keeps the first size bytes, or, if size is negative, the bytes
// written by Write. After an error the previous file is unchanged and nothing else is left,
// unless only the last step failed: syncing the directory, or closing. Once ctx is cancelled,
// Commit does not wait for a sync.
func (o *Output) Commit(ctx context.Context, size int64) error {
	if o.IsStream {
		return o.Abort()
	}
	if size >= 0 {
		o.size.Store(size)
	}
	err := o.complete(ctx)
	if err == nil && o.held {
		return nil
	}
	if err == nil {
		err = appear(o)
	}
	if err != nil {
		return fmt.Errorf("finish output %s: %w", o.name, errors.Join(err, o.Abort()))
	}
	return settle(ctx, o)
}

// Await waits until f returns or ctx is cancelled. f may still be running afterwards, because a
// sync cannot be interrupted.
func Await(ctx context.Context, f func() error) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	done := make(chan error, 1)
	go func() { done <- safely.Call(f) }()
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// complete sets the size and access of the file and makes it durable.
func (o *Output) complete(ctx context.Context) error {
	if err := o.direct.settle(); err != nil {
		return err
	}
	if err := o.perform("truncate output", func() error {
		return o.file.Truncate(o.size.Load())
	}); err != nil {
		return err
	}
	if o.access != nil {
		if err := o.perform("set mode of output", func() error {
			return o.access.applyTo(o.file)
		}); err != nil {
			return err
		}
	}
	file := o.file
	err := Await(ctx, func() error {
		return errors.Join(o.early.syncs.Wait(), o.perform("sync output", file.Sync))
	})
	if err == nil && o.Complete != nil {
		err = o.Complete(o.file)
	}
	return err
}

func appear(o *Output) error {
	if o.temp == "" {
		return o.link()
	}
	if !renamesOpen {
		if err := o.close(); err != nil {
			return err
		}
	}
	return o.rename()
}

// settle makes the name durable and closes the output.
func settle(ctx context.Context, o *Output) error {
	defer o.closeFolder()
	err := Await(ctx, syncNames(o))
	if err = errors.Join(err, o.close()); err != nil {
		return fmt.Errorf(
			"finish output %s: it is complete, but may be lost if the machine crashes: %w",
			o.name, err,
		)
	}
	return nil
}

// link gives the unnamed file its name. Only if it replaces another file does it get a temporary
// name first, for a moment.
func (o *Output) link() error {
	if o.replaces == nil {
		err := o.perform("link output", func() error { return link(o.file, o.folder, o.base) })
		if !errors.Is(err, fs.ErrExist) {
			return err
		}
	}

	err := o.nameTemp("link output", func(name string) error {
		return link(o.file, o.folder, name)
	})
	if err != nil {
		return err
	}
	return o.rename()
}

func (o *Output) rename() error {
	err := o.perform("rename output", func() error { return o.root.Rename(o.temp, o.base) })
	if err == nil {
		o.temp = ""
	}
	return err
}

func (o *Output) close() error {
	file := o.file
	o.file = nil
	if file == nil {
		return nil
	}
	if file == os.Stdout {
		return o.perform("close output", func() error { return closeCopy(file) })
	}
	o.unmap()
	if o.direct != nil {
		o.direct.giveUp()
		o.direct.direct.Close() // no error to report, because file is synced
	}
	// always called
	return errors.Join(o.perform("close output", func() error { return nil }), file.Close())
}

// Abort gives up the output and removes it. It does nothing after Commit.
func (o *Output) Abort() error {
	var removing error
	o.direct.giveUp()
	if renamesOpen {
		// while the file is locked: later the name may belong to another process
		removing = o.removeTemp()
	}
	err := o.close()
	if o.IsStream && err != nil {
		return fmt.Errorf("close output %s: %w", o.name, device.WithoutPath(err))
	}
	err = errors.Join(err, removing, o.removeTemp())
	o.closeFolder()
	return err
}
