package devicetest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math"
	"sync"
	"testing"

	"github.com/extsort/extsort/device"
	"github.com/extsort/extsort/format"
)

// testRetain reads chunks that keep their records instead of storing them.
func testRetain(t *testing.T, d device.Device) {
	layouts := map[string]format.Layout{
		"u32":     u32,
		"u64":     u64,
		"rec16":   rec16,
		"gensort": records(100, "0:bytes10"),
	}
	for name, l := range layouts {
		for dist, generate := range Distributions {
			t.Run(name+"/"+dist, func(t *testing.T) {
				for _, n := range []int{0, 1, 1023, fewer(30_000)} {
					recs := generate(l, n, random())
					for _, limit := range []int64{-1, 0, 1000} {
						checkRetained(t, d, Case{
							Layout: l,
							Recs:   recs,
							Block:  999 * l.RecordSize,
							Limit:  limit,
						})
					}
				}
			})
		}
	}
}

// checkRetained is Check for a chunk that keeps its records.
func checkRetained(t *testing.T, d device.Device, c Case) {
	t.Helper()
	k := keyer(t, c.Layout)
	chunk := open(t, d, c.options(k))
	defer chunk.Close()
	load(t, chunk, &Source{
		Recs: c.Recs,
		Size: c.Layout.RecordSize,
	}, int64(len(c.Recs)/c.Layout.RecordSize))
	if err := chunk.Sort(context.Background()); err != nil {
		t.Fatal(err)
	}
	if !d.Capabilities(device.ChunkOptions{Keyer: k}).Retains {
		retainNothing(t, chunk)
		t.Skip("the device does not support Retain")
	}
	retained := retain(t, chunk, c.Limit)
	want := Sorted(c.Layout, c.Recs)
	if c.Limit >= 0 {
		want = want[:min(int(c.Limit)*c.Layout.RecordSize, len(want))]
	}
	for range 2 { // reading twice must work
		got, err := readRetained(c.Layout, c.options(nil).BlockBytes, retained)
		if err != nil {
			t.Fatal(err)
		}
		compare(t, got, want, c.Layout.RecordSize)
	}
}

// retainNothing checks that Retain returns nil if the device says that it does not support Retain.
func retainNothing(t testing.TB, chunk device.Chunk) {
	t.Helper()
	if retained, err := chunk.Retain(context.Background(), -1, math.MaxInt64); retained != nil ||
		err != nil {
		t.Fatalf("Retain returned %v, %v, although it is not supported", retained, err)
	}
}

func retain(t testing.TB, chunk device.Chunk, limit int64) *device.Retained {
	t.Helper()
	retained, err := chunk.Retain(context.Background(), limit, math.MaxInt64)
	if err != nil || retained == nil {
		t.Fatalf("keep %d records in any memory: %v, %v", limit, retained, err)
	}
	if refused, err := chunk.Retain(context.Background(), limit, retained.Bytes-1); refused != nil ||
		err != nil {
		t.Fatalf(
			"Retain of %[2]d bytes within a limit of %[1]d: %[3]v, %[4]v",
			retained.Bytes-1,
			retained.Bytes,
			refused,
			err,
		)
	}
	return retained
}

// readRetained reads all blocks at the same time and checks them against the index.
func readRetained(
	l format.Layout,
	blockBytes int,
	retained *device.Retained,
) ([]byte, error) {
	k, err := format.NewKeyer(l)
	if err != nil {
		return nil, err
	}
	total := 0
	for _, b := range retained.Blocks {
		if b.First != int64(total) || b.Records < 1 ||
			b.Records*l.RecordSize > max(blockBytes, l.RecordSize) {
			return nil, fmt.Errorf(
				"block of %d records from %d on: want at most %d bytes from record %d on",
				b.Records,
				b.First,
				blockBytes,
				total,
			)
		}
		total += b.Records
	}
	all := make([]byte, total*l.RecordSize)
	faults := make([]error, len(retained.Blocks))
	var readers sync.WaitGroup
	for i, b := range retained.Blocks {
		readers.Go(func() {
			dst := all[int(b.First)*l.RecordSize:][:b.Records*l.RecordSize]
			recs, err := retained.Read(i, dst)
			if len(recs) != len(dst) {
				faults[i] = errors.Join(
					err,
					fmt.Errorf(
						"block %d has %d bytes, not %d", i, len(recs), len(dst),
					),
				)
				return
			}
			copy(dst, recs)
			key := k.Append(nil, dst[:l.RecordSize])
			if !bytes.Equal(key, b.Key) {
				faults[i] = fmt.Errorf(
					"the index has key %x for block %d, which begins with %x",
					b.Key,
					i,
					key,
				)
			}
		})
	}
	readers.Wait()
	return all, errors.Join(faults...)
}

// testDrain loads and drains a chunk repeatedly.
func testDrain(t *testing.T, d device.Device) {
	n := int64(fewer(300_000))
	for name, l := range map[string]format.Layout{
		"u32":   u32,
		"u64":   u64,
		"rec16": rec16,
	} {
		t.Run(name, func(t *testing.T) {
			c := Case{
				Layout: l,
				Recs:   uniform(l, int(n), random()),
				Limit:  -1,
			}
			chunk := open(t, d, c.options(keyer(t, l)))
			defer chunk.Close()
			for _, dist := range []string{"uniform", "equal", "exponential", "uniform"} {
				c.Recs = Distributions[dist](l, int(n), random())
				want := Sorted(l, c.Recs)
				for _, limit := range []int64{-1, 0, 1234} {
					load(t, chunk, &Source{Recs: c.Recs, Size: l.RecordSize}, n)
					if err := chunk.Sort(context.Background()); err != nil {
						t.Fatal(err)
					}
					w := Collector{Size: l.RecordSize}
					if err := chunk.Store(context.Background(), limit, true, &w); err != nil {
						t.Fatal(err)
					}
					got, err := w.Recs()
					if err != nil {
						t.Fatal(err)
					}
					due := n
					if limit >= 0 {
						due = limit
					}
					compare(
						t,
						got,
						want[:due*int64(l.RecordSize)],
						l.RecordSize,
					)
				}
			}
		})
	}
}

// testRetainReuse stores, keeps and loads in turns, with more records and with fewer.
func testRetainReuse(t *testing.T, d device.Device) {
	for name, l := range map[string]format.Layout{"u64": u64, "rec16": rec16} {
		t.Run(name, func(t *testing.T) {
			c := Case{
				Layout: l,
				Recs:   uniform(l, fewer(300_000), random()),
				Limit:  -1,
			}
			k := keyer(t, l)
			chunk := open(t, d, c.options(k))
			defer chunk.Close()
			if !d.Capabilities(device.ChunkOptions{Keyer: k}).Retains {
				t.Skip("the device does not support Retain")
			}
			for _, n := range []int{fewer(300_000), fewer(77_777), fewer(300_000), 1000} {
				c.Recs = uniform(l, n, random())
				CheckOn(t, chunk, c)
				got, err := readRetained(
					l,
					c.options(nil).BlockBytes,
					retain(t, chunk, -1),
				)
				if err != nil {
					t.Fatal(err)
				}
				compare(t, got, Sorted(l, c.Recs), l.RecordSize)
			}
		})
	}
}
