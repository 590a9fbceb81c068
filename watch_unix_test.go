//go:build unix

package extsort

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/extsort/extsort/chunker"
	"github.com/extsort/extsort/chunker/input"
	"github.com/extsort/extsort/device"
	"github.com/extsort/extsort/format"
)

// TestMapsWholeInputs leaves records where they lie only if a chunk has all of them, and the page cache.
func TestMapsWholeInputs(t *testing.T) {
	const size, n = 100, 1000
	name := filepath.Join(t.TempDir(), "in")
	if err := os.WriteFile(name, make([]byte, n*size), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		first  int64 // records of the first source
		mayMap int64
		want   bool
	}{
		{n, n * size, true},
		{2 * n, n * size, true},
		{n, n*size - 1, false},
		{n - 1, n * size, false},
	} {
		inputs, err := input.Open(t.Context(), format.Spec{RecordSize: size}, []string{name}, nil, 1<<20)
		if err != nil {
			t.Fatal(err)
		}
		data := &watchDataset{Dataset: chunker.NewDataset(inputs), size: size, seen: func([]byte) {}, mayMap: func() int64 { return c.mayMap }}
		src, err := data.Cut(c.first)
		if err != nil {
			t.Fatal(err)
		}
		m, err := src.(device.Mapped).Map()
		if err != nil || (m != nil) != c.want {
			t.Errorf("a source of %d records of %d, %d bytes may be mapped: mapped is %t, error %v", src.Records(), n, c.mayMap, m != nil, err)
		}
		if m != nil {
			if err := m.Close(); err != nil {
				t.Error(err)
			}
		}
		if err := data.Close(); err != nil {
			t.Error(err)
		}
	}
}

// TestSamplesOfChunks gives a chunk the sample of its own records if keys rise or fall with the position, but for a few.
func TestSamplesOfChunks(t *testing.T) {
	const n = 100_000
	r := seeded(t)
	for name, c := range map[string]struct {
		key  func(i int) uint64
		cut  int64
		want bool
	}{
		"ascending":  {func(i int) uint64 { return uint64(i) << 40 }, n / 5, true},
		"descending": {func(i int) uint64 { return uint64(n-i) << 40 }, n / 5, true},
		"nearly": {func(i int) uint64 {
			if r.IntN(50) == 0 {
				return r.Uint64()
			}
			return uint64(i) << 40
		}, n / 5, true},
		"uniform":   {func(int) uint64 { return r.Uint64() }, n / 5, false},
		"equal":     {func(int) uint64 { return 5 }, n / 5, true},
		"one chunk": {func(i int) uint64 { return uint64(i) << 40 }, n, false},
	} {
		t.Run(name, func(t *testing.T) {
			j, keys := jobOfKeys(t, n, c.key)
			for at := int64(0); at < n; at += c.cut {
				src, err := j.data.Cut(c.cut)
				if err != nil {
					t.Fatal(err)
				}
				sample := src.(device.Sampled).Sample()
				if (len(sample) > 0) != c.want {
					t.Fatalf("records from %d on: %d keys", at, len(sample))
				}
				const near = 200 // a sample is taken of some neighbours at a time
				own := slices.Sorted(slices.Values(keys[max(at-near, 0):min(at+c.cut+near, n)]))
				for _, key := range sample {
					if _, found := slices.BinarySearch(own, key); !found {
						t.Fatalf("records from %d on: their sample has %d", at, key)
					}
				}
			}
		})
	}
}
