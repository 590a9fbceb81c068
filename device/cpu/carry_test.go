package cpu

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/extsort/extsort/device"
	"github.com/extsort/extsort/device/arena"
	"github.com/extsort/extsort/device/devicetest"
	"github.com/extsort/extsort/format"
)

// TestCarryTwins holds the assembly to what the loop in Go does, and both to the definition of a bucket.
func TestCarryTwins(t *testing.T) {
	t.Run("8", func(t *testing.T) { testCarryTwins(t, func(a, _ uint64) uint64 { return a }) })
	t.Run("16", func(t *testing.T) { testCarryTwins(t, func(a, b uint64) [2]uint64 { return [2]uint64{a, b} }) })
}

func testCarryTwins[R carried](t *testing.T, word func(a, b uint64) R) {
	r := rand.New(rand.NewPCG(3, 4))
	for _, n := range []int{0, 1, 7, 8, 9, 31, 32, 33, 1000, 20_000} {
		for _, count := range []int{1, 2, 7, 64, maxBuckets} {
			low, high := r.Uint64(), r.Uint64()
			low, high = min(low, high), max(low, high)
			center := low + (high-low)/3
			plain := newBuckets(low, high, count, 0)
			all := map[string]buckets[uint64]{"plain": plain}
			if count >= fewestFitted {
				sample := dense(r, low, high, center)
				all["even"] = plain.fit(sample, high, count, 0, grading{})
				all["graded"] = plain.fit(sample, high, count, 0, gradingAround(center-plain.low, high-plain.low, 0))
			}
			for name, b := range all {
				t.Run(fmt.Sprintf("n=%d/buckets=%d/%s", n, count, name), func(t *testing.T) {
					keys := dense(r, low, high, center)[:n/2]
					words, want := []R(nil), make([][]R, b.count())
					for len(keys) < n {
						keys = append(keys, r.Uint64())
					}
					for _, key := range keys {
						w := word(r.Uint64(), r.Uint64())
						words = append(words, w)
						want[b.of(key)] = append(want[b.of(key)], w)
					}
					fast, loop := carriedTo(t, &b, keys, words, carryFast[R]), carriedTo(t, &b, keys, words, carryLoop[R])
					for i := range want {
						if !slices.Equal(fast[i], want[i]) || !slices.Equal(loop[i], want[i]) {
							t.Fatalf("bucket %d: %d and %d words, want %d", i, len(fast[i]), len(loop[i]), len(want[i]))
						}
					}
				})
			}
		}
	}
}

// carriedTo is the content of the buckets that the given loop fills, of which counts is to know the sizes at any time.
func carriedTo[R carried](t *testing.T, b *buckets[uint64], keys []uint64, words []R, loop func(*combiner[R], *buckets[uint64], []uint64, []R) (int, uint64)) [][]R {
	size := len(arena.ByteView(make([]R, 1)))
	s := sizes{element: size, block: 32, blocks: len(keys)/32 + b.count() + 1}
	p, err := newPool[R](&s)
	if err != nil {
		t.Fatal(err)
	}
	defer p.memory.Free()
	memory, err := arena.Alloc(2 * maxBuckets * (lineBytes + 20))
	if err != nil {
		t.Fatal(err)
	}
	defer memory.Free()
	c, _ := newCombiner(p, memory.Bytes(), b.count())
	c.reset(b.count(), 0, len(p.zones))
	ends, due := make([]uint32, b.count()), make([]uint32, b.count())
	for at := 0; at < len(keys); {
		done, full := loop(&c, b, keys[at:], words[at:])
		if full != none64 {
			c.flushLine(full)
		}
		for _, key := range keys[at : at+done] {
			due[b.of(key)]++
		}
		at += done
		if c.counts(ends); !slices.Equal(ends, due) {
			t.Fatalf("after %d words: the counts are wrong", at)
		}
	}
	c.finish()
	content := make([][]R, b.count())
	for i := range content {
		content[i] = p.gather(make([]R, len(keys)), c.lists[i])
	}
	return content
}

// TestPad moves records of every size to words and back, and writes no byte beyond them.
func TestPad(t *testing.T) {
	for size := 1; size <= carriedMost; size++ {
		if size <= 8 {
			testPad[uint64](t, size)
		} else {
			testPad[[2]uint64](t, size)
		}
	}
}

func testPad[R carried](t *testing.T, size int) {
	for n := range 6 {
		recs := make([]byte, n*size)
		for i := range recs {
			recs[i] = byte(i + 1)
		}
		words := make([]R, n)
		pad(words, recs, size)
		for i := range words {
			if got := arena.ByteView(words[i : i+1])[:size]; !bytes.Equal(got, recs[i*size:(i+1)*size]) {
				t.Errorf("%d records of %d bytes: word %d begins with %x", n, size, i, got)
			}
		}
		back := bytes.Repeat([]byte{0xEE}, n*size+20)
		unpad(back[:n*size], words, size)
		if !bytes.Equal(back[:n*size], recs) || !bytes.Equal(back[n*size:], bytes.Repeat([]byte{0xEE}, 20)) {
			t.Errorf("%d records of %d bytes came back as %x", n, size, back)
		}
	}
}

// TestOrderAdmits has workers read units of any size in any order: there is always room for the stints of those admitted,
// and they are in the order of the input at the end.
func TestOrderAdmits(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 8))
	for range 2000 {
		workers, most := 1+r.IntN(5), 0
		most = 3*workers + 4 + r.IntN(5)
		var o order
		o.reset(make([]uint32, most), 1, workers, most)
		type unit struct{ worker, first, n int }
		reading := make([]*unit, workers)
		open := slices.Repeat([]bool{true}, workers)
		at, units := 0, 1+r.IntN(200)
		for claimed := 0; slices.Contains(open, true); {
			i := r.IntN(workers)
			switch {
			case !open[i]:
			case reading[i] != nil:
				u := reading[i]
				reading[i] = nil
				o.note(i, int64(u.first), int64(u.n))[0]++
			case claimed == units || !o.admit(i):
				open[i] = false
			default:
				claimed++
				reading[i] = &unit{i, at, 1 + r.IntN(3)}
				at += reading[i].n
			}
			if len(o.stints) > most {
				t.Fatalf("%d stints, there is room for %d", len(o.stints), most)
			}
		}
		o.sort()
		end := int64(0)
		for _, s := range o.stints {
			if s.first != end {
				t.Fatalf("a stint begins at %d, the one before ended at %d", s.first, end)
			}
			end = s.end
		}
		if end != int64(at) {
			t.Fatalf("the stints end at %d, %d records were read", end, at)
		}
	}
}

// TestPartsInTurn splits buckets that are too large without a free block: their parts are taken from them in turn.
func TestPartsInTurn(t *testing.T) {
	r := rand.New(rand.NewPCG(9, 10))
	layouts := map[string]format.Layout{
		"pair":  {RecordSize: 8, Key: []format.Field{{Offset: 4, Type: format.Type{Kind: format.Unsigned, Size: 4}}}},
		"rec12": {RecordSize: 12, Key: []format.Field{{Type: format.Type{Kind: format.Float, Size: 8}, Desc: true}}},
		"u128":  layoutOf(t, "u128"), "bytes13": layoutOf(t, "bytes13"),
	}
	for name, l := range layouts {
		for dist, make := range devicetest.Distributions {
			t.Run(name+"/"+dist, func(t *testing.T) {
				recs := make(l, 50_000, r)
				switch c := newChunkOf(t, l, recs).(type) {
				case *carrier[uint64]:
					testPartsInTurn(t, c, l, recs)
				case *carrier[[2]uint64]:
					testPartsInTurn(t, c, l, recs)
				default:
					t.Fatalf("%T does not carry", c)
				}
			})
		}
	}
}

func newChunkOf(t *testing.T, l format.Layout, recs []byte) device.Chunk {
	t.Helper()
	k, err := format.NewKeyer(l)
	if err != nil {
		t.Fatal(err)
	}
	c, err := New().NewChunk(t.Context(), device.ChunkOptions{
		Keyer: k, Records: int64(len(recs) / l.RecordSize), BlockBytes: 1000 * l.RecordSize, Workers: 3,
	})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func testPartsInTurn[R carried](t *testing.T, c *carrier[R], l format.Layout, recs []byte) {
	defer c.Close()
	c.leaf = 700 // of 50,000
	if _, err := c.Load(t.Context(), &devicetest.Source{Recs: recs, Size: c.record}); err != nil {
		t.Fatal(err)
	}
	inTurn := 0
	for i := len(c.leaves) - 1; i >= 0; i-- {
		if c.leaves[i].count > int64(c.leaf) {
			parts := c.split(c.workers[0], c.leaves[i], 0)
			c.leaves = slices.Replace(c.leaves, i, i+1, parts...)
			inTurn += len(parts)
		}
	}
	for _, limit := range []int64{-1, 12_345} {
		w := devicetest.Collector{Size: c.record}
		if err := c.Store(t.Context(), limit, &w); err != nil {
			t.Fatal(err)
		}
		want := devicetest.Sorted(l, recs)
		if limit >= 0 {
			want = want[:limit*int64(c.record)]
		}
		if got, err := w.Recs(); err != nil || !bytes.Equal(got, want) {
			t.Errorf("limit %d, %d parts: not sorted: %v", limit, inTurn, err)
		}
	}
	if inTurn == 0 {
		t.Error("no bucket was too large")
	}
}
