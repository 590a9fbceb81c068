package cpu

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/extsort/extsort/device"
	"github.com/extsort/extsort/device/devicetest"
	"github.com/extsort/extsort/format"
	"github.com/extsort/extsort/format/formattest"
)

// TestMajorityKeys sorts keys with many equal ones in every way: counted, split from large
// leaves, and kept in memory.
func TestMajorityKeys(t *testing.T) {
	const n = 600_000
	more := 8
	if testing.Short() {
		more = 64
	}
	for _, name := range []string{"u64", "u32"} {
		l := formattest.Bare(t, name)
		k := formattest.KeyerOf(t, l)
		for values := 1; values <= 4096; values *= more {
			t.Run(fmt.Sprintf("%s/values=%d", name, values), func(t *testing.T) {
				recs := majorityRecords(l, n, values)
				opt := device.ChunkOptions{Keyer: k, Records: n, BlockBytes: 64 << 10, Workers: 6,
					Sample: devicetest.Sampled(l, recs, 10_000)}
				made := openChunk(t, opt)
				want := devicetest.Sorted(l, recs)
				counted := 0
				check := func(how string, store func(w device.BlockWriter) error) {
					t.Helper()
					if _, err := made.Load(t.Context(), &devicetest.Source{Recs: recs, Size: l.RecordSize}); err != nil {
						t.Fatal(err)
					}
					counted = max(counted, countedIn(made))
					if err := made.Sort(t.Context()); err != nil {
						t.Fatal(err)
					}
					w := devicetest.Collector{Size: l.RecordSize}
					err := store(&w)
					if got, wrong := w.Recs(); err != nil || wrong != nil || !bytes.Equal(got, want) {
						t.Fatalf("%s: not sorted: %v, %v", how, err, wrong)
					}
				}
				check("store", func(w device.BlockWriter) error { return made.Store(t.Context(), -1, false, w) })
				check("keep", func(w device.BlockWriter) error {
					retained, err := made.Retain(t.Context(), -1, 1<<30)
					if err != nil {
						return err
					}
					for i, b := range retained.Blocks {
						block, err := retained.Read(i, make([]byte, b.Records*l.RecordSize))
						if err != nil {
							return err
						}
						if err := w.WriteBlock(t.Context(), b.First, block); err != nil {
							return err
						}
					}
					return nil
				})
				if values <= 64 && counted < n/3 {
					t.Errorf("%d of %d records were counted", counted, n)
				}
			})
		}
	}
}

// majorityRecords returns n records. Half of them take one of a few values, with different
// frequencies.
func majorityRecords(l format.Layout, n, values int) []byte {
	r := rand.New(rand.NewPCG(uint64(values), 24))
	recs := devicetest.Distributions["uniform"](l, n, r)
	common := devicetest.Distributions["uniform"](l, values, r)
	size := l.RecordSize
	for i := range n {
		if r.IntN(2) == 0 {
			at := r.IntN(1 + r.IntN(values))
			copy(recs[i*size:(i+1)*size], common[at*size:])
		}
	}
	return recs
}

// countedIn is how many elements of a chunk are in no block.
func countedIn(made device.Chunk) (n int) {
	switch c := made.(type) {
	case *elementPipeline[uint32]:
		for _, l := range c.leaves {
			n += int(l.majorityCount)
		}
	case *elementPipeline[uint64]:
		for _, l := range c.leaves {
			n += int(l.majorityCount)
		}
	}
	return n
}

// TestMajorityKeysAreCounted checks that equal bare keys are counted, and that no key of a previous
// Load is counted.
func TestMajorityKeysAreCounted(t *testing.T) {
	r := rand.New(rand.NewPCG(61, 62))
	for _, name := range []string{"u64", "u32", "bytes12", "bytes20"} {
		l := formattest.Bare(t, name)
		c := zoned(t, l, make([]byte, 100_000*l.RecordSize), 5)
		for _, dist := range []string{"equal", "uniform"} {
			recs := devicetest.Distributions[dist](l, 100_000, r)
			if _, err := c.Load(t.Context(), &devicetest.Source{Recs: recs, Size: l.RecordSize}); err != nil {
				t.Fatal(err)
			}
			want := 0
			if bare := l.RecordSize <= 8; bare && dist == "equal" {
				want = 100_000
			}
			if got := countedIn(c.Chunk); got != want {
				t.Errorf("%s, %s: %d of 100000 records were counted, want %d", name, dist, got, want)
			}
		}
	}
}
