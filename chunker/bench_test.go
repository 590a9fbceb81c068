package chunker

import (
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/extsort/extsort/chunker/plan"
	"github.com/extsort/extsort/chunker/spill"
	"github.com/extsort/extsort/format"
	"github.com/extsort/extsort/format/formattest"
)

// BenchmarkClassify sends random keys to parts by a table of digits and between splitters.
func BenchmarkClassify(b *testing.B) {
	r := rand.New(rand.NewPCG(1, 2))
	keys, parts := make([]uint64, 1<<15), make([]uint32, 1<<15)
	for _, n := range []int{7, 40, 200} {
		for _, mode := range []string{"digits", "splitters"} {
			for i := range keys {
				if keys[i] = r.Uint64(); mode == "splitters" {
					keys[i] >>= r.IntN(60)
				}
			}
			c := NewClassifier(slices.Sorted(slices.Values(keys)), n)
			b.Run(fmt.Sprintf("%s/parts=%d", mode, n), func(b *testing.B) {
				if (c.table != nil) != (mode == "digits") {
					b.Skip("the classifier chose otherwise")
				}
				for b.Loop() {
					c.Classify(parts, keys)
				}
				b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(len(keys)), "ns/key")
			})
		}
	}
}

// BenchmarkScatter scatters records of several sizes from memory with one worker, and discards
// the parts. Records of a word are moved by cache lines, others record by record.
func BenchmarkScatter(b *testing.B) {
	r := rand.New(rand.NewPCG(1, 2))
	recs := make([]byte, 64<<20)
	for at := 0; at < len(recs); at += 8 {
		binary.LittleEndian.PutUint64(recs[at:], r.Uint64())
	}
	for _, spec := range []format.Spec{{Type: "u32"}, {Type: "u64"}, {RecordSize: 12, Keys: []string{"0:u64"}},
		{RecordSize: 16, Keys: []string{"0:u64"}}, {RecordSize: 24, Keys: []string{"0:u64"}}, {RecordSize: 100,
			Keys: []string{"0:u64"}}} {
		k := formattest.Keyer(b, spec)
		size := k.Layout().RecordSize
		n := len(recs) / size
		keys := make([]uint64, 1<<12)
		k.Prefixes(keys, recs[:len(keys)*size])
		c := NewClassifier(slices.Sorted(slices.Values(keys)), 40)
		for name, blockBytes := range map[string]int{"block=256KiB": 256 << 10, "block=250000": 250000} {
			b.Run(fmt.Sprintf("size=%d/%s", size, name), func(b *testing.B) {
				store := newTestSpill(b, spec, oblivion{})
				data := &Partition{Run: spill.MemoryRun(k, recs[:n*size], 32<<10)}
				for b.Loop() {
					if _, err := Scatter(b.Context(), k, data, c, store, plan.Scatter{Workers: 1,
						BlockBytes: blockBytes, UnitBytes: plan.MaxUnitBytes}); err != nil {
						b.Fatal(err)
					}
				}
				b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(n), "ns/record")
			})
		}
	}
}
