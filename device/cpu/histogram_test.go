package cpu

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/extsort/extsort/device"
	"github.com/extsort/extsort/device/devicetest"
	"github.com/extsort/extsort/format"
	"github.com/extsort/extsort/format/formattest"
)

// countedLayouts returns the layouts of records that are counted.
func countedLayouts(t *testing.T) (all []format.Layout) {
	for _, name := range []string{"u8", "i8", "bytes1", "u16", "i16", "i16be", "bytes2"} {
		l := formattest.Bare(t, name)
		all = append(all, l)
		l.Key = []format.Field{{Type: l.Key[0].Type, Desc: true}}
		all = append(all, l)
	}
	return all
}

func histogramOf(t *testing.T, opt device.ChunkOptions) *histogram {
	t.Helper()
	made := openChunk(t, opt)
	h, ok := made.(*histogram)
	if !ok {
		t.Fatalf("a chunk of %d records is a %T", opt.Records, made)
	}
	return h
}

// TestHistogram counts records with random bytes, in units whose sizes are not multiples of a word.
func TestHistogram(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for _, l := range countedLayouts(t) {
		for _, dist := range []string{"uniform", "equal", "zipf"} {
			recs := devicetest.Distributions[dist](l, valueCount(l.RecordSize)+r.IntN(20_000), r)
			c := devicetest.Case{Layout: l, Recs: recs, Workers: 1 + r.IntN(4), Limit: -1, Units: []int{1, 7_001, 3}}
			if t.Run(l.String()+" "+dist, func(t *testing.T) { devicetest.Check(t, New(), c) }); t.Failed() {
				return
			}
			c.Limit, c.Block = r.Int64N(int64(len(recs))), 1+r.IntN(10_000)
			devicetest.Check(t, New(), c)
		}
	}
}

// TestHistogramSettles has a worker whose counters are nearly full. It must settle before it
// continues.
func TestHistogramSettles(t *testing.T) {
	for _, l := range countedLayouts(t) {
		k := formattest.KeyerOf(t, l)
		const n = 1 << 20
		h := histogramOf(t, device.ChunkOptions{Keyer: k, Records: n, BlockBytes: 1 << 14, Workers: 1})
		if err := h.makeWorkers(1); err != nil {
			t.Fatal(err)
		}
		w := h.workers[0]
		clear(w.counts)
		w.records = maxUnsettled - h.unitRecords
		var settled []int64
		in := newIntake(&watchedSource{&devicetest.Source{Recs: make([]byte, n*l.RecordSize), Size: l.RecordSize}, func() {
			var total int64
			for _, count := range h.ends {
				total += count
			}
			settled = append(settled, total)
		}}, &h.sizes)
		if err := h.countUnits(t.Context(), w, in); err != nil {
			t.Fatal(err)
		}
		unit := int64(h.unitRecords)
		if len(settled) < 3 || settled[0] != 0 || settled[1] != unit || settled[2] != unit || slices.Max(h.ends) != n {
			t.Errorf("%v: settled before each unit %d, and at the end %d, want 0, %d, %d and so on, and %d", l, settled,
				slices.Max(h.ends), unit, unit, n)
		}
	}
}

// watchedSource calls something before it is read.
type watchedSource struct {
	device.Source
	before func()
}

func (s *watchedSource) Next(most int, place func(int64, int) []byte) (first int64, n int, err error) {
	s.before()
	return s.Source.Next(most, place)
}

// TestHistogramMemory checks that any number of records is sorted in the memory of the given
// number of workers, and few records in less.
func TestHistogramMemory(t *testing.T) {
	fewer := int64(2)
	if testing.Short() {
		fewer = 16
	}
	for _, l := range countedLayouts(t) {
		k := formattest.KeyerOf(t, l)
		for _, workers := range []int{1, 2, 64} {
			for _, memory := range []int64{32 << 10, 1 << 20, 3 << 20, 64 << 20} {
				opt := device.ChunkOptions{Keyer: k, BlockBytes: 32 << 10, Workers: workers, MemoryBytes: memory}
				opt.Records = New().MaxRecords(opt, memory)
				if memory >= 3<<20 != (opt.Records == histogramCapacity) && memory != 1<<20 {
					t.Errorf("%v, %d workers: %d records in %d bytes", l, workers, opt.Records, memory)
				}
				for ; opt.Records > 0; opt.Records /= fewer {
					made, err := New().NewChunk(t.Context(), opt)
					if err != nil {
						t.Fatalf("%v, %d records, %d workers: %v", l, opt.Records, workers, err)
					}
					if got := allocated(t, made); got > memory {
						t.Errorf("%v, %d records, %d workers: %d bytes are allocated, %d are allowed", l, opt.Records, workers, got,
							memory)
					}
					if err := made.Close(); err != nil {
						t.Error(err)
					}
				}
			}
		}
	}
}
