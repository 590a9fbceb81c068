package session

import (
	"fmt"
	"testing"

	"github.com/extsort/extsort/chunker/plan"
	"github.com/extsort/extsort/format"
	"github.com/extsort/extsort/format/formattest"
)

// TestNumericSortsAreOthers checks that a checkpoint of a sort in total order does not continue
// with a numeric sort.
func TestNumericSortsAreOthers(t *testing.T) {
	opt := Options{Record: format.Spec{Type: "f64"}, Output: t.TempDir() + "/out"}
	keyer := formattest.KeyerOf(t, format.Bare(format.Type{Kind: format.Float, Size: 8}))
	ids := map[string]bool{}
	for _, float := range []string{"", "total", "numeric"} {
		opt.Record.Float = float
		ids[fmt.Sprint(opt.identity(&plan.Facts{Keyer: keyer}, nil))] = true
	}
	if len(ids) != 2 {
		t.Errorf("three sorts, of which two are the same, have %d identities", len(ids))
	}
}
