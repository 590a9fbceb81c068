package extsort

import (
	"bytes"
	"io"
	"math/rand/v2"
	"os"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/extsort/extsort/format"
)

// TestSortIntoHeldPipe has a reader that moves pages of the output on into another pipe and looks at them when the sort
// has ended and its memory is gone. What it was given must not have been written to since.
func TestSortIntoHeldPipe(t *testing.T) {
	const records = 8 << 20 // enough that the CPU gives its memory away
	data := make([]byte, 8*records)
	r := rand.NewChaCha8([32]byte{9})
	r.Read(data)
	opt := Options{Record: format.Spec{Type: "u64"}, Inputs: []string{writeFile(t, data)}}
	want, _, err := sortToBytes(t, opt)
	if err != nil {
		t.Fatal(err)
	}
	from, to := pipeOf(t)
	held, hold := pipeOf(t)
	if _, err := unix.FcntlInt(hold.Fd(), unix.F_SETPIPE_SZ, 1<<20); err != nil {
		t.Skip(err)
	}
	opt.Stdout, opt.TempDirs = to, []string{t.TempDir()}
	ended := make(chan error)
	go func() {
		_, err := Sort(t.Context(), opt)
		to.Close()
		ended <- err
	}()
	got := make([]byte, 0, len(data))
	got = readSome(t, got, from, 48<<20)
	late, err := unix.Splice(int(from.Fd()), nil, int(hold.Fd()), nil, 1<<19, 0)
	if err != nil {
		t.Fatal(err)
	}
	after, err := io.ReadAll(from)
	if err != nil {
		t.Fatal(err)
	}
	if err := <-ended; err != nil {
		t.Fatal(err)
	}
	got = append(readSome(t, got, held, int(late)), after...)
	if !bytes.Equal(got, want) {
		t.Errorf("%d of %d bytes came out, %d of them looked at late, and they are not those of the sort", len(got), len(want), late)
	}
}

func pipeOf(t *testing.T) (r, w *os.File) {
	t.Helper()
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { r.Close(); w.Close() })
	return r, w
}

// readSome appends the next n bytes.
func readSome(t *testing.T, got []byte, r io.Reader, n int) []byte {
	t.Helper()
	more := make([]byte, n)
	if _, err := io.ReadFull(r, more); err != nil {
		t.Fatal(err)
	}
	return append(got, more...)
}
