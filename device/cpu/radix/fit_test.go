package radix

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

// TestFittedBuckets fits buckets to many kinds of samples. The buckets must be adjacent, elements
// that differ only in their tie bits must share one, and there must be at most the requested
// number of buckets.
func TestFittedBuckets(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 8))
	for name, draw := range map[string]func() uint64{
		"floats":      func() uint64 { return math.Float64bits(r.Float64()) },
		"normal":      func() uint64 { return floatKey(r.NormFloat64()) },
		"exponential": func() uint64 { return floatKey(r.ExpFloat64()) },
		"logarithmic": func() uint64 { return r.Uint64() >> r.IntN(64) },
		"descending":  func() uint64 { return ^(r.Uint64() >> r.IntN(64)) },
		"signed":      func() uint64 { return signed(r) },
		"small":       func() uint64 { return 1<<63 + r.Uint64N(3)<<r.IntN(40) },
		"two ends":    func() uint64 { return r.Uint64()>>40 ^ -(r.Uint64() & 1) },
		"two values":  func() uint64 { return r.Uint64() & 1 << 63 },
		"top bit":     func() uint64 { return 1<<63 | r.Uint64()>>r.IntN(20) },
	} {
		t.Run(name, func(t *testing.T) {
			for _, n := range []int{1, 50, 1000, 16384} {
				for _, count := range []int{minFitted, 500, MaxBuckets} {
					sample := make([]uint64, n)
					for i := range sample {
						sample[i] = draw()
					}
					tieBits := uint(r.IntN(30))
					low, high := MinMax(sample)
					checkCut(t, FittedBuckets(sample, low, high, count, tieBits), low, high, count, tieBits)
				}
			}
		})
	}
}

// floatKey returns the normalized key of a float.
func floatKey(f float64) uint64 {
	bits := math.Float64bits(f)
	return bits ^ (uint64(int64(bits)>>63) | 1<<63)
}

func checkCut(t *testing.T, b Buckets[uint64], low, high uint64, count int, tieBits uint) {
	t.Helper()
	if b.Count() > count {
		t.Errorf("%d buckets, %d asked for", b.Count(), count)
	}
	next := low >> tieBits << tieBits
	for i := range b.Count() {
		first, last := b.Bounds(i)
		if first != next || last < first {
			t.Fatalf("bucket %d of %d is from %x to %x, and the one before ends before %x", i, b.Count(), first, last, next)
		}
		if b.BucketOf(first) != i || b.BucketOf(last) != i || b.BucketOf(first+(last-first)/2) != i {
			t.Fatalf("bucket %d has elements from %x to %x, but those are in buckets %d and %d", i, first, last,
				b.BucketOf(first), b.BucketOf(last))
		}
		if first>>tieBits<<tieBits != first {
			t.Fatalf("bucket %d begins with %x, between elements that differ in the last %d bits only", i, first, tieBits)
		}
		next = last + 1
	}
	if end := next - 1; end < high {
		t.Errorf("the last bucket ends with %x, before %x", end, high)
	}
	if b.BucketOf(0) != 0 || b.BucketOf(^uint64(0)) != b.Count()-1 {
		t.Errorf("elements outside of the range are in buckets %d and %d of %d",
			b.BucketOf(0), b.BucketOf(^uint64(0)), b.Count())
	}
}

// signed returns the normalized key of a random integer whose magnitude has a random number of
// bits.
func signed(r *rand.Rand) uint64 { return uint64(int64(r.Uint64())>>r.IntN(64)) ^ 1<<63 }

// TestFittedBucketsAreEven checks the purpose of fitting: floats, and integers with any number of
// bits from 21 on, must be distributed about as evenly as uniform keys. The cells cannot separate
// shorter integers.
func TestFittedBucketsAreEven(t *testing.T) {
	for name, draw := range map[string]func(r *rand.Rand) uint64{
		"floats":     func(r *rand.Rand) uint64 { return floatKey(r.NormFloat64()) },
		"unsigned":   func(r *rand.Rand) uint64 { return 1<<20 | r.Uint64()>>r.IntN(44) },
		"descending": func(r *rand.Rand) uint64 { return ^(1<<20 | r.Uint64()>>r.IntN(44)) },
		"signed":     func(r *rand.Rand) uint64 { return (1<<20 | r.Uint64()>>(1+r.IntN(43))) ^ -(r.Uint64() & 1) ^ 1<<63 },
	} {
		t.Run(name, func(t *testing.T) { testFittedBucketsAreEven(t, draw) })
	}
}

func testFittedBucketsAreEven(t *testing.T, draw func(r *rand.Rand) uint64) {
	r := rand.New(rand.NewPCG(9, 10))
	keys := make([]uint64, 1<<18)
	for i := range keys {
		keys[i] = draw(r)
	}
	low, high := MinMax(keys)
	sample := keys[:1<<14]
	for _, fitted := range []bool{false, true} {
		b := NewBuckets(low, high, 1024, 0)
		if fitted {
			b = FittedBuckets(sample, low, high, 1024, 0)
		}
		held := make([]int, b.Count())
		for _, k := range keys {
			held[b.BucketOf(k)]++
		}
		most, share := slices.Max(held), len(keys)/1024
		if fitted != b.isFitted() || fitted != (most < 6*share) {
			t.Errorf("fitted: %t; the largest of %d buckets holds %d elements, where the share is %d", b.isFitted(),
				b.Count(), most, share)
		}
	}
}
