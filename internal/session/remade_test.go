package session

import (
	"os"
	"strings"
	"testing"

	"github.com/extsort/extsort/format"
	"github.com/extsort/extsort/internal/testfiles"
)

// TestIndexesAreEnough checks that more records than a 4-byte index can count are refused before
// anything is read.
func TestIndexesAreEnough(t *testing.T) {
	t.Parallel()
	name := testfiles.Temp(t, "large", nil)
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
