package session

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/extsort/extsort/format"
)

// TestTop compares the most frequent keys with those of a map, for random records that are sorted in
// memory, in runs and from a pipe.
func TestTop(t *testing.T) {
	t.Parallel()
	r := seeded(t)
	for range effort(60) {
		const size = 11
		n := r.IntN(3) * r.IntN(2000)
		keys := 1 + r.IntN([]int{8, max(n, 1)}[r.IntN(2)]) // few keys are counted early
		counts := map[uint16]uint64{}
		recs := make([]byte, n*size)
		for at := 0; at < len(recs); at += size {
			key := uint16(r.IntN(keys))
			counts[key]++
			recs[at] = byte(at)
			binary.BigEndian.PutUint16(recs[at+3:], key)
		}
		reverse := r.IntN(2) == 0
		want := slices.Collect(maps.Keys(counts))
		slices.SortFunc(want, func(a, b uint16) int {
			byKey := cmp.Compare(a, b)
			if reverse {
				byKey = -byKey
			}
			return cmp.Or(cmp.Compare(counts[b], counts[a]), byKey)
		})
		most := r.IntN(3) * r.IntN(40)
		want = want[:min(most, len(want))]

		opt := Options{
			Record:      format.Spec{RecordSize: size, Keys: []string{"3:u16be"}},
			Reverse:     reverse,
			MemoryBytes: 64 << 20,
			TempDirs:    []string{t.TempDir()},
			Stdin:       bytes.NewReader(recs),
		}
		opt.faults.chunkRecords = []int64{0, 100}[r.IntN(2)]
		opt.faults.blockBytes = 20 * size
		if r.IntN(2) == 0 {
			opt.Inputs = []string{writeFile(t, recs)}
			opt.Strategy = []Strategy{Auto, MergeRuns, Partition, Tally}[r.IntN(4)]
		}
		top, err := Top(t.Context(), opt, int64(most))
		if err != nil {
			t.Fatal(err)
		}
		var due []byte
		for _, key := range want {
			due = binary.BigEndian.AppendUint16(due, key)
			due = binary.LittleEndian.AppendUint64(due, counts[key])
		}
		if !bytes.Equal(top.Records, due) || top.RecordSize != 10 || top.RecordsOut != int64(len(counts)) {
			t.Fatalf("%d records, %d keys, the top %d: %x, want %x", n, len(counts), most, top.Records, due)
		}
	}
}

// TestTopColumns checks the names of the columns, and that formats without room for counts work.
func TestTopColumns(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		spec  format.Spec
		recs  string
		names string
	}{
		{format.Spec{Type: "u8"}, "aab", "value count"},
		{format.Spec{RecordSize: 2, Keys: []string{"1:u8", "0:u8"}}, "aabb", "byte1 byte0 count"},
		{format.Spec{Fields: "a=u8 count=u8", Keys: []string{"count", "a"}}, "aabb", "count a records"},
		{format.Spec{Format: "sosd", Type: "u32"}, "\x01\x00\x00\x00\x00\x00\x00\x00abcd", "value count"},
	} {
		top, err := Top(t.Context(), Options{Record: c.spec, Stdin: strings.NewReader(c.recs)}, 2)
		if err != nil {
			t.Errorf("%+v: %v", c.spec, err)
			continue
		}
		var names []string
		offset := 0
		for _, column := range top.Columns {
			names = append(names, column.Name)
			if column.Offset != offset {
				t.Errorf("%+v: column %s begins at byte %d", c.spec, column.Name, column.Offset)
			}
			offset += column.Type.Size
		}
		if got := strings.Join(names, " "); got != c.names {
			t.Errorf("%+v: the columns are %s, want %s", c.spec, got, c.names)
		}
	}

	_, err := Top(t.Context(), Options{Record: format.Spec{Type: "u8"}, Stdin: strings.NewReader("a"),
		MemoryBytes: MinMemory}, 1<<40)
	if err == nil || !strings.Contains(err.Error(), "keys fit in memory: raise Options.MemoryBytes or lower") {
		t.Errorf("too many keys: %v", err)
	}
}
