package session

import (
	"bytes"
	"math/rand/v2"
	"testing"

	"github.com/extsort/extsort/chunker/input/pipe/pipetest"
	"github.com/extsort/extsort/format"
)

// TestSortIntoHeldPipe sorts into a pipe whose reader moves the pages into another pipe, and looks at them after the
// sort has released its memory. The pages must not have changed.
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
	from, to := pipetest.Open(t)
	opt.Stdout, opt.TempDirs = to, []string{t.TempDir()}
	ended := make(chan error)
	go func() {
		_, err := Sort(t.Context(), opt)
		to.Close()
		ended <- err
	}()
	got, late := pipetest.ReadLate(t, from, 48<<20, func() {
		if err := <-ended; err != nil {
			t.Fatal(err)
		}
	})
	if !bytes.Equal(got, want) {
		t.Errorf("%d of %d bytes came out, %d of them looked at late, and they are not those of the sort", len(got),
			len(want), late)
	}
}
