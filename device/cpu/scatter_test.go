package cpu

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/extsort/extsort/device/arena"
)

// TestScatterTwins holds the assembly to what the loop in Go does, and both to the definition of a bucket.
func TestScatterTwins(t *testing.T) {
	t.Run("u32", testScatterTwins[uint32])
	t.Run("u64", testScatterTwins[uint64])
}

func testScatterTwins[E element](t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	for _, n := range []int{0, 1, 15, 16, 17, 31, 32, 33, 1000, 20_000} {
		eachCut(t, r, n, func(t *testing.T, b buckets[E], elems []E) {
			for _, heavy := range []*heavies[E]{nil, someHeavies(r, b, elems)} {
				for _, line := range []int{lineBytes, longLineBytes} {
					fast := scattered(t, b, heavy, elems, line, putFast[E], countFast[E])
					loop := scattered(t, b, heavy, elems, line, putLoop[E], countLoop[E])
					for i := range fast {
						if !slices.Equal(fast[i], loop[i]) {
							t.Fatalf("bucket %d: %d elements, want %d", i, len(fast[i]), len(loop[i]))
						}
					}
					checkBuckets(t, b, heavy, elems, fast)
				}
			}
		})
	}
}

// TestNumberTwins holds the numbers of buckets, of eight elements at once and of one after the other, to their definition.
func TestNumberTwins(t *testing.T) {
	t.Run("u32", testNumberTwins[uint32])
	t.Run("u64", testNumberTwins[uint64])
}

func testNumberTwins[E element](t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	for _, n := range []int{0, 1, 7, 8, 9, 16, 1000} {
		for range 10 { // other ranges
			eachCut(t, r, n, func(t *testing.T, b buckets[E], elems []E) {
				want := numbered(&b, elems)
				loop, all := make([]uint32, n+1), make([]uint32, n+1)
				loop[n], all[n] = 77, 77
				numberLoop(&b, loop[:n], elems)
				b.number(all[:n], elems)
				if !slices.Equal(loop, append(want, 77)) || !slices.Equal(all, loop) {
					t.Fatalf("%d elements: their buckets are %v and %v, want %v", n, loop, all, want)
				}
			})
		}
	}
}

// eachCut cuts random ranges into plain and fitted buckets and tests with n elements in and around them.
func eachCut[E element](t *testing.T, r *rand.Rand, n int, test func(t *testing.T, b buckets[E], elems []E)) {
	for _, count := range []int{1, 2, 7, 64, maxBuckets} {
		low, high := E(r.Uint64()), E(r.Uint64())
		low, high = min(low, high), max(low, high)
		tieBits := uint(r.IntN(8))
		center := low + (high-low)/3
		plain := newBuckets(low, high, count, tieBits)
		all := map[string]buckets[E]{"plain": plain}
		if count >= fewestFitted {
			sample := dense(r, low, high, center)
			from := (center - plain.low) >> tieBits << tieBits
			all["even"] = plain.fit(sample, high, count, tieBits, grading{})
			all["graded"] = plain.fit(sample, high, count, tieBits, gradingAround(uint64(from), uint64(high-plain.low), tieBits))
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

// someHeavies makes about half of elems equal to a few of them, which it gives.
func someHeavies[E element](r *rand.Rand, b buckets[E], elems []E) *heavies[E] {
	h := &heavies[E]{slots: make([]uint16, b.count()), perBucket: make([]uint64, b.count())}
	h.perBucket[0] = uint64(^E(0))
	for i := range min(len(elems), 20) {
		if slot := &h.slots[b.of(elems[i])]; *slot == 0 {
			h.values = append(h.values, elems[i])
			*slot = uint16(len(h.values))
			h.perBucket[b.of(elems[i])] = uint64(elems[i])
		}
	}
	for i := range elems {
		if r.IntN(2) == 0 {
			elems[i] = h.values[r.IntN(len(h.values))]
		}
	}
	return h
}

// scattered is the content of the buckets that the given inner loops fill by lines of so many bytes, with what was counted after
// the rest.
func scattered[E element](t *testing.T, b buckets[E], heavy *heavies[E], elems []E, line int,
	put func(*combiner[E], []E, []uint32) (int, int), count func(*scatterer[E], []E, []uint32) (int, int)) [][]E {
	s := sizes{element: int(lastBit[E]()+1) / 8, block: 128, blocks: len(elems)/128 + b.count() + 1}
	p, err := newPool[E](&s)
	if err != nil {
		t.Fatal(err)
	}
	defer p.memory.Free()
	memory, err := arena.Alloc(2 * maxBuckets * (line + 28))
	if err != nil {
		t.Fatal(err)
	}
	defer memory.Free()
	sc, _ := newScatterer(p, memory.Bytes(), b.count(), line)
	sc.reset(b.count(), 0, len(p.zones))
	sc.countHeavy(heavy)
	numbers := numbered(&b, elems)
	for at := 0; at < len(elems); {
		end := min(at+numbersAtMost, len(elems))
		done, full := 0, 0
		if heavy == nil {
			done, full = put(&sc.combiner, elems[at:end], numbers[at:end])
		} else {
			done, full = count(sc, elems[at:end], numbers[at:end])
		}
		if full >= 0 {
			sc.flush(full)
		}
		at += done
	}
	sc.finish()
	content := make([][]E, b.count())
	for i := range content {
		content[i] = p.gather(make([]E, len(elems)), sc.lists[i])
		value, count := sc.countOf(i)
		content[i] = append(content[i], slices.Repeat([]E{value}, int(count))...)
	}
	return content
}

// numbered gives the buckets of elems by their definition.
func numbered[E element](b *buckets[E], elems []E) []uint32 {
	numbers := make([]uint32, len(elems))
	for i, e := range elems {
		numbers[i] = uint32(b.of(e))
	}
	return numbers
}

// TestCountersAreEmptied has more elements come than the counters hold.
func TestCountersAreEmptied(t *testing.T) {
	s := sizes{element: 8, block: 64, blocks: 20}
	p, err := newPool[uint64](&s)
	if err != nil {
		t.Fatal(err)
	}
	defer p.memory.Free()
	memory := make([]byte, 1<<16)
	sc, _ := newScatterer(p, memory, 4, lineBytes)
	b := newBuckets[uint64](0, 1<<20-1, 4, 0)
	elems := slices.Repeat([]uint64{7, 1 << 19, 7, 8}, 100)
	sc.reset(b.count(), 0, len(p.zones))
	sc.countHeavy(heaviesOf([]uint64{7, 7, 7, 7, 7, 7, 7, 7}, b, 4))
	for i := range 3 {
		sc.counted = countedAtMost
		sc.add(&b, elems)
		if due := int64(200 * i); sc.counts[0] != due {
			t.Errorf("%d came before, want %d", sc.counts[0], due)
		}
	}
	sc.finish()
	if value, count := sc.countOf(b.of(7)); value != 7 || count != 600 {
		t.Errorf("%d came %d times, want 7 and 600", value, count)
	}
	if rest := p.count(sc.lists[0]); rest != 300 {
		t.Errorf("%d others are in its bucket, want 300", rest)
	}
}

// dense has elements from low to high on both sides of a center: as many at each of several distances, each half of the
// one before.
func dense[E element](r *rand.Rand, low, high, center E) []E {
	sample := make([]E, 10_000)
	for i := range sample {
		away := E(r.Uint64()) >> r.IntN(int(lastBit[E]()))
		if sample[i] = center + min(away, high-center); i%2 == 0 {
			sample[i] = center - min(away, center-low)
		}
	}
	return sample
}

func checkBuckets[E element](t *testing.T, b buckets[E], heavy *heavies[E], elems []E, content [][]E) {
	want := make([][]E, b.count())
	for _, counted := range []bool{false, true} {
		for _, e := range elems {
			d := b.of(e)
			if isHeavy := heavy != nil && heavy.slots[d] > 0 && heavy.values[heavy.slots[d]-1] == e; isHeavy == counted {
				want[d] = append(want[d], e)
			}
		}
	}
	for i := range want {
		if !slices.Equal(want[i], content[i]) {
			t.Fatalf("bucket %d holds %v, want %v", i, content[i], want[i])
		}
		for _, e := range want[i] {
			if low, high := b.span(i, 0, ^E(0)); e < low || e > high {
				t.Fatalf("bucket %d holds %d, outside of its span %d to %d", i, e, low, high)
			}
		}
	}
}

func TestCutAt(t *testing.T) {
	for _, value := range []uint64{0, 1, 2, 3, 77, 1 << 40, 1<<63 - 1, 1 << 63, 1<<63 + 1, ^uint64(0) - 1, ^uint64(0)} {
		b := cutAt(value)
		for _, e := range []uint64{0, 1, value - 1, value - 2, value + 1, value / 2, value + value/2, ^uint64(0)} {
			if e != value && b.count() == 2 && (b.of(e) == 1) != (e > value) {
				t.Errorf("cut at %d: %d is in bucket %d", value, e, b.of(e))
			}
		}
	}
}

func TestPack(t *testing.T) {
	s := sizes{element: 8, block: 16, blocks: 100}
	p, err := newPool[uint64](&s)
	if err != nil {
		t.Fatal(err)
	}
	defer p.memory.Free()
	r := rand.New(rand.NewPCG(5, 6))
	l, want := emptyList, []uint64(nil)
	for range 90 {
		b := p.take(0)
		p.push(&l, b)
		p.used[b] = uint32(r.IntN(17))
		for i := range p.content(b) {
			p.content(b)[i] = r.Uint64()
		}
		want = append(want, p.content(b)...)
	}
	before := p.available()
	l = p.pack(0, l)
	got := p.gather(make([]uint64, len(want)), l)
	slices.Sort(got)
	slices.Sort(want)
	if !slices.Equal(got, want) {
		t.Fatal("packing changed the elements")
	}
	blocks, partial := 0, 0
	for b := l.head; b != none; b = p.next[b] {
		blocks++
		if int(p.used[b]) < s.block {
			partial++
		}
	}
	if partial > 1 || int(p.available()-before) != 90-blocks {
		t.Errorf("%d of %d blocks are not full, %d are free, %d were", partial, blocks, p.available(), before)
	}
}
