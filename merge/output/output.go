// Package output writes what a sort or a merge makes, so that it is whole or not there.
//
// An Output is a file that appears under its name when it is complete and durable; until Commit whatever stood there is
// untouched, and after Abort, an error or a crash nothing else is left. A Sink writes records to it, or to a stream:
// blocks in any order, a header before them, through a compressor. Its Kind says what can be done about what has been
// written. A set is several files and their index. Window, Offset, Groups and Observe are BlockWriters that do
// something on the way to a sink.
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
	"github.com/extsort/extsort/internal/human"
	"github.com/extsort/extsort/internal/safely"
)

// Output is the file that a result goes to. It appears whole under its name when Commit returns, or not at all:
// until then it has no name (O_TMPFILE) or, where that is not possible, a temporary one in the same folder, and
// what stood under the name before is untouched. So the output may be one of the inputs. What a killed process leaves
// under a temporary name, the next output of that name on the same machine removes: a lock tells that its owner is
// dead. Windows has no such lock, and leaves it.
//
// Something that is not a regular file – a FIFO, a terminal, /dev/null, /dev/stdout – is written directly. Then
// IsStream is true, and only Write may be used.
type Output struct {
	Complete func(file *os.File) error // is told of the durable file before it gets its name; nil: nobody is
	IsStream bool                      // it can only be written from beginning to end

	fault func(operation string) error // nil but in tests

	name     string      // as the user gave it, for messages
	target   string      // where symbolic links lead to
	base     string      // its name in the folder
	root     directory   // of the output
	folder   *os.File    // the same, to be synced
	syncable bool        // the folder can be synced itself
	temp     string      // name in the folder; "" while the file has none
	unlocked bool        // no lock tells others that this run lives
	kept     *Kept       // nil: nothing is left of an output that is given up
	replaces fs.FileInfo // nil: nothing stands under the name
	access   *access     // that the file is to have; nil: that of a new one
	held     bool        // a set gives it its name
	file     *os.File
	at       io.WriterAt                       // file, or what is written to in its place since Reserve
	unmap    func()                            // undoes that
	past     *windows                          // the same as at, where it goes past the page cache
	size     atomic.Int64                      // bytes that Write has written
	written  spill.Stretches                   // and not yet on their way to the disk
	behind   func(f *os.File, offset, n int64) // sends them there
	early    early
}

// attempt does an operation on the file system, unless it is to fail. A panic is an error here, so that whoever asked
// removes the unfinished output.
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

// do is attempt of what has no result.
func (o *Output) do(operation string, f func() error) error {
	_, err := attempt(o, operation, func() (struct{}, error) { return struct{}{}, f() })
	return err
}

// advise is device.WithoutPath with what to do where the output has no room, or the process no descriptors.
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

// Reserve makes sure that there is space for an output of that many bytes, where the system can tell, and prepares it
// for that many writers at once.
func (o *Output) Reserve(bytes int64, writers int) error {
	if o.IsStream || bytes == 0 {
		return nil
	}
	err := o.do("reserve output", func() (err error) {
		if err = mayHave(bytes); err == nil {
			o.at, o.unmap, err = reserve(o.file, bytes, writers)
		}
		return err
	})
	if err != nil {
		folder := filepath.Dir(o.target)
		return fmt.Errorf("reserve %s for output %s in %s: %w", human.Bytes(bytes), o.name, folder, advise(err))
	}
	return nil
}

const (
	// pieceBytes is how much WriteAt gives to the file at a time, up to a multiple of it. A file system with large
	// folios takes pages for as much as is written at once; small ones are more likely to be some that were just freed,
	// where the first touch of others is slow.
	pieceBytes = 64 << 10

	// writeBehindBytes is how much must be written that lies together for it to go to the disk at once, so that Commit
	// has little left to wait for.
	writeBehindBytes = 1 << 20
)

// WriteAt writes at an offset, for several goroutines at once.
func (o *Output) WriteAt(p []byte, offset int64) (n int, err error) {
	if err := o.past.err(); err != nil {
		return 0, err
	}
	for n < len(p) {
		at := offset + int64(n)
		piece := p[n:min(len(p), n+int(pieceBytes-at%pieceBytes))]
		written, err := attempt(o, "write output", func() (int, error) { return o.at.WriteAt(piece, at) })
		if n += written; err != nil {
			return n, writeError(o, offset+int64(n), err)
		}
		o.wrote(at, written)
	}
	return n, nil
}

// wrote sends what lies together to the disk when it is enough.
func (o *Output) wrote(offset int64, n int) {
	if from, to := o.written.Collect(offset, offset+int64(n), writeBehindBytes); from < to {
		o.behind(o.file, from, to-from)
		o.early.add(o, to-from)
	}
}

// ReadAt reads back what was written, before it is committed.
func (o *Output) ReadAt(p []byte, offset int64) (n int, err error) {
	if err := o.past.settle(); err != nil {
		return 0, err
	}
	n, err = attempt(o, "read output back", func() (int, error) { return o.file.ReadAt(p, offset) })
	if err != nil {
		err = fmt.Errorf("read back %s at byte %d: %w", o.name, offset+int64(n), device.WithoutPath(err))
	}
	return n, err
}

// Write writes what follows what was written before.
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

// Commit makes the output durable and gives it its name, unless a set does that later. Its first size bytes are kept;
// a negative size keeps what Write has written. After an error the old output stands and nothing else is left, unless
// only a last step failed, the folder's own fsync or the closing. Once ctx is cancelled, it waits for no fsync.
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

// Await waits until f has ended or ctx is cancelled. The system cannot be made to give up an fsync, so f may
// go on after that.
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

// complete makes the file durable as it is to be.
func (o *Output) complete(ctx context.Context) error {
	if err := o.past.settle(); err != nil {
		return err
	}
	if err := o.do("truncate output", func() error { return o.file.Truncate(o.size.Load()) }); err != nil {
		return err
	}
	if o.access != nil {
		if err := o.do("set mode of output", func() error { return o.access.giveTo(o.file) }); err != nil {
			return err
		}
	}
	file := o.file
	err := Await(ctx, func() error {
		return errors.Join(o.early.syncs.Wait(), o.do("sync output", file.Sync))
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

// settle makes the name durable, and closes the output.
func settle(ctx context.Context, o *Output) error {
	defer o.closeFolder()
	err := Await(ctx, syncNames(o))
	if err = errors.Join(err, o.close()); err != nil {
		return fmt.Errorf("finish output %s: it is complete, but may be lost if the machine crashes: %w",
			o.name, err)
	}
	return nil
}

// link gives a file its name that has none yet. Only to replace another it needs a temporary one, for a moment.
func (o *Output) link() error {
	if o.replaces == nil {
		err := o.do("link output", func() error { return link(o.file, o.folder, o.base) })
		if !errors.Is(err, fs.ErrExist) {
			return err
		}
	}
	err := o.nameTemp("link output", func(name string) error { return link(o.file, o.folder, name) })
	if err != nil {
		return err
	}
	return o.rename()
}

func (o *Output) rename() error {
	err := o.do("rename output", func() error { return o.root.Rename(o.temp, o.base) })
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
		return o.do("close output", func() error { return closeCopy(file) })
	}
	o.unmap()
	if o.past != nil {
		o.past.giveUp()
		o.past.direct.Close() // which has no error of its own: file is synced
	}
	return errors.Join(o.do("close output", func() error { return nil }), file.Close()) // in any case
}

// Abort gives up the output and removes what there is of it. It does nothing after Commit.
func (o *Output) Abort() error {
	var removing error
	o.past.giveUp()
	if renamesOpen {
		removing = o.removeTemp() // while it is locked: afterwards the name may be another run's
	}
	err := o.close()
	if o.IsStream && err != nil {
		return fmt.Errorf("close output %s: %w", o.name, device.WithoutPath(err))
	}
	err = errors.Join(err, removing, o.removeTemp())
	o.closeFolder()
	return err
}
