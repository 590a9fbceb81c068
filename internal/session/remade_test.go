package session

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/extsort/extsort/format"
	"github.com/extsort/extsort/internal/sorttest"
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

// TestArgsortOfLargeInput runs an argsort of an input that is large enough for a trial read. Its
// records are larger than a key with its index.
func TestArgsortOfLargeInput(t *testing.T) {
	t.Parallel()
	k := kind{spec: format.Spec{RecordSize: 31, Keys: []string{"2:bytes20"}}}
	recs := k.make(t, "few", 400_000, seeded(t))
	want := sorttest.NewReference(k.layout(t), recs, sorttest.Selection{ArgsortBytes: 4}).Bytes
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
