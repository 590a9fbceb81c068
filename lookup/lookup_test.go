package lookup_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/extsort/extsort"
	"github.com/extsort/extsort/internal/testfiles"
	"github.com/extsort/extsort/lookup"
)

func open(t *testing.T, source lookup.Source) *lookup.Table {
	t.Helper()
	table, err := lookup.Open(t.Context(), source)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := table.Close(); err != nil {
			t.Error(err)
		}
	})
	return table
}

// numbers returns 3·i for i from 0 to n-1.
func numbers(n int) (data []byte) {
	for i := range n {
		data = binary.LittleEndian.AppendUint64(data, uint64(3*i))
	}
	return data
}

// TestSources opens a file, and the same bytes as an io.ReaderAt, with and without an index.
func TestSources(t *testing.T) {
	const n = 100_000
	data := numbers(n)
	source := lookup.Source{Path: testfiles.Temp(t, "in", data), Record: extsort.Record{Type: extsort.U64}}
	reader := lookup.Source{
		ReaderAt: bytes.NewReader(data),
		Size:     int64(len(data)),
		Version:  "1",
		Record:   source.Record,
	}
	index := filepath.Join(t.TempDir(), "reader.idx")
	if err := lookup.WriteIndex(t.Context(), reader, index); err != nil {
		t.Fatal(err)
	}
	withIndex := reader
	withIndex.Index = index
	tables := []*lookup.Table{open(t, source), open(t, reader), open(t, withIndex)}
	if err := lookup.WriteIndex(t.Context(), source, ""); err != nil {
		t.Fatal(err)
	}
	tables = append(tables, open(t, source))

	for i, table := range tables {
		if table.Len() != n {
			t.Errorf("table %d has %d records", i, table.Len())
		}
		for value, want := range map[uint64]lookup.Range{
			0: {0, 1}, 1: {1, 1}, 3 * 70_000: {70_000, 70_001}, 3*n - 3: {n - 1, n}, 3 * n: {n, n}, math.MaxUint64: {n, n},
		} {
			key, err := table.Key(value)
			if err != nil {
				t.Fatal(err)
			}
			if got, err := table.Find(key); err != nil || got != want {
				t.Errorf("table %d, %d: %v, %v, want %v", i, value, got, err, want)
			}
		}
	}

	withIndex.Version = "2"
	_, err := lookup.Open(t.Context(), withIndex)
	var stale *lookup.IndexError
	if !errors.As(err, &stale) || !stale.Stale || stale.Path != index {
		t.Errorf("an index of another version: %v", err)
	}
	testfiles.Write(t, index, data)
	_, err = lookup.Open(t.Context(), withIndex)
	if !errors.As(err, &stale) || stale.Stale {
		t.Errorf("a file that is not an index: %v", err)
	}
}

// TestKeys makes keys of Go values, and compares them with the keys of records.
func TestKeys(t *testing.T) {
	when := time.Date(2026, 11, 27, 12, 45, 0, 250e6, time.UTC)
	for _, c := range []struct {
		record extsort.Record
		values []any
		bytes  []byte
	}{
		{extsort.Record{Type: "u16be"}, []any{uint8(7)}, []byte{0, 7}},
		{extsort.Record{Type: extsort.I32}, []any{-2}, []byte{0xfe, 0xff, 0xff, 0xff}},
		{extsort.Record{Type: extsort.F64}, []any{float32(0.1)}, bytesOf(float64(float32(0.1)))},
		{extsort.Record{Type: extsort.F64}, []any{0.1}, bytesOf(0.1)},
		{extsort.Record{Type: extsort.F64}, []any{math.Inf(1)}, bytesOf(math.Inf(1))},
		{extsort.Record{Type: extsort.F32}, []any{3}, []byte{0, 0, 0x40, 0x40}},
		{extsort.Record{Type: "time_ms"}, []any{when}, binary.LittleEndian.AppendUint64(nil, uint64(when.UnixMilli()))},
		{extsort.Record{Size: 4}, []any{"0x,"}, []byte("0x,\x00")},
		{extsort.Record{Size: 4}, []any{[]byte{1, 0}}, []byte{1, 0, 0, 0}},
		{extsort.Record{Type: extsort.Bytes(16)}, []any{"00112233-4455-6677-8899-aabbccddeeff"},
			[]byte("\x00\x11\x22\x33\x44\x55\x66\x77\x88\x99\xaa\xbb\xcc\xdd\xee\xff")},
		{extsort.Record{Size: 3, Keys: []extsort.KeyField{
			{Offset: 1, Type: "u16be", Desc: true}, {Offset: 0, Type: extsort.I8}}},
			[]any{258, int64(-1)}, []byte{0xff, 1, 2}},
	} {
		table := open(t, lookup.Source{
			ReaderAt: bytes.NewReader(c.bytes),
			Size:     int64(len(c.bytes)),
			Record:   c.record,
			Raw:      true,
		})
		got, err := table.Key(c.values...)
		if want := table.KeyOf(nil, c.bytes); err != nil || !bytes.Equal(got, want) {
			t.Errorf("%v of %v: %x, %v, want %x", c.values, c.record, got, err, want)
		}
		if record, err := table.Get(got); err != nil || !bytes.Equal(record, c.bytes) {
			t.Errorf("%v of %v: found %x, %v", c.values, c.record, record, err)
		}
	}

	table := open(t, lookup.Source{ReaderAt: strings.NewReader(""), Record: extsort.Record{Type: extsort.U8}})
	for _, values := range [][]any{{}, {1, 2}, {256}, {-1}, {"x"}, {1.5}, {[]byte{1}}, {struct{}{}}, {nil}} {
		if key, err := table.Key(values...); err == nil || !strings.HasPrefix(err.Error(), "lookup: key ") {
			t.Errorf("%v: %x, %v", values, key, err)
		}
	}
	if _, err := table.Prefix("1"); err == nil {
		t.Error("a prefix of a number")
	}
}

func bytesOf(x float64) []byte { return binary.LittleEndian.AppendUint64(nil, math.Float64bits(x)) }

// TestPrefix finds byte strings by their beginning, and by the first of two fields.
func TestPrefix(t *testing.T) {
	data := "aa1ab1ab2b_1"
	record := extsort.Record{Size: 3, Keys: []extsort.KeyField{{Type: extsort.Bytes(2)}, {Offset: 2, Type: extsort.U8}}}
	table := open(t, lookup.Source{ReaderAt: strings.NewReader(data), Size: 12, Record: record})
	for text, want := range map[string]lookup.Range{
		"a": {0, 3}, "ab": {1, 3}, "b": {3, 4}, "c": {4, 4}, "0x6162": {1, 3},
	} {
		key, err := table.Prefix(text)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := table.Find(key); err != nil || got != want {
			t.Errorf("%s: %v, %v, want %v", text, got, err, want)
		}
	}
	key, err := table.Key("ab")
	if err != nil {
		t.Fatal(err)
	}
	if got, err := table.Find(key); err != nil || got != (lookup.Range{First: 1, End: 3}) {
		t.Errorf("the first field: %v, %v", got, err)
	}
}

// TestErrors checks the errors of invalid sources and files.
func TestErrors(t *testing.T) {
	record := extsort.Record{Type: extsort.U64}
	_, err := lookup.Open(t.Context(), lookup.Source{Path: "gone", Record: record})
	if !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a missing file: %v", err)
	}
	for _, source := range []lookup.Source{
		{Record: record},
		{Path: "a", ReaderAt: strings.NewReader(""), Record: record},
		{Path: "a"},
		{Path: "a", Record: extsort.Record{Type: "u65"}},
		{Path: "a", Record: record, HeaderBytes: -1},
		{Path: testfiles.Temp(t, "in", make([]byte, 7)), Record: record},
		{Path: testfiles.Temp(t, "in", make([]byte, 8)), Record: record, Index: "gone"},
	} {
		if table, err := lookup.Open(t.Context(), source); err == nil {
			t.Errorf("%+v: %v", source, table)
		}
	}

	mixed := lookup.Source{Path: testfiles.Temp(t, "in", []byte{1, 5, 3}), Record: extsort.Record{Type: extsort.U8}}
	var disorder *lookup.DisorderError
	err = lookup.WriteIndex(t.Context(), mixed, "")
	if !errors.As(err, &disorder) || disorder.Record != 2 || disorder.After != 1 || disorder.Key != "3" {
		t.Errorf("the index of an unsorted file: %v", err)
	}
	if _, err := os.Stat(mixed.Path + ".idx"); err == nil {
		t.Error("the index of an unsorted file was written")
	}
	sorted := lookup.Source{Path: testfiles.Temp(t, "in", []byte{1, 3, 5}), Record: mixed.Record}
	link := sorted.Path + ".link"
	if err := os.Link(sorted.Path, link); err != nil {
		t.Fatal(err)
	}
	for _, index := range []string{sorted.Path, link} {
		err := lookup.WriteIndex(t.Context(), sorted, index)
		if err == nil || !strings.Contains(err.Error(), "would replace the sorted file") {
			t.Errorf("an index over its file: %v", err)
		}
		if data := testfiles.Read(t, index); !bytes.Equal(data, []byte{1, 3, 5}) {
			t.Errorf("the file is now %q", data)
		}
	}
	table := open(t, mixed)
	long := lookup.Key{1, 2}
	_, findErr := table.Find(long)
	_, getErr := table.Get(long)
	_, fromErr := table.Between(long, nil)
	_, toErr := table.Between(nil, long)
	for _, err = range table.FindAll(t.Context(), slices.Values([]lookup.Key{long})) {
	}
	for _, err := range []error{findErr, getErr, fromErr, toErr, err} {
		if err == nil || !strings.Contains(err.Error(), "key has 2 bytes, but the keys of this table have 1") {
			t.Errorf("a key of another table: %v", err)
		}
	}
	for _, err = range table.Records(t.Context(), lookup.Range{First: 0, End: 3}) {
	}
	if !errors.As(err, &disorder) {
		t.Errorf("records of an unsorted file: %v", err)
	}
	for _, r := range []lookup.Range{{-1, 1}, {2, 1}, {0, 4}} {
		for _, err = range table.Records(t.Context(), r) {
		}
		if err == nil || !strings.Contains(err.Error(), "there are 3") {
			t.Errorf("records %v: %v", r, err)
		}
	}
}

// TestCancelled ends FindAll and Records early.
func TestCancelled(t *testing.T) {
	source := lookup.Source{Path: testfiles.Temp(t, "in", numbers(10)), Record: extsort.Record{Type: extsort.U64}}
	table := open(t, source)
	keys := slices.Repeat([]lookup.Key{make(lookup.Key, 8)}, 3)
	n := 0
	for range table.FindAll(t.Context(), slices.Values(keys)) {
		n++
		break
	}
	for range table.Records(t.Context(), lookup.Range{First: 0, End: 10}) {
		n++
		break
	}
	if n != 2 {
		t.Errorf("%d iterations", n)
	}

	ctx, cancel := context.WithCancelCause(t.Context())
	enough := errors.New("enough")
	cancel(enough)
	for _, err := range table.FindAll(ctx, slices.Values(keys)) {
		if !errors.Is(err, enough) {
			t.Error(err)
		}
	}
	for _, err := range table.Records(ctx, lookup.Range{First: 0, End: 10}) {
		if !errors.Is(err, enough) {
			t.Error(err)
		}
	}
}
