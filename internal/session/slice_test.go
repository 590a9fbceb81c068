package session

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/extsort/extsort/format"
)

func checkSequence(t *testing.T, name string, data, want []byte, opt Options) {
	t.Helper()
	opt.Stdin = bytes.NewReader(data)
	var got []byte
	for record, err := range Records(t.Context(), opt) {
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		got = append(got, record...)
	}
	if !bytes.Equal(got, want) {
		t.Errorf("%s: Records: %d bytes, want %d", name, len(got), len(want))
	}
}

// TestRecordsOfOtherForm checks that Records can yield records with counts, and indexes in place of
// records.
func TestRecordsOfOtherForm(t *testing.T) {
	t.Parallel()
	for want, opt := range map[string]Options{
		"a\x02\x00\x00\x00\x00\x00\x00\x00b\x01\x00\x00\x00\x00\x00\x00\x00": {Unique: true, Count: true},
		"\x01\x00\x00\x00\x02\x00\x00\x00\x00\x00\x00\x00":                   {Argsort: "u32"},
	} {
		opt.Record = format.Spec{Type: "u8"}
		opt.TempDirs = []string{t.TempDir()}
		opt.MemoryBytes = 64 << 20
		checkSequence(t, opt.Argsort, []byte("baa"), []byte(want), opt)
		got, err := SortSlice(t.Context(), []byte("baa"), opt)
		if err != nil || string(got) != want {
			t.Errorf("SortSlice of argsort %q: %q, %v", opt.Argsort, got, err)
		}
	}
}

// TestRecordsPassHeaders checks that Records does not yield the header of a file.
func TestRecordsPassHeaders(t *testing.T) {
	t.Parallel()
	name := filepath.Join(t.TempDir(), "in")
	data := binary.LittleEndian.AppendUint64(nil, 3)
	for _, key := range []uint32{30, 10, 20} {
		data = binary.LittleEndian.AppendUint32(data, key)
	}
	if err := os.WriteFile(name, data, 0o600); err != nil {
		t.Fatal(err)
	}
	var got []uint32
	opt := Options{Inputs: []string{name}, Record: format.Spec{Format: "sosd", Type: "u32"}}
	for record, err := range Records(t.Context(), opt) {
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, binary.LittleEndian.Uint32(record))
	}
	if !slices.Equal(got, []uint32{10, 20, 30}) {
		t.Errorf("got %v", got)
	}
}

// TestRecordsEnd ends an iteration early: by breaking out of the loop, by cancelling the context,
// and by an error.
func TestRecordsEnd(t *testing.T) {
	data := make([]byte, 8<<20)
	spill := t.TempDir()
	options := func() Options {
		return Options{
			Stdin:    bytes.NewReader(data),
			Record:   format.Spec{Type: "u64"},
			TempDirs: []string{spill},
			Strategy: MergeRuns,
			faults:   faults{chunkRecords: 100_000, blockBytes: 64 << 10},
		}
	}
	seen := 0
	for _, err := range Records(t.Context(), options()) {
		if err != nil {
			t.Fatal(err)
		}
		if seen++; seen == 3 {
			break
		}
	}
	if seen != 3 {
		t.Errorf("%d records before the break", seen)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := lastOf(t, ctx, options()); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
	cut := options()
	cut.Stdin = bytes.NewReader(data[:1<<20+3])
	if _, ok := errors.AsType[*PartialRecordError](lastOf(t, t.Context(), cut)); !ok {
		t.Error("no error of a partial record")
	}
	if err := lastOf(t, t.Context(), Options{Record: format.Spec{Type: "u64"}, Output: "out"}); err == nil {
		t.Error("an output is not refused")
	}
	if _, err := SortSlice(t.Context(), data, Options{Record: format.Spec{Type: "u64"}, Output: "out"}); err == nil {
		t.Error("an output of a slice is not refused")
	}
	if left, err := os.ReadDir(spill); err != nil || len(left) > 0 {
		t.Errorf("left behind: %v %v", left, err)
	}
}

// lastOf returns the error of a sequence. The error must be in the last pair.
func lastOf(t *testing.T, ctx context.Context, opt Options) (last error) {
	t.Helper()
	for record, err := range Records(ctx, opt) {
		if last != nil || err != nil && record != nil {
			t.Errorf("%v, %v after %v", record, err, last)
		}
		last = err
	}
	return last
}
