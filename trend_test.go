package extsort

import (
	"encoding/binary"
	"math"
	"slices"
	"testing"

	"github.com/extsort/extsort/device"
	"github.com/extsort/extsort/format"
)

// TestGuessedSamples has chunks that are too small for a sample of their own, of data that rise or fall with the position but
// for a few keys. A chunk's guess is to spread over its keys as these do.
func TestGuessedSamples(t *testing.T) {
	const n, cut = 200_000, 1500
	r := seeded(t)
	for name, key := range map[string]func(i int) uint64{
		"ascending":   func(i int) uint64 { return 1<<63 + uint64(i)<<40 },
		"descending":  func(i int) uint64 { return uint64(n-i) << 45 },
		"faster":      func(i int) uint64 { return uint64(i) * uint64(i) << 20 },
		"to the end":  func(i int) uint64 { return math.MaxUint64 - uint64(n-i) },
		"to 0":        func(i int) uint64 { return uint64(n - i) },
		"equal pairs": func(i int) uint64 { return uint64(n-i) >> 1 << 30 },
	} {
		t.Run(name, func(t *testing.T) {
			j, keys := jobOfKeys(t, n, func(i int) uint64 {
				if r.IntN(50) == 0 {
					return r.Uint64()
				}
				return key(i)
			})
			for at := 0; at < n; at += cut {
				src, err := j.data.Cut(cut)
				if err != nil {
					t.Fatal(err)
				}
				guess := slices.Sorted(slices.Values(src.(device.Sampled).Sample()))
				if len(guess) < fewestSampled {
					t.Fatalf("records from %d on: %d keys", at, len(guess))
				}
				own := slices.Sorted(slices.Values(keys[at:min(at+cut, n)]))
				const parts = 20
				crowd := 0
				for i := range parts {
					from, _ := slices.BinarySearch(own, guess[i*len(guess)/parts])
					to, found := slices.BinarySearch(own, guess[(i+1)*len(guess)/parts-1])
					if found {
						to++
					}
					crowd = max(crowd, to-from)
				}
				if most := 3 * len(own) / parts; crowd > most {
					t.Errorf("records from %d on: a %dth of the guess has %d of %d", at, parts, crowd, len(own))
				}
			}
		})
	}
}

func TestBetween(t *testing.T) {
	knots := []uint64{10, 20, 18, math.MaxUint64 - 5, 3}
	for at, want := range map[float64]uint64{-2: 0, -0.5: 5, 0: 10, 0.5: 15, 1: 20, 1.5: 19, 2: 18, 4: 3, 4.5: 0} {
		if got := between(knots, at); got != want {
			t.Errorf("at %g: %d, want %d", at, got, want)
		}
	}
	if got := between([]uint64{0, math.MaxUint64 - 5}, 1.5); got != math.MaxUint64 {
		t.Errorf("beyond the greatest number: %d", got)
	}
}

// TestLooksReversed has keys that fall with the position, equal neighbours among them.
func TestLooksReversed(t *testing.T) {
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
		j, _ := jobOfKeys(t, n, c.key)
		if got := j.looksReversed(); got != c.want {
			t.Errorf("%s: it looks reversed: %t", name, got)
		}
	}
}

// jobOfKeys is a job that sorts a file of n u64, which it gives as well.
func jobOfKeys(t *testing.T, n int, key func(i int) uint64) (*job, []uint64) {
	t.Helper()
	keys, recs := make([]uint64, n), make([]byte, 0, 8*n)
	for i := range keys {
		keys[i] = key(i)
		recs = binary.LittleEndian.AppendUint64(recs, keys[i])
	}
	j, err := newJob(t.Context(), Options{Record: format.Spec{Type: "u64"}, Inputs: []string{writeFile(t, recs)}, MemoryBytes: 64 << 20})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := j.close(); err != nil {
			t.Error(err)
		}
	})
	return j, keys
}
