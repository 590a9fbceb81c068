package session

import (
	"encoding/binary"
	"errors"
	"testing"

	"github.com/extsort/extsort/format"
)

// TestLooksReversed checks that inputs look reversed only if their keys decrease with the position.
// Equal neighbours are allowed.
func TestLooksReversed(t *testing.T) {
	t.Parallel()
	const n = 50_000
	r := seeded(t)
	for name, c := range map[string]struct {
		key  func(i int) uint64
		want bool
	}{
		"strictly":    {func(i int) uint64 { return uint64(n - i) }, true},
		"with pairs":  {func(i int) uint64 { return uint64(n-i) / 2 }, true},
		"few values":  {func(i int) uint64 { return uint64(n-i) / 5000 }, true},
		"equal":       {func(int) uint64 { return 7 }, false},
		"sorted":      {func(i int) uint64 { return uint64(i) }, false},
		"random pair": {func(int) uint64 { return uint64(r.IntN(2)) }, false},
		"uniform":     {func(int) uint64 { return r.Uint64() }, false},
	} {
		recs := make([]byte, 0, 8*n)
		for i := range n {
			recs = binary.LittleEndian.AppendUint64(recs, c.key(i))
		}
		opt := Options{Record: format.Spec{Type: "u64"}, Inputs: []string{writeFile(t, recs)}, MemoryBytes: 64 << 20}
		s, err := begin(t.Context(), opt, true)
		if err != nil {
			t.Fatal(err)
		}
		profile, diskOf := machineProfile()
		f, err := factsOfData(t.Context(), &s.opt, s.run, profile, diskOf)
		if err := errors.Join(err, s.close()); err != nil {
			t.Fatal(err)
		}
		if got := f.Reversed(); got != c.want {
			t.Errorf("%s: it looks reversed: %t", name, got)
		}
	}
}
