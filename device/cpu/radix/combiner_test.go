package radix

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/extsort/extsort/device/arena"
	"github.com/extsort/extsort/device/cpu/pool"
)

// TestCombinerTwins compares the assembly with the loop in Go, and both with the definition of a
// bucket.
func TestCombinerTwins(t *testing.T) {
	t.Run("8", func(t *testing.T) { testCombinerTwins(t, func(a, _ uint64) uint64 { return a }) })
	t.Run("16", func(t *testing.T) { testCombinerTwins(t, func(a, b uint64) [2]uint64 { return [2]uint64{a, b} }) })
}

func testCombinerTwins[R arena.Word](t *testing.T, word func(a, b uint64) R) {
	r := rand.New(rand.NewPCG(3, 4))
	for _, n := range []int{0, 1, 7, 8, 9, 31, 32, 33, 1000, 20_000} {
		eachCut(t, r, n, func(t *testing.T, b Buckets[uint64], keys []uint64) {
			words, want := []R(nil), make([][]R, b.Count())
			for _, key := range keys {
				w := word(r.Uint64(), r.Uint64())
				words = append(words, w)
				want[b.BucketOf(key)] = append(want[b.BucketOf(key)], w)
			}
			for _, line := range []int{LineBytes, LongLineBytes} {
				fast := combinedTo(t, &b, keys, words, line, putElements[R])
				loop := combinedTo(t, &b, keys, words, line, putLoop[R])
				for i := range want {
					if !slices.Equal(fast[i], want[i]) || !slices.Equal(loop[i], want[i]) {
						t.Fatalf("bucket %d: %d and %d words, want %d", i, len(fast[i]), len(loop[i]), len(want[i]))
					}
				}
			}
		})
	}
}

// combinedTo returns the content of the buckets that the given loop fills. Counts must report
// their sizes at any time.
func combinedTo[R arena.Word](t *testing.T, b *Buckets[uint64], keys []uint64, words []R, line int,
	put func(*combiner[R], []R, []uint32, []R) (int, int)) [][]R {
	p, err := pool.New[R](len(keys)/64+b.Count()+1, 64, 1)
	if err != nil {
		t.Fatal(err)
	}
	defer p.Memory.Free()
	memory, err := arena.Alloc(2 * MaxBuckets * (line + 28))
	if err != nil {
		t.Fatal(err)
	}
	defer memory.Free()
	c, _ := NewScatterer[uint64](p, memory.Bytes(), b.Count(), line)
	c.Reset(b.Count(), 0, len(p.Zones), 1, nil)
	ends, due := make([]uint32, b.Count()), make([]uint32, b.Count())
	numbers := numbered(b, keys)
	for at := 0; at < len(keys); {
		end := min(at+MaxNumbers, len(keys))
		done, full := put(&c.combiner, words[at:end], numbers[at:end], nil)
		if full >= 0 {
			c.flush(full)
		}
		for _, key := range keys[at : at+done] {
			due[b.BucketOf(key)]++
		}
		at += done
		if c.CopySizes(ends); !slices.Equal(ends, due) {
			t.Fatalf("after %d words: the counts are wrong", at)
		}
	}
	c.Finish()
	content := make([][]R, b.Count())
	for i := range content {
		content[i] = gather(p, make([]R, len(keys)), c.Lists[i])
	}
	return content
}

// gather copies the elements of l to dst and returns them.
func gather[E arena.Word](p *pool.Pool[E], dst []E, l pool.List) []E {
	n := 0
	for b := l.Head; b != pool.None; b = p.Next[b] {
		n += copy(dst[n:], p.Content(b))
	}
	return dst[:n]
}
