//go:build unix

package session

import (
	"bytes"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/extsort/extsort/format"
	"github.com/extsort/extsort/internal/testfiles"
)

// TestPlanLeavesPipes checks that a plan reads nothing from a pipe of any kind.
func TestPlanLeavesPipes(t *testing.T) {
	data := bytes.Repeat([]byte("pipe"), 16<<10/4) // fits into the buffer of a pipe
	opt := Options{Record: format.Spec{Type: "u32"}, Output: filepath.Join(t.TempDir(), "out")}

	newPipe := func(t *testing.T) *os.File {
		r, w := testfiles.Pipe(t)
		if _, err := w.Write(data); err != nil {
			t.Fatal(err)
		}
		w.Close()
		return r
	}
	check := func(t *testing.T, opt Options, rest io.Reader) {
		p, err := Plan(t.Context(), opt)
		if err != nil {
			t.Fatal(err)
		}
		if p.Records >= 0 || len(p.Considered) == 0 {
			t.Errorf("a plan for %d records, of %d strategies", p.Records, len(p.Considered))
		}
		left, err := io.ReadAll(rest)
		if err != nil || !bytes.Equal(left, data) {
			t.Errorf("%d bytes are left of %d (%v)", len(left), len(data), err)
		}
	}

	t.Run("standard input", func(t *testing.T) {
		opt := opt
		r := newPipe(t)
		opt.Stdin = r
		check(t, opt, r)
	})
	t.Run("reader", func(t *testing.T) {
		opt := opt
		r := bytes.NewReader(data)
		opt.Stdin = r
		check(t, opt, r)
	})
	t.Run("source", func(t *testing.T) {
		opt := opt
		r := newPipe(t)
		opt.Sources = []Source{{Name: "a stream", Reader: r}}
		check(t, opt, r)
	})
	t.Run("beside a file", func(t *testing.T) {
		opt := opt
		r := newPipe(t)
		name := writeFile(t, data)
		opt.Inputs, opt.Stdin = []string{name, "-"}, r
		check(t, opt, r)
	})
	t.Run("fifo", func(t *testing.T) {
		opt := opt
		name := filepath.Join(t.TempDir(), "fifo")
		if err := syscall.Mkfifo(name, 0o600); err != nil {
			t.Fatal(err)
		}
		fifo := testfiles.Open(t, name, os.O_RDWR)
		if _, err := fifo.Write(data); err != nil {
			t.Fatal(err)
		}
		opt.Inputs = []string{name}
		check(t, opt, io.LimitReader(fifo, int64(len(data))))
	})
	t.Run("header", func(t *testing.T) {
		opt := opt
		r := newPipe(t)
		opt.Stdin, opt.Record = r, format.Spec{Format: "npy"}
		if _, err := Plan(t.Context(), opt); err == nil || !strings.Contains(err.Error(), "name a file") {
			t.Errorf("a plan for an array in a pipe: %v", err)
		}
		left, _ := io.ReadAll(r)
		if !bytes.Equal(left, data) {
			t.Errorf("%d bytes are left of %d", len(left), len(data))
		}
	})
}

// TestStdinBehindItsEnd checks that standard input counts as empty if its position is beyond the
// end of the file.
func TestStdinBehindItsEnd(t *testing.T) {
	file := testfiles.Create(t, filepath.Join(t.TempDir(), "in"))
	if _, err := file.Write(make([]byte, 8)); err != nil {
		t.Fatal(err)
	}
	if _, err := file.Seek(16, io.SeekStart); err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	opt := Options{Record: format.Spec{Type: "u64"}, Stdin: file, Stdout: &out}
	report, err := Sort(t.Context(), opt)
	if err != nil || report.Records != 0 || out.Len() > 0 {
		t.Errorf("%+v, %d bytes, %v", report, out.Len(), err)
	}
}
