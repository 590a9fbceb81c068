package chunker

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/extsort/extsort/chunker/plan"
	"github.com/extsort/extsort/format"
	"github.com/extsort/extsort/format/formattest"
)

// groupsOf returns the records with each key, in the order of recs.
func groupsOf(k *format.Keyer, recs []byte) map[string][]byte {
	groups := map[string][]byte{}
	for rec := range slices.Chunk(recs, k.Layout().RecordSize) {
		key := string(k.Append(nil, rec))
		groups[key] = append(groups[key], rec...)
	}
	return groups
}

// TestScatterCombines compares the results of all records of each key with those of the records in
// the partitions, which must be fewer if there are few keys.
func TestScatterCombines(t *testing.T) {
	r := formattest.Random(t)
	for _, spec := range []format.Spec{
		{RecordSize: 16, Keys: []string{"0:u32"}},
		{RecordSize: 21, Keys: []string{"2:bytes12"}},
	} {
		k := formattest.Keyer(t, spec)
		size := k.Layout().RecordSize
		header := formattest.Header(t, spec)
		last := fmt.Sprintf("%d:", size-1)
		g, err := format.NewAggregation(format.Aggregates{
			Sum: []string{last + "i8"}, // does not fit if there are many records
			Min: []string{fmt.Sprintf("%d:u8", size-2)},
		}, header, k, r.IntN(2) == 0)
		if err != nil {
			t.Fatal(err)
		}
		for _, distinct := range []int{1, 30, 3000, 1 << 30} {
			recs := make([]byte, size*r.IntN(40_000))
			for at := 0; at < len(recs); at += size {
				key := uint32(r.IntN(distinct)) * 0x9e3779b1
				binary.LittleEndian.PutUint32(recs[at:], key)
				binary.BigEndian.PutUint32(recs[at+size-8:], uint32(at))
				recs[at+size-1] = byte(r.IntN(3))
				if size > 16 { // equal prefixes
					copy(recs[at:], "..prefix")
					binary.BigEndian.PutUint32(recs[at+10:], key)
				}
			}
			keys := make([]uint64, len(recs)/size)
			k.Prefixes(keys, recs)
			slices.Sort(keys)
			opt := plan.Scatter{
				Workers:    1 + r.IntN(3),
				BlockBytes: size * (1 + r.IntN(3000)),
				UnitBytes:  1 << 12,
			}
			data := openData(t, spec, []string{writeFile(t, recs)}, nil)
			made, err := ScatterCombined(t.Context(), g, data, NewClassifier(keys, 6), newTestSpill(t, spec, nil), opt)
			if err != nil {
				t.Fatal(err)
			}
			var results []byte
			for _, partition := range made {
				results = append(results, readPartition(t, partition, size)...)
			}
			checkCombined(t, g, recs, results)
			if distinct <= 30 && len(recs) > 100*opt.BlockBytes && opt.BlockBytes > 1000*size && len(results) > len(recs)/2 {
				t.Errorf("%d keys: %d bytes are left of %d", distinct, len(results), len(recs))
			}
		}
	}
}

func checkCombined(t *testing.T, g *format.Aggregation, recs, results []byte) {
	t.Helper()
	want := groupsOf(g.Keyer(), recs)
	got := groupsOf(g.Keyer(), results)
	if len(got) != len(want) {
		t.Fatalf("%d keys, want %d", len(got), len(want))
	}
	fold := g.NewFold()
	resultOf := func(group []byte) []byte {
		fold.Reset()
		fold.Add(group)
		result, _ := fold.AppendResult(nil) // the total may be too large
		return result
	}
	for key, group := range want {
		if !bytes.Equal(resultOf(got[key]), resultOf(group)) {
			t.Fatalf("key %x: %x, want %x", key, resultOf(got[key]), resultOf(group))
		}
	}
}

// TestCombinerGivesUp checks that the search ends if all keys have the same hash, and that buffers
// without equal keys are skipped.
func TestCombinerGivesUp(t *testing.T) {
	k := formattest.Keyer(t, words)
	header := formattest.Header(t, words)
	g, err := format.NewAggregation(format.Aggregates{}, header, k, false)
	if err != nil {
		t.Fatal(err)
	}
	const inverse = 0xf1de83e19937733d // of the multiplier of the hash, modulo 2^64
	for name, next := range map[string]func(i uint64) uint64{
		"the same hash":  func(i uint64) uint64 { return i*inverse ^ i*inverse>>32 },
		"different keys": func(uint64) uint64 { return rand.Uint64() },
	} {
		c := newCombiner(g)
		var recs []byte
		for i := range uint64(3 * plan.CombinedRecords) {
			recs = binary.LittleEndian.AppendUint64(recs, next(i))
		}
		for range 100 {
			if got := c.combine(slices.Clone(recs)); !bytes.Equal(got, recs) {
				t.Fatalf("%s: the records changed", name)
			}
		}
		if c.pause != maxPause {
			t.Errorf("%s: %d of 100 buffers were skipped after the last one, want %d", name, c.pause, maxPause)
		}
	}
}
