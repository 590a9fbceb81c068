package chunker

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/extsort/extsort/format/formattest"
)

// samplers draw the keys of a sample; the extremes come often.
var samplers = map[string]func(r *rand.Rand) uint64{
	"uniform": func(r *rand.Rand) uint64 { return r.Uint64() },
	"narrow":  func(r *rand.Rand) uint64 { return 1<<40 + r.Uint64N(1000) },
	"few":     func(r *rand.Rand) uint64 { return r.Uint64N(5) * 1e18 },
	"equal":   func(*rand.Rand) uint64 { return 7 },
	"zero":    func(*rand.Rand) uint64 { return 0 },
	"max":     func(*rand.Rand) uint64 { return math.MaxUint64 },
	"ends":    func(r *rand.Rand) uint64 { return -r.Uint64N(2) },
	"skewed":  func(r *rand.Rand) uint64 { return r.Uint64() >> r.UintN(64) },
	"half more": func(r *rand.Rand) uint64 { // a key with one and a half times the share of one of ten partitions
		if r.IntN(100) < 15 {
			return 1 << 62
		}
		return r.Uint64()
	},
	"heavy": func(r *rand.Rand) uint64 { return []uint64{1 << 50, r.Uint64()}[r.IntN(2)] },
}

func sampleOf(draw func(r *rand.Rand) uint64, n int, r *rand.Rand) []uint64 {
	sample := make([]uint64, n)
	for i := range sample {
		sample[i] = draw(r)
	}
	slices.Sort(sample)
	return sample
}

// probes are keys in and around a sample, in order.
func probes(sample []uint64, r *rand.Rand) []uint64 {
	keys := []uint64{0, 1, math.MaxUint64 - 1, math.MaxUint64}
	for _, key := range sample {
		keys = append(keys, key, key-1, key+1)
	}
	for range 200 {
		keys = append(keys, r.Uint64()>>r.UintN(64))
	}
	slices.Sort(keys)
	return keys
}

// checkMonotone expects that greater keys are never in an earlier partition.
func checkMonotone(t *testing.T, c *Classifier, keys []uint64) {
	t.Helper()
	partitions := make([]uint32, len(keys))
	c.Classify(partitions, keys)
	for i, p := range partitions {
		if int(p) >= c.Partitions || i > 0 && p < partitions[i-1] {
			t.Fatalf("key %d is in partition %d of %d, a key before it in partition %d",
				keys[i], p, c.Partitions, partitions[max(i-1, 0)])
		}
	}
}

func TestClassifierIsMonotone(t *testing.T) {
	r := formattest.Random(t)
	for name, draw := range samplers {
		for _, n := range []int{0, 1, 2, 3, 10, 1000, 5000} {
			for _, partitions := range []int{-1, 0, 1, 2, 3, 7, 64, 1000, 1 << 20} {
				sample := sampleOf(draw, n, r)
				c := NewClassifier(sample, partitions)
				if c.Partitions < 1 || c.Partitions > max(partitions, 1)+max(partitions, 1)/2 {
					t.Errorf("%s: %d partitions were asked for, %d came", name, partitions, c.Partitions)
				}
				checkMonotone(t, c, probes(sample, r))
			}
		}
	}
}

// TestClassifierBalances counts the keys of each partition. A partition may exceed its share only
// slightly, unless a single key makes it larger; that key must then have the partition for
// itself.
func TestClassifierBalances(t *testing.T) {
	r := formattest.Random(t)
	const records, wanted = 20000, 10
	for name, draw := range samplers {
		sample := sampleOf(draw, records, r)
		c := NewClassifier(sample, wanted)
		where := make([]uint32, records)
		c.Classify(where, sample)
		counts, distinct := make([]int, c.Partitions), make([]int, c.Partitions)
		for i, p := range where {
			counts[p]++
			if i == 0 || sample[i] != sample[i-1] {
				distinct[p]++
			}
		}
		for p, n := range counts {
			if n > records/wanted*11/10 && distinct[p] > 1 {
				t.Errorf("%s: partition %d has %d of %d records with %d keys", name, p, n, records, distinct[p])
			}
		}
	}
}

// TestClassifierMode expects the table where keys are spread, the splitters where they are not.
func TestClassifierMode(t *testing.T) {
	r := formattest.Random(t)
	for name, byDigit := range map[string]bool{"uniform": true, "narrow": true, "skewed": false, "heavy": false,
		"equal": false} {
		if c := NewClassifier(sampleOf(samplers[name], 10000, r), 8); (c.table != nil) != byDigit {
			t.Errorf("%s: by digit is %t", name, (c.table != nil))
		}
	}
}

func FuzzClassifier(f *testing.F) {
	f.Add(uint64(1), uint64(2), uint64(math.MaxUint64), uint16(5), uint16(3))
	f.Add(uint64(0), uint64(0), uint64(0), uint16(100), uint16(40))
	f.Fuzz(func(t *testing.T, a, b, seed uint64, n, partitions uint16) {
		r := rand.New(rand.NewPCG(seed, 1))
		draw := func(r *rand.Rand) uint64 {
			switch r.IntN(4) {
			case 0:
				return a
			case 1:
				return b
			}
			return a + r.Uint64N(max(b, 1))
		}
		sample := sampleOf(draw, int(n%3000), r)
		checkMonotone(t, NewClassifier(sample, int(partitions)), probes(sample, r))
	})
}

// TestClassifyBySplitter compares the classification of keys at, before and after the splitters
// with a plain count.
func TestClassifyBySplitter(t *testing.T) {
	r := formattest.Random(t)
	for n := range 70 {
		splitters := make([]uint64, n+1)
		for i := range splitters {
			splitters[i] = r.Uint64() >> r.IntN(64)
		}
		splitters[n] = []uint64{1, 1 << 63, ^uint64(0)}[n%3]
		slices.Sort(splitters)
		splitters = slices.Compact(splitters)
		keys := []uint64{0, 1, ^uint64(0), ^uint64(0) - 1}
		for _, s := range splitters {
			keys = append(keys, s-1, s, s+1)
		}
		keys = keys[:len(keys)-r.IntN(4)]
		partitions := make([]uint32, len(keys))
		classifierOf(splitters...).Classify(partitions, keys)
		for i, key := range keys {
			want := 0
			for want < len(splitters) && splitters[want] <= key {
				want++
			}
			if int(partitions[i]) != want {
				t.Fatalf("%d splitters: key %d goes to partition %d, want %d", len(splitters), key, partitions[i], want)
			}
		}
	}
}
