package session

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"slices"
	"sort"
	"testing"

	"github.com/extsort/extsort/format"
)

// A plainKind is a kind of record that the test can sort without extsort's code.
type plainKind struct {
	name string
	spec format.Spec
	size int
	cmp  func(a, b []byte) int
}

var plainKinds = []plainKind{
	{"u8", format.Spec{Type: "u8"}, 1, bytes.Compare},
	{"u64", format.Spec{Type: "u64"}, 8, func(a, b []byte) int {
		return cmp.Compare(binary.LittleEndian.Uint64(a), binary.LittleEndian.Uint64(b))
	}},
	{"11 bytes", format.Spec{RecordSize: 11, Keys: []string{"3:u32be"}}, 11, func(a, b []byte) int {
		return bytes.Compare(a[3:7], b[3:7])
	}},
	{"31 bytes, wide", format.Spec{RecordSize: 31, Keys: []string{"2:bytes20"}}, 31, func(a, b []byte) int {
		return bytes.Compare(a[2:22], b[2:22])
	}},
}

// make returns n records with about the given number of distinct keys.
func (k plainKind) make(n, keys int, r *rand.Rand) []byte {
	recs := make([]byte, n*k.size)
	for i := range n {
		rec := recs[i*k.size : (i+1)*k.size]
		for at := range rec {
			// The bytes outside of the key contain the record's position.
			rec[at] = byte(i >> (at % 3 * 8))
		}
		key := fmt.Appendf(nil, "%020d", r.IntN(max(keys, 1)))
		switch k.size {
		case 1:
			rec[0] = byte(r.IntN(max(keys, 1)))
		case 8:
			binary.LittleEndian.PutUint64(rec, uint64(r.IntN(max(keys, 1)))<<33)
		case 11:
			binary.BigEndian.PutUint32(rec[3:], uint32(r.IntN(max(keys, 1))))
		default:
			copy(rec[2:22], key)
		}
	}
	return recs
}

// order returns the positions of the records in sorted order.
func (k plainKind) order(recs []byte, reverse bool) []int {
	at := make([]int, len(recs)/k.size)
	for i := range at {
		at[i] = i
	}
	rec := func(i int) []byte { return recs[at[i]*k.size : (at[i]+1)*k.size] }
	sort.SliceStable(at, func(i, j int) bool {
		c := k.cmp(rec(i), rec(j))
		return c < 0 && !reverse || c > 0 && reverse
	})
	return at
}

// selected returns the positions of the records that opt selects, in output order, and the number
// of equal records for each.
func (k plainKind) selected(recs []byte, opt Options) (at []int, counts []uint64) {
	order := k.order(recs, opt.Reverse)
	for from, to := 0, 0; from < len(order); from = to {
		for to = from + 1; to < len(order) && k.cmp(recs[order[from]*k.size:][:k.size],
			recs[order[to]*k.size:][:k.size]) == 0; {
			to++
		}
		group := order[from:to]
		switch {
		case opt.Duplicates && len(group) == 1:
			continue
		case opt.Keep == "last":
			group = group[len(group)-1:]
		case opt.Unique || opt.Duplicates:
			group = group[:1]
		}
		at = append(at, group...)
		counts = append(counts, slices.Repeat([]uint64{uint64(to - from)}, len(group))...)
	}
	if opt.Limit > 0 {
		n := min(opt.Limit, int64(len(at)))
		at, counts = at[:n], counts[:n]
	}
	return at, counts
}

// want returns the expected output.
func (k plainKind) want(recs []byte, opt Options) []byte {
	out := []byte{}
	at, counts := k.selected(recs, opt)
	for i, p := range at {
		out = append(out, recs[p*k.size:(p+1)*k.size]...)
		if opt.Count {
			out = binary.LittleEndian.AppendUint64(out, counts[i])
		}
	}
	return out
}

// TestMergeGroups merges sorted files, and writes the last record of each key, or one with its
// count, or the first record of keys that occur several times.
func TestMergeGroups(t *testing.T) {
	t.Parallel()
	r := seeded(t)
	forms := []Options{
		{Unique: true, Keep: "last"},
		{Unique: true, Count: true},
		{Duplicates: true},
		{Unique: true, Keep: "last", Count: true},
		{Unique: true, Keep: "first"},
	}
	for _, k := range plainKinds {
		for _, n := range []int{0, 1, 2, 3000} {
			for _, keys := range []int{1, 40, n, 1 << 30} {
				for range effort(3) {
					opt := forms[r.IntN(len(forms))]
					opt.Record = k.spec
					opt.Reverse = r.IntN(2) == 0
					opt.Limit = []int64{0, 0, 1, 30, 2000}[r.IntN(5)]
					checkMergedGroups(t, k, k.make(n, min(keys, 1<<(8*min(k.size, 3))), r), opt, r)
				}
			}
		}
	}
}

// checkMergedGroups merges two files.
func checkMergedGroups(t *testing.T, k plainKind, recs []byte, opt Options, r *rand.Rand) {
	t.Helper()
	want := k.want(recs, opt)
	merging := opt
	merging.Verify = r.IntN(2) == 0
	merging.Workers = 1 + r.IntN(3)
	merging.faults.blockBytes = 7 * k.size
	third := len(recs) / k.size / 3 * k.size
	for _, part := range [][]byte{recs[:third], recs[third:]} {
		sorted := k.want(part, Options{Reverse: opt.Reverse})
		merging.Inputs = append(merging.Inputs, writeFile(t, sorted))
	}
	got, err := mergeToBytes(t, mergeOptions(merging))
	if err != nil || !bytes.Equal(got, want) {
		t.Fatalf("%s, %+v: %d bytes, %d are due, %v", k.name, opt, len(got), len(want), err)
	}
}
