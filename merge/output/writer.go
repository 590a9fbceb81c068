package output

import (
	"errors"
	"io"
	"os"

	"github.com/extsort/extsort/chunker/spill"
	"github.com/extsort/extsort/internal/blockio"
)

// A fileWriter moves the bytes of a File to the file system. Its errors name the file.
type fileWriter interface {
	// WriteAt writes p, which lies within one piece (see pieceBytes). It may be called
	// concurrently.
	io.WriterAt

	// flush makes sure that everything written so far is in the file. REQUIRES: no write is in
	// progress
	flush() error

	// discard drops pending data, which has not reached the file. REQUIRES: no write is in progress
	discard()

	// sync makes the file durable. REQUIRES: flush was called after the last write
	sync() error

	// close ends the use of the file, which stays open. REQUIRES: no write is in progress
	close()
}

// newFileWriter returns the best writer for a file. Space for opt.Bytes has been reserved.
func newFileWriter(f rawFile, opt FileOptions) fileWriter {
	if huge, ok := newHugePages(f, opt.Bytes, opt.Writers); ok {
		return huge
	}
	if opt.Requests != nil {
		if direct := blockio.Direct(f.file, os.O_WRONLY); direct != nil {
			return newDirectWriter(f, direct, opt.Requests)
		}
	}
	return newPlainWriter(f, writeBehind, earlyBytes)
}

// A rawFile is an open file whose operations can fail in tests.
type rawFile struct {
	ops  operations
	file *os.File
	name string // as given by the user; for messages
}

// WriteAt writes p with one system call.
func (f *rawFile) WriteAt(p []byte, offset int64) (int, error) {
	n, err := attempt(f.ops, "write output", func() (int, error) { return f.file.WriteAt(p, offset) })
	if err != nil {
		err = writeError(f.name, offset+int64(n), err)
	}
	return n, err
}

// sync makes the file durable.
func (f *rawFile) sync() error { return f.ops.perform("sync output", f.file.Sync) }

// plainWriter writes a file with system calls, through the page cache. It sends adjacent bytes to
// the disk early, so that Commit has little left to wait for.
type plainWriter struct {
	rawFile
	written spill.Stretches           // ranges written but not yet sent to the disk
	send    func(offset, bytes int64) // begins to write a range to the disk
	early   earlySync
}

// writeBehindBytes is the number of adjacent bytes that are sent to the disk at once.
const writeBehindBytes = 1 << 20

// newPlainWriter returns a writer of a file. It calls send for each range that is large enough
// to be written to the disk, and syncs the file whenever about syncBytes were sent.
func newPlainWriter(f rawFile, send func(file *os.File, offset, bytes int64), syncBytes int64) *plainWriter {
	return &plainWriter{
		rawFile: f,
		send:    func(offset, bytes int64) { send(f.file, offset, bytes) },
		early:   earlySync{least: syncBytes},
	}
}

func (c *plainWriter) WriteAt(p []byte, offset int64) (int, error) {
	n, err := c.rawFile.WriteAt(p, offset)
	if err != nil {
		return n, err
	}
	from, to := c.written.Collect(offset, offset+int64(n), writeBehindBytes)
	if from < to {
		c.send(from, to-from)
		c.early.noteSent(&c.rawFile, to-from)
	}
	return n, nil
}

func (c *plainWriter) flush() error { return nil }

func (c *plainWriter) discard() {}

func (c *plainWriter) sync() error {
	return errors.Join(c.early.syncs.Wait(), c.rawFile.sync())
}

func (c *plainWriter) close() {}
