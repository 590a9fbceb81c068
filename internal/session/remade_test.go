package session

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/extsort/extsort/format"
)

// TestIndexesAreEnough checks that more records than a 4-byte index can count are refused before
// anything is read.
func TestIndexesAreEnough(t *testing.T) {
	t.Parallel()
	name := filepath.Join(t.TempDir(), "large")
	if err := os.WriteFile(name, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(name, 1<<32+1); err != nil {
		t.Skip(err)
	}
	opt := Options{Record: format.Spec{Type: "u8"}, Argsort: "u32", Inputs: []string{name}}
	if _, err := Plan(t.Context(), opt); err == nil || !strings.Contains(err.Error(), "4294967297 records") {
		t.Errorf("2^32+1 records with indexes of 4 bytes: %v", err)
	}
	opt.Argsort = "u64"
	if _, err := Plan(t.Context(), opt); err != nil {
		t.Error(err)
	}
}

// TestShuffle checks that a seed gives the same order with every strategy, and that another seed
// gives another order.
func TestShuffle(t *testing.T) {
	t.Parallel()
	r := seeded(t)
	for _, spec := range []format.Spec{{Type: "u64"}, {RecordSize: 7}, {RecordSize: 100_000}} {
		size := cmp.Or(spec.RecordSize, 8)
		for _, n := range []int{0, 1, 2, 40, 1500} {
			if size > 1000 {
				n = min(n, 40)
			}
			recs := make([]byte, n*size)
			for i := range n {
				binary.LittleEndian.PutUint32(recs[i*size:], uint32(i))
			}
			opt := Options{Record: spec, Shuffle: true, Seed: r.Uint64()}
			opt.Inputs = []string{writeFile(t, recs)}
			want, _, err := sortToBytes(t, opt)
			if err != nil || !bytes.Equal(recordsInOrder(want, size), recs) {
				t.Fatalf("%d records of %d bytes are not the same: %v", n, size, err)
			}
			for range effort(6) {
				again := opt
				if again.Workers = 1; size < 1000 {
					again = variant(opt, size+8, r)
				}
				again.Inputs, again.Verify = nil, false
				again = withInputs(t, again, recs, size, r)
				got, _, err := sortToBytes(t, again)
				if err != nil || !bytes.Equal(got, want) {
					t.Fatalf("%s: %d records of %d bytes have another order: %v", describe(again), n, size, err)
				}
			}
			opt.Seed, opt.Inputs = opt.Seed+1, []string{writeFile(t, recs)}
			if other, _, err := sortToBytes(t, opt); err != nil || n > 20 && bytes.Equal(other, want) {
				t.Fatalf("another seed gives the same order: %v", err)
			}
		}
	}
}

// recordsInOrder sorts records by their first 4 bytes.
func recordsInOrder(recs []byte, size int) []byte {
	all := slices.Collect(slices.Chunk(recs, size))
	slices.SortFunc(all, func(a, b []byte) int {
		return int(binary.LittleEndian.Uint32(a)) - int(binary.LittleEndian.Uint32(b))
	})
	return slices.Concat(all...)
}

// TestArgsortOfLargeInput runs an argsort of an input that is large enough for a trial read. Its
// records are larger than a key with its index.
func TestArgsortOfLargeInput(t *testing.T) {
	t.Parallel()
	k := plainKinds[3]
	recs := k.make(400_000, 1<<20, seeded(t))
	at, _ := k.selected(recs, Options{})
	var want []byte
	for _, p := range at {
		want = binary.LittleEndian.AppendUint32(want, uint32(p))
	}
	opt := Options{Record: k.spec, Argsort: "u32", Inputs: []string{writeFile(t, recs)}}
	opt.faults.chunkRecords = 100_000
	if _, err := Plan(t.Context(), opt); err != nil {
		t.Fatal(err)
	}
	got, _, err := sortToBytes(t, opt)
	if err != nil || !bytes.Equal(got, want) {
		t.Errorf("%d bytes, %d are due: %v", len(got), len(want), err)
	}
}
