package radix

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/extsort/extsort/device/arena"
	"github.com/extsort/extsort/device/cpu/pool"
)

// TestScatterTwins compares the assembly with the loop in Go, and both with the definition of a
// bucket.
func TestScatterTwins(t *testing.T) {
	t.Run("u32", testScatterTwins[uint32])
	t.Run("u64", testScatterTwins[uint64])
}

func testScatterTwins[E Element](t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	for _, n := range []int{0, 1, 15, 16, 17, 31, 32, 33, 1000, 20_000} {
		eachCut(t, r, n, func(t *testing.T, b Buckets[E], elems []E) {
			for _, majority := range [][]E{nil, someMajority(r, b, elems)} {
				for _, line := range []int{LineBytes, LongLineBytes} {
					fast := scattered(t, b, majority, elems, line, putElements[E])
					loop := scattered(t, b, majority, elems, line, putLoop[E])
					for i := range fast {
						if !slices.Equal(fast[i], loop[i]) {
							t.Fatalf("bucket %d: %d elements, want %d", i, len(fast[i]), len(loop[i]))
						}
					}
					checkBuckets(t, b, majority, elems, fast)
				}
			}
		})
	}
}

// TestNumberTwins compares the bucket numbers of eight elements at once, and of single elements,
// with the definition.
func TestNumberTwins(t *testing.T) {
	t.Run("u32", testNumberTwins[uint32])
	t.Run("u64", testNumberTwins[uint64])
}

func testNumberTwins[E Element](t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	for _, n := range []int{0, 1, 7, 8, 9, 16, 1000} {
		for range 10 { // several ranges
			eachCut(t, r, n, func(t *testing.T, b Buckets[E], elems []E) {
				want := numbered(&b, elems)
				loop, all := make([]uint32, n+1), make([]uint32, n+1)
				loop[n], all[n] = 77, 77
				numberLoop(&b, loop[:n], elems)
				b.numberElements(all[:n], elems)
				if !slices.Equal(loop, append(want, 77)) || !slices.Equal(all, loop) {
					t.Fatalf("%d elements: their buckets are %v and %v, want %v", n, loop, all, want)
				}
			})
		}
	}
}

// eachCut divides random ranges into plain and fitted buckets and calls test with n elements in
// and around each range.
func eachCut[E Element](t *testing.T, r *rand.Rand, n int, test func(t *testing.T, b Buckets[E], elems []E)) {
	for _, count := range []int{1, 2, 7, 64, MaxBuckets} {
		low, high := E(r.Uint64()), E(r.Uint64())
		low, high = min(low, high), max(low, high)
		tieBits := uint(r.IntN(8))
		center := low + (high-low)/3
		plain := NewBuckets(low, high, count, tieBits)
		all := map[string]Buckets[E]{"plain": plain}
		if count >= minFitted {
			sample := dense(r, low, high, center)
			from := (center - plain.low) >> tieBits << tieBits
			all["even"] = plain.fitTo(sample, high, count, tieBits, grading{})
			g := gradingAround(uint64(from), uint64(high-plain.low), tieBits)
			all["graded"] = plain.fitTo(sample, high, count, tieBits, g)
		}
		for name, b := range all {
			t.Run(fmt.Sprintf("n=%d/buckets=%d/%s", n, count, name), func(t *testing.T) {
				elems := dense(r, low, high, center)[:n/2]
				for len(elems) < n {
					elems = append(elems, E(r.Uint64()))
				}
				test(t, b, elems)
			})
		}
	}
}

// someMajority replaces about half of elems by a few values, at most one per bucket. It returns
// these values.
func someMajority[E Element](r *rand.Rand, b Buckets[E], elems []E) []E {
	var values []E
	majority := make([]E, b.Count())
	majority[0] = ^E(0)
	for _, e := range elems[:min(len(elems), 20)] {
		if at := b.BucketOf(e); b.BucketOf(majority[at]) != at || len(majority) == 1 && len(values) == 0 {
			values = append(values, e)
			majority[at] = e
		}
	}
	for i := range elems {
		if r.IntN(2) == 0 {
			elems[i] = values[r.IntN(len(values))]
		}
	}
	return majority
}

// scattered returns the content of the buckets that the given inner loops fill with lines of the
// given size, followed by the counted elements.
func scattered[E Element](t *testing.T, b Buckets[E], majority []E, elems []E, line int,
	put func(*combiner[E], []E, []uint32, []E) (int, int)) [][]E {
	p, err := pool.New[E](len(elems)/128+b.Count()+1, 128, 1)
	if err != nil {
		t.Fatal(err)
	}
	defer p.Memory.Free()
	memory, err := arena.Alloc(2 * MaxBuckets * (line + 28))
	if err != nil {
		t.Fatal(err)
	}
	defer memory.Free()
	sc, _ := NewScatterer[E](p, memory.Bytes(), b.Count(), line)
	sc.Reset(b.Count(), 0, len(p.Zones), 1, majority)
	numbers := numbered(&b, elems)
	for at := 0; at < len(elems); {
		end := min(at+MaxNumbers, len(elems))
		done, full := put(&sc.combiner, elems[at:end], numbers[at:end], majority)
		if full >= 0 {
			sc.flush(full)
		}
		at += done
	}
	sc.Finish()
	content := make([][]E, b.Count())
	for i := range content {
		content[i] = gather(p, make([]E, len(elems)), sc.Lists[i])
		value, count := sc.MajorityOf(i)
		content[i] = append(content[i], slices.Repeat([]E{value}, int(count))...)
	}
	return content
}

// numbered returns the bucket of each element according to the definition.
func numbered[E Element](b *Buckets[E], elems []E) []uint32 {
	numbers := make([]uint32, len(elems))
	for i, e := range elems {
		numbers[i] = uint32(b.BucketOf(e))
	}
	return numbers
}

// TestCountersAreEmptied adds more elements than the counters can count.
func TestCountersAreEmptied(t *testing.T) {
	p, err := pool.New[uint64](20, 64, 1)
	if err != nil {
		t.Fatal(err)
	}
	defer p.Memory.Free()
	memory := make([]byte, 1<<16)
	sc, _ := NewScatterer[uint64](p, memory, 4, LineBytes)
	b := NewBuckets[uint64](0, 1<<20-1, 4, 0)
	elems := slices.Repeat([]uint64{7, 1 << 19, 7, 8}, 100)
	sc.Reset(b.Count(), 0, len(p.Zones), 1, MajorityKeys([]uint64{7, 7, 7, 7, 7, 7, 7, 7}, b, 4, 0))
	for i := range 3 {
		sc.uncounted = maxUncounted
		sc.Add(&b, elems, elems)
		if due := int64(200 * i); sc.counts[0] != due {
			t.Errorf("%d came before, want %d", sc.counts[0], due)
		}
	}
	sc.Finish()
	if value, count := sc.MajorityOf(b.BucketOf(7)); value != 7 || count != 600 {
		t.Errorf("%d came %d times, want 7 and 600", value, count)
	}
	if rest := p.CountElements(sc.Lists[0]); rest != 300 {
		t.Errorf("%d others are in its bucket, want 300", rest)
	}
}

// TestBlocksAhead fills the buckets of two zones in order and alternately. Each block must be
// from its bucket's zone, and blocks taken in advance for the other zone must go back to it.
func TestBlocksAhead(t *testing.T) {
	const block, blocks = 64, 1 << 13
	for name, next := range map[string]func(i int) uint64{
		"in order": func(i int) uint64 { return uint64(4 * i / (block * blocks / 4)) },
		"by turns": func(i int) uint64 { return uint64(i / (4 * block) % 4) },
	} {
		p, err := pool.New[uint64](blocks, block, 2)
		if err != nil {
			t.Fatal(err)
		}
		defer p.Memory.Free()
		sc, _ := NewScatterer[uint64](p, make([]byte, 1<<16), 4, LineBytes)
		b := NewBuckets[uint64](0, 3, 4, 0)
		sc.Reset(b.Count(), 0, len(p.Zones), BlocksAhead, nil)
		elems := make([]uint64, block*blocks/4)
		for i := range elems {
			elems[i] = next(i)
		}
		sc.Add(&b, elems, elems)
		sc.Finish()
		if free := p.Available(); free != blocks-blocks/4 {
			t.Errorf("%s: %d blocks are free, want %d", name, free, blocks-blocks/4)
		}
		for bucket, list := range sc.Lists[:4] {
			if n := p.CountElements(list); n != int64(len(elems)/4) {
				t.Errorf("%s: bucket %d has %d elements, want %d", name, bucket, n, len(elems)/4)
			}
			for at := list.Head; at != pool.None; at = p.Next[at] {
				zone := &p.Zones[sc.ZoneOf(bucket)]
				if !slices.Contains(zone.Extents, at/uint32(p.ExtentBlocks)*uint32(p.ExtentBlocks)) {
					t.Fatalf("%s: block %d of bucket %d is not of its zone", name, at, bucket)
				}
			}
		}
	}
}

// dense returns a sample that is dense around a center between low and high. It contains equally
// many elements at each of several distances, where each distance is half of the previous one.
func dense[E Element](r *rand.Rand, low, high, center E) []E {
	sample := make([]E, 10_000)
	for i := range sample {
		away := E(r.Uint64()) >> r.IntN(int(lastBit[E]()))
		if sample[i] = center + min(away, high-center); i%2 == 0 {
			sample[i] = center - min(away, center-low)
		}
	}
	return sample
}

func checkBuckets[E Element](t *testing.T, b Buckets[E], majority []E, elems []E, content [][]E) {
	want := make([][]E, b.Count())
	for _, counted := range []bool{false, true} {
		for _, e := range elems {
			d := b.BucketOf(e)
			isMajority := majority != nil && majority[d] == e
			if isMajority == counted {
				want[d] = append(want[d], e)
			}
		}
	}
	for i := range want {
		if !slices.Equal(want[i], content[i]) {
			t.Fatalf("bucket %d holds %v, want %v", i, content[i], want[i])
		}
		for _, e := range want[i] {
			if low, high := b.Span(i, 0, ^E(0)); e < low || e > high {
				t.Fatalf("bucket %d holds %d, outside of its span %d to %d", i, e, low, high)
			}
		}
	}
}

func TestCutAt(t *testing.T) {
	for _, value := range []uint64{0, 1, 2, 3, 77, 1 << 40, 1<<63 - 1, 1 << 63, 1<<63 + 1, ^uint64(0) - 1, ^uint64(0)} {
		b := CutAt(value)
		for _, e := range []uint64{0, 1, value - 1, value - 2, value + 1, value / 2, value + value/2, ^uint64(0)} {
			if e != value && b.Count() == 2 && (b.BucketOf(e) == 1) != (e > value) {
				t.Errorf("cut at %d: %d is in bucket %d", value, e, b.BucketOf(e))
			}
		}
	}
}
