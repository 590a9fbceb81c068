package pipe

import (
	"bytes"
	"errors"
	"io"
	"math/rand/v2"
	"os"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/extsort/extsort/chunker/input/pipe/pipetest"
)

// pipeData returns more than two pages of a pipe writer, in pieces of mostly odd lengths.
func pipeData(seed uint64) (all []byte, pieces [][]byte) {
	r := rand.New(rand.NewPCG(seed, 1))
	all = make([]byte, 2*WriterBytes+12345)
	for i := range all {
		all[i] = byte(r.Uint32())
	}
	for rest := all; len(rest) > 0; {
		n := min(1+r.IntN(3*step), len(rest))
		pieces, rest = append(pieces, rest[:n]), rest[n:]
	}
	return all, pieces
}

// writePieces writes to a pipe from memory that is overwritten after each write, as that of a sort is.
func writePieces(t *testing.T, to *os.File, pieces [][]byte) {
	w := NewWriter(to, WriterBytes)
	var buffer []byte
	for _, piece := range pieces {
		buffer = append(buffer[:0], piece...)
		if n, err := w.Write(buffer); n != len(piece) || err != nil {
			t.Errorf("Write of %d bytes: %d, %v", len(piece), n, err)
		}
		clear(buffer)
	}
	if err := errors.Join(w.Close(), to.Close()); err != nil {
		t.Error(err)
	}
}

func TestWriter(t *testing.T) {
	all, pieces := pipeData(1)
	r, w := pipetest.Open(t)
	go writePieces(t, w, pieces)
	if got, err := io.ReadAll(r); err != nil || !bytes.Equal(got, all) {
		t.Errorf("%d of %d bytes, equal: %t, error %v", len(got), len(all), bytes.Equal(got, all), err)
	}
}

// TestWriterSplicedOn has a reader that moves the pages on into another pipe and looks at them late, when the
// writer is long past them.
func TestWriterSplicedOn(t *testing.T) {
	all, pieces := pipeData(2)
	r, w := pipetest.Open(t)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		writePieces(t, w, pieces)
	}()
	got, late := pipetest.ReadLate(t, r, 0, func() { <-ended })
	if !bytes.Equal(got, all) {
		t.Errorf("%d of %d bytes, %d of them spliced on, are not those that were written", len(got), len(all), late)
	}
}

func TestWriterWithoutReader(t *testing.T) {
	r, w := pipetest.Open(t)
	r.Close()
	if n, err := NewWriter(w, WriterBytes).Write(make([]byte, 1<<20)); n != 0 || !errors.Is(err, unix.EPIPE) {
		t.Errorf("Write to a pipe that nobody reads: %d, %v", n, err)
	}
}

// TestWriterOfOthers checks that writers other than pipes are returned unchanged.
func TestWriterOfOthers(t *testing.T) {
	var buffer bytes.Buffer
	file, err := os.Create(t.TempDir() + "/file")
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	_, pipe := pipetest.Open(t)
	if w, ok := NewWriter(pipe, WriterBytes-1).(unclosed); !ok || w.Writer != pipe {
		t.Error("a pipe writer takes memory that it was not given")
	}
	for _, to := range []io.Writer{&buffer, file} {
		w := NewWriter(to, WriterBytes)
		if plain, ok := w.(unclosed); !ok || plain.Writer != to {
			t.Errorf("the writer of %T is %T", to, w)
		}
		if _, err := w.Write([]byte("x")); err != nil || w.Close() != nil {
			t.Errorf("Write to %T: %v", to, err)
		}
	}
	if n, err := file.Write([]byte("y")); n != 1 || err != nil {
		t.Errorf("Write after Close: %d, %v", n, err)
	}
}

// TestWriterFallsBack takes the plain way where the system refuses to splice.
func TestWriterFallsBack(t *testing.T) {
	var plain bytes.Buffer
	file, err := os.Create(t.TempDir() + "/file")
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	raw, err := file.SyscallConn()
	if err != nil {
		t.Fatal(err)
	}
	w := &writer{pipe: raw, plain: &plain} // only a pipe can be spliced to
	for _, piece := range []string{"abc", "de", ""} {
		if n, err := w.Write([]byte(piece)); n != len(piece) || err != nil {
			t.Errorf("Write(%q): %d, %v", piece, n, err)
		}
	}
	if err := w.Close(); err != nil || plain.String() != "abcde" {
		t.Errorf("%q came out, error %v", plain.String(), err)
	}
}
