// Package pipetest reads pipes as a reader may that a writer of memory has to reckon with.
//
// Only the root package of this module is stable: this package may change in any version.
package pipetest

import (
	"io"
	"os"
	"testing"

	"golang.org/x/sys/unix"
)

// Open gives the ends of a pipe, which are closed when the test ends.
func Open(t testing.TB) (r, w *os.File) {
	t.Helper()
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { r.Close(); w.Close() })
	return r, w
}

// ReadLate reads a pipe to its end. After the first bytes, early of them, it moves some pages on into another pipe,
// half a MiB at most, and looks at those only when wait has returned.
func ReadLate(t testing.TB, from *os.File, early int, wait func()) (all []byte, late int) {
	t.Helper()
	held, hold := Open(t)
	if _, err := unix.FcntlInt(hold.Fd(), unix.F_SETPIPE_SZ, 1<<20); err != nil {
		t.Skip(err)
	}
	all = readFull(t, from, early)
	moved, err := unix.Splice(int(from.Fd()), nil, int(hold.Fd()), nil, 1<<19, 0)
	if err != nil {
		t.Fatal(err)
	}
	rest, err := io.ReadAll(from)
	if err != nil {
		t.Fatal(err)
	}
	wait()
	all = append(all, readFull(t, held, int(moved))...)
	return append(all, rest...), int(moved)
}

func readFull(t testing.TB, r io.Reader, n int) []byte {
	t.Helper()
	p := make([]byte, n)
	if _, err := io.ReadFull(r, p); err != nil {
		t.Fatal(err)
	}
	return p
}
