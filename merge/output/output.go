// Package output writes the result of a sort or a merge. A result appears completely or not at
// all.
//
// Only the root package of this module is stable: this package may change in any version.
//
// # Outputs
//
// An Output receives bytes. It ends with Commit, which makes the result appear, or with Abort,
// which leaves nothing behind. Open chooses the type of an output from its name:
//
//	the name refers to             the output is
//	nothing, or a regular file     a File, which gets its name when it is complete and durable
//	a FIFO, a terminal, /dev/null  a stream, which is written directly
//	an open descriptor             a stream
//
// Create also accepts the address of an object in a store.
//
// A File consists of two parts. Its naming knows the directory: it creates the file without a
// name, gives it a name at the end, and removes the files that killed processes left there. Its
// fileWriter moves the bytes. There is a type for each way to write a file, and Open chooses one
// from the FileOptions:
//
//	plainWriter    system calls, through the page cache
//	hugePages      a memory map, for a large file in a tmpfs (Linux)
//	directWriter   direct I/O, which bypasses the page cache
//
// # Sinks
//
// A Sink writes records to an Output or to any other stream. It accepts blocks in any order,
// writes a header before them, and can compress them. Its Kind says whether written data can be
// changed or taken back. A set is an output of several files with an index.
//
// Clip, Offset, Groups, Excerpt and Observe are BlockWriters that filter or transform the records
// on their way to a sink.
package output

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"syscall"

	"github.com/extsort/extsort/chunker/spill"
	"github.com/extsort/extsort/device"
	"github.com/extsort/extsort/internal/blockio"
	"github.com/extsort/extsort/internal/fileerr"
	"github.com/extsort/extsort/internal/remote"
	"github.com/extsort/extsort/internal/safely"
)

// An Output is a destination for bytes that are written from beginning to end: a File, a stream,
// or an object in a store.
type Output interface {
	io.Writer

	// Commit completes the output. It keeps the first size bytes, or, if size is negative,
	// everything that was written.
	Commit(ctx context.Context, size int64) error

	// Abort gives up the output. It does nothing after Commit.
	Abort() error
}

// FileOptions describe the data that a file will receive. Open uses them to choose how to write the
// file. The zero value is for a file that is written from beginning to end.
type FileOptions struct {
	Bytes    int64         // space to reserve; 0 if the size is not known
	AtMost   int64         // maximum size if Bytes is 0; nothing is reserved; 0 if it is not known
	Writers  int           // number of concurrent calls of WriteAt
	Requests *blockio.Pool // requests of direct I/O; nil to use the page cache

	Resumable *Resumable // the file can be continued by a later process; nil if it is a new file

	Bundle *Bundle // gives the file its name, together with others; nil if Commit does

	// Complete is called with the durable file before it gets its name, unless it is nil.
	Complete func(file *os.File) error

	// Fault is called before each operation on the file system, unless it is nil. If it returns
	// an error, the operation fails with that error.
	Fault func(operation string) error
}

// Create begins a file, or an object that is uploaded in parts of the given size, with up to
// parallel uploads at a time.
func Create(
	ctx context.Context, name string, opt FileOptions, part, parallel int,
) (Output, error) {
	if remote.IsURL(name) {
		return remote.Create(ctx, name, part, parallel)
	}
	return Open(ctx, name, opt)
}

// WriteFile creates a file with the content that write produces. After an error, the previous
// file, if any, is unchanged.
func WriteFile(ctx context.Context, name string, write func(io.Writer) error) error {
	out, err := Open(ctx, name, FileOptions{})
	if err != nil {
		return err
	}
	if err := write(out); err != nil {
		return errors.Join(err, out.Abort())
	}
	return out.Commit(ctx, -1)
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

// writeError returns the error of a write to an output at an offset.
func writeError(name string, offset int64, err error) error {
	return &fileerr.Error{Op: "write", File: name, Offset: offset, Err: advise(err)}
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
