package input

import (
	"bytes"
	"io"
	"math/rand/v2"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/extsort/extsort/format/formattest"
)

// pieces is a reader that returns a random number of bytes at a time.
type pieces struct {
	data []byte
	rng  *rand.Rand
}

func (p *pieces) Read(b []byte) (int, error) {
	if len(p.data) == 0 {
		return 0, io.EOF
	}
	n := copy(b[:min(len(b), p.rng.IntN(40))], p.data)
	p.data = p.data[n:]
	if len(p.data) == 0 && p.rng.IntN(2) == 0 {
		return n, io.EOF
	}
	return n, nil
}

// TestHoldBack reads streams of all lengths in pieces of random sizes.
func TestHoldBack(t *testing.T) {
	rng := rand.New(rand.NewPCG(46, 6))
	for range 3000 {
		data := formattest.Bytes(rng, rng.IntN(300))
		tail := rng.IntN(len(data) + 1)
		var ended []byte
		calls := 0
		r := SplitTail(&pieces{data, rng}, int64(tail), func(b []byte) { ended, calls = bytes.Clone(b), calls+1 })
		var got []byte
		for {
			p := make([]byte, 1+rng.IntN(100))
			n, err := r.Read(p)
			got = append(got, p[:n]...)
			if err == io.EOF {
				break
			}
			if n == 0 || err != nil {
				t.Fatalf("%d bytes, tail of %d: Read gives %d bytes, %v", len(data), tail, n, err)
			}
		}
		cut := len(data) - tail
		if !bytes.Equal(got, data[:cut]) || !bytes.Equal(ended, data[cut:]) || calls != 1 {
			t.Fatalf("%d bytes, tail of %d: %d came, then %d, in %d calls", len(data), tail, len(got), len(ended), calls)
		}
		if n, err := r.Read(make([]byte, 9)); n != 0 || err != io.EOF {
			t.Fatalf("behind the end: %d bytes, %v", n, err)
		}
	}
}

// TestHoldBackErrors has a stream that is shorter than its tail, and one that fails, so that its
// tail is not known.
func TestHoldBackErrors(t *testing.T) {
	ended := func(b []byte) { t.Errorf("a tail of %d bytes", len(b)) }
	_, err := io.ReadAll(SplitTail(strings.NewReader("seven b"), 8, ended))
	if err == nil || err.Error() != "it has 7 bytes, fewer than the 8 to skip after its records" {
		t.Error(err)
	}
	failing := io.MultiReader(strings.NewReader("seven b"), iotest.ErrReader(io.ErrClosedPipe))
	got, err := io.ReadAll(SplitTail(failing, 3, ended))
	if err != io.ErrClosedPipe || string(got) != "seve" {
		t.Errorf("%q, %v", got, err)
	}
}
