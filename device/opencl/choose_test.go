//go:build opencl && cgo && linux

package opencl

import (
	"context"
	"testing"

	"github.com/extsort/extsort/device"
	"github.com/extsort/extsort/device/devicetest"
	"github.com/extsort/extsort/device/opencl/algo"
	"github.com/extsort/extsort/format/formattest"
)

// A chunk uses the algorithm that the user named, or the one that was measured to be the fastest
// for its keys and their number. If a measured algorithm cannot be built, the chunk uses the
// default.
func TestFastestAlgorithmSorts(t *testing.T) {
	word := KeyKind{WordBytes: 8}
	tuning := &Tuning{
		Sorts: []TunedSort{
			{Key: word, Algorithm: "tile", Params: algo.Params{DigitBits: 8}, Rate: 2e9},
			{Key: word, Algorithm: "split", Params: algo.Params{DigitBits: 2}, Rate: 1e9},
			{Key: narrow, Algorithm: "tile", Params: algo.Params{DigitBits: 99}, Rate: 1e9},
		},
		Tiny: []TunedSort{{Key: word, Algorithm: "selection-blocks", Params: algo.Params{BlockFactor: 2}, Records: 500}},
	}
	d := open(t, Options{Tuning: tuning})
	for _, c := range []struct {
		key         string
		records     int
		named, want string
	}{
		{"u64", 500, "", "selection-blocks"},
		{"u64", 501, "", "tile"},
		{"u64", 400, "split", "split"},
		{"u32", 600, "", "tile"}, // default parameters, because no device supports digits of 99 bits
	} {
		l := formattest.Bare(t, c.key)
		opt := device.ChunkOptions{Keyer: formattest.KeyerOf(t, l), Records: 1000, Algorithm: c.named}
		chunk := newChunk(t, d, opt)
		devicetest.CheckOn(t, chunk, devicetest.Case{Layout: l, Recs: randomRecords(l, c.records, "few"), Limit: -1})
		if got := chunk.Stats().Algorithm; got != c.want {
			t.Errorf("%d keys of %s, algorithm %q: sorted by %s, want %s", c.records, c.key, c.named, got, c.want)
		}
	}
}

// OpenOptions.DigitBits overrides measured digits. It is an error if an algorithm has digits of
// its own.
func TestDigitBits(t *testing.T) {
	tuning := &Tuning{Sorts: []TunedSort{{Key: narrow, Algorithm: "hybrid", Rate: 1e9}}}
	l := formattest.Bare(t, "u32")
	k := formattest.KeyerOf(t, l)
	recs := randomRecords(l, 3000, "uniform")
	for _, c := range []struct {
		algorithm string
		bits      int
		passes    int
	}{{"split", 1, 32}, {"", 5, 7}, {"tile", 7, 5}, {"binning", 2, 16},
		{"count-scan-reorder", 4, 8}, {"onesweep", 3, 11},
		{"split", 0, 6}, {"binning", 0, 8}, {"onesweep", 0, 4}} { // as the cost model finds
		d := open(t, Options{Algorithm: c.algorithm, DigitBits: c.bits, Tuning: tuning})
		chunk := newChunk(t, d, device.ChunkOptions{Keyer: k, Records: 3000})
		devicetest.CheckOn(t, chunk, devicetest.Case{Layout: l, Recs: recs, Limit: -1})
		if s := chunk.Stats(); s.Passes != c.passes {
			t.Errorf("%s by %d bits: %d passes of %s, want %d", c.algorithm, c.bits, s.Passes, s.Algorithm, c.passes)
		}
		_, err := d.NewChunk(context.Background(), device.ChunkOptions{Keyer: k, Algorithm: "selection"})
		if c.bits > 0 && err == nil {
			t.Error("selection has no digits, yet it was told their width")
		}
	}
	for _, opt := range []Options{{DigitBits: 9}, {DigitBits: -1}, {Algorithm: "binning", DigitBits: 3},
		{Algorithm: "hybrid", DigitBits: 8}, {Algorithm: "selection-blocks", DigitBits: 1}} {
		if _, err := Open(1, opt); err == nil {
			t.Errorf("%+v was taken", opt)
		}
	}
}
