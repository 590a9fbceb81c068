package merge

import (
	"bytes"
	"context"
	"encoding/binary"
	"math/rand/v2"
	"sync/atomic"
	"testing"

	"github.com/extsort/extsort/device"
	"github.com/extsort/extsort/format"
	"github.com/extsort/extsort/format/formattest"
	"github.com/extsort/extsort/merge/output"
)

// TestUniqueOfMerge writes the output of a parallel merge through all filters.
func TestUniqueOfMerge(t *testing.T) {
	l := formattest.Fields(t, 16, "0:u16")
	k := formattest.KeyerOf(t, l)
	for _, shape := range shapes {
		rng := rand.New(rand.NewPCG(7, 7))
		runs, all := sortedParts(k, parts(l, shape.fill, 7, 1500, rng))
		var want []byte
		for at := 0; at < len(all); at += 16 {
			if at == 0 || k.Compare(all[at-16:at], all[at:at+16]) != 0 {
				want = append(want, all[at:at+16]...)
			}
		}
		limit := int64(len(want)/16 - len(want)/160)
		out := newCollector(k, 1<<20)
		var distinct, seen atomic.Int64
		count := func(records *atomic.Int64, next device.BlockWriter) device.BlockWriter {
			return output.Observe(func(_ int64, recs []byte) error {
				records.Add(int64(len(recs) / 16))
				return nil
			}, next)
		}
		unique := output.NewGroups(k, output.GroupForm{}, count(&distinct, output.Clip(0, limit, count(&seen, out), 16)))
		opt := Options{Keyer: k, Workers: 4, BlockBytes: 160, Limit: -1}
		if err := Merge(context.Background(), opt, memoryRuns(k, runs, 30), unique); err != nil {
			t.Fatal(err)
		}
		if distinct.Load() != int64(len(want)/16) || seen.Load() != limit {
			t.Errorf("%s: %d distinct keys, %d seen, want %d, %d",
				shape.name, distinct.Load(), seen.Load(), len(want)/16, limit)
		}
		if got := out.Written(t); !bytes.Equal(got, want[:limit*16]) {
			t.Errorf("%s: the first of equal records are not what is left", shape.name)
		}
	}
}

// TestUniqueOfStretches has stretches of equal keys and of different keys, longer and shorter
// than the filter examines at once. Their records show which of them was the first, and some keys
// differ only in their last bytes.
func TestUniqueOfStretches(t *testing.T) {
	r := rand.New(rand.NewPCG(8, 8))
	for _, l := range []format.Layout{formattest.Fields(t, 6, "0:u16"), formattest.Fields(t, 24, "0:bytes14")} {
		k, size := formattest.KeyerOf(t, l), l.RecordSize
		var all, want []byte
		for key := uint64(0); len(all) < 40_000*size; key += 1 + r.Uint64N(3) {
			most := []uint64{1, 3, 600, 2000}[r.IntN(4)]
			if len(all) < 3000*size {
				most = 1
			}
			for i := range 1 + r.Uint64N(most) {
				rec := make([]byte, size)
				binary.LittleEndian.PutUint16(rec, uint16(key))
				if size > 16 {
					binary.BigEndian.PutUint64(rec[:8], 0)
					binary.BigEndian.PutUint32(rec[10:14], uint32(key))
				}
				binary.LittleEndian.PutUint32(rec[size-4:], uint32(i))
				if all = append(all, rec...); i == 0 {
					want = append(want, rec...)
				}
			}
		}
		out := newCollector(k, 1<<20)
		unique := output.NewGroups(k, output.GroupForm{}, out)
		for first := 0; first*size < len(all); {
			n := min(1+r.IntN(5000), len(all)/size-first)
			if err := unique.WriteBlock(t.Context(), int64(first), all[first*size:(first+n)*size]); err != nil {
				t.Fatal(err)
			}
			first += n
		}
		if got := out.Written(t); !bytes.Equal(got, want) {
			t.Errorf("%v: %d records are left of %d, or not the first of each key, want %d",
				l, len(got)/size, len(all)/size, len(want)/size)
		}
	}
}

func TestOffsetConcatenates(t *testing.T) {
	out := newCollector(formattest.KeyerOf(t, formattest.Bare(t, "u8")), 9)
	base := int64(0)
	for _, part := range []string{"ab", "cde", "f"} {
		if err := output.Offset(base, out).WriteBlock(t.Context(), 0, []byte(part)); err != nil {
			t.Fatal(err)
		}
		base += int64(len(part))
	}
	if got := string(out.Written(t)); got != "abcdef" {
		t.Errorf("parts were appended to %q", got)
	}
}
