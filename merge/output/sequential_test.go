package output

import (
	"io"
	"os"
	"path/filepath"
	"testing"

	"github.com/extsort/extsort/internal/testfiles"
)

// TestStreamsToFilesAreSent writes streams to regular files, from the start, behind other bytes and
// in append mode. Almost all bytes must go to the disk while they are written, each once.
func TestStreamsToFilesAreSent(t *testing.T) {
	const before = 1000
	for name, flag := range map[string]int{"start": 0, "behind": 0, "append": os.O_APPEND} {
		path := filepath.Join(t.TempDir(), "out")
		testfiles.Write(t, path, make([]byte, before))
		file := testfiles.Open(t, path, os.O_WRONLY|flag)
		first := int64(0)
		if name != "start" {
			first = before
		}
		if _, err := file.Seek(first, io.SeekStart); err != nil {
			t.Fatal(err)
		}

		end := newStreamEnd(t.Context(), file, Options{})
		next := first
		end.behind.send = func(to *os.File, offset, n int64) {
			if to != file || offset != next || n < writeBehindBytes {
				t.Errorf("%s: %d bytes at %d are sent, after those up to %d", name, n, offset, next)
			}
			next = offset + n
		}
		written := first
		for i := range 100 {
			n, err := end.Write(make([]byte, 1000*i))
			if err != nil {
				t.Fatal(err)
			}
			written += int64(n)
		}
		if next > written || next <= written-writeBehindBytes {
			t.Errorf("%s: the bytes up to %d are sent, of %d", name, next, written)
		}
		if err := file.Close(); err != nil {
			t.Error(err)
		}
	}
}

// TestOtherStreamsAreNotSent checks which streams send nothing: pipes, and a File, which sends its
// bytes itself.
func TestOtherStreamsAreNotSent(t *testing.T) {
	_, w := testfiles.Pipe(t)
	out := openFile(t, filepath.Join(t.TempDir(), "out"), FileOptions{})
	defer out.Abort()
	for _, to := range []io.Writer{w, out, io.Discard} {
		f := newSequentialFile(to)
		if f != nil {
			t.Errorf("%T is sent to the disk", to)
		}
		f.noteWritten(2 * writeBehindBytes) // does nothing
	}
}
