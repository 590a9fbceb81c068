package output

import (
	"cmp"
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
	if huge, ok := newHugePages(f, cmp.Or(opt.Bytes, opt.AtMost), opt.Writers); ok {
		return huge
	}
	if opt.Requests != nil {
		if direct := blockio.Direct(f.file, os.O_WRONLY); direct != nil {
			return newDirectWriter(f, direct, opt.Requests)
		}
	}
	return newPlainWriter(f)
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

// A cachedFile is a file that is written through the page cache.
type cachedFile struct {
	rawFile
	send func(file *os.File, offset, bytes int64) // writeBehind, except in tests
}

func newCachedFile(f rawFile) cachedFile { return cachedFile{f, writeBehind} }

// WriteBehind asks the system to start writing a range to the disk. It does not wait.
func (f *cachedFile) WriteBehind(offset, bytes int64) { f.send(f.file, offset, bytes) }

// A plainWriter writes a file with system calls, through the page cache. It sends adjacent bytes to
// the disk early, so that Commit has little left to wait for.
type plainWriter struct {
	cachedFile
	written spill.Stretches // ranges written but not yet sent to the disk
}

// writeBehindBytes is the number of adjacent bytes that are sent to the disk at once.
const writeBehindBytes = 1 << 20

// newPlainWriter returns a writer of a file.
func newPlainWriter(f rawFile) *plainWriter {
	return &plainWriter{cachedFile: newCachedFile(f)}
}

func (w *plainWriter) WriteAt(p []byte, offset int64) (int, error) {
	n, err := w.rawFile.WriteAt(p, offset)
	if err != nil {
		return n, err
	}
	from, to := w.written.Collect(offset, offset+int64(n), writeBehindBytes)
	if from < to {
		w.WriteBehind(from, to-from)
	}
	return n, nil
}

func (w *plainWriter) flush() error { return nil }

func (w *plainWriter) discard() {}

func (w *plainWriter) close() {}
