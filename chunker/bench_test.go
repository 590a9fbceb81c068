package chunker

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
)

// BenchmarkClassify sends random keys to parts by a table of digits and between splitters.
func BenchmarkClassify(b *testing.B) {
	r := rand.New(rand.NewPCG(1, 2))
	keys, parts := make([]uint64, 1<<15), make([]uint16, 1<<15)
	for _, n := range []int{7, 40, 200} {
		for _, mode := range []string{"digits", "splitters"} {
			for i := range keys {
				if keys[i] = r.Uint64(); mode == "splitters" {
					keys[i] >>= r.IntN(60)
				}
			}
			c := NewClassifier(slices.Sorted(slices.Values(keys)), n)
			b.Run(fmt.Sprintf("%s/parts=%d", mode, n), func(b *testing.B) {
				if c.ByDigit() != (mode == "digits") {
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
