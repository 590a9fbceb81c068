package info

import (
	"bytes"
	"math"
	"slices"

	"github.com/extsort/extsort/format"
)

// Bin is how many keys of the sample are from one value up to, without it, another; the last bin has both its ends.
type Bin struct {
	From  string `json:"from"`
	To    string `json:"to"`
	Count int64  `json:"count"`
}

const (
	maxBins        = 8
	maxSampleKeys  = 1 << 16
	maxSampleBytes = 8 << 20
)

// sample is every step-th of the keys that it has been shown. When it is full it drops every second one.
type sample struct {
	keySize, most int
	keys          []byte // one after another
	step, seen    int64
}

func newSample(keySize int) sample {
	most := max(min(maxSampleKeys, maxSampleBytes/keySize), 2)
	return sample{keySize: keySize, most: most, step: 1}
}

func (s *sample) len() int { return len(s.keys) / s.keySize }

func (s *sample) key(i int) []byte { return s.keys[i*s.keySize : (i+1)*s.keySize] }

func (s *sample) add(key []byte) {
	if s.seen%s.step == 0 && s.len() == s.most {
		kept := 0
		for i := 0; i < s.len(); i += 2 {
			copy(s.key(kept), s.key(i))
			kept++
		}
		s.keys = s.keys[:kept*s.keySize]
		s.step *= 2
	}
	if s.seen%s.step == 0 {
		s.keys = append(s.keys, key...)
	}
	s.seen++
}

// duplicates is how many keys equal another one before.
func (s *sample) duplicates() int64 {
	all := make([][]byte, s.len())
	for i := range all {
		all[i] = s.key(i)
	}
	slices.SortFunc(all, bytes.Compare)
	return int64(s.len() - len(slices.CompactFunc(all, bytes.Equal)))
}

// histogram counts the values of field f, the first of the key, in bins of the same width.
func histogram(f format.Field, s *sample) []Bin {
	values := make([]float64, 0, s.len())
	least, most := math.Inf(1), math.Inf(-1)
	for i := range s.len() {
		if x := f.Number(s.key(i)[:f.Type.Size]); !math.IsNaN(x) && !math.IsInf(x, 0) {
			values = append(values, x)
			least, most = min(least, x), max(most, x)
		}
	}
	if len(values) == 0 {
		return nil
	}
	edges := edgesOf(f.Type, least, most)
	counts := make([]int64, len(edges)-1)
	for _, x := range values {
		at, exact := slices.BinarySearch(edges, x)
		if !exact {
			at--
		}
		counts[max(min(at, len(counts)-1), 0)]++
	}
	bins := make([]Bin, len(counts))
	for i, n := range counts {
		bins[i] = Bin{From: f.NumberText(edges[i]), To: f.NumberText(edges[i+1]), Count: n}
	}
	return bins
}

// edgesOf are the ends of bins for values from least to most; those of integers are integers.
func edgesOf(t format.Type, least, most float64) []float64 {
	width := most/maxBins - least/maxBins // their difference may be too large for a float
	if !t.IsFloat() {
		width = max(math.Ceil(width), 1)
	}
	edges := []float64{least}
	for i := 1; i < maxBins && least+float64(i)*width < most; i++ {
		edges = append(edges, least+float64(i)*width)
	}
	return append(edges, most)
}
