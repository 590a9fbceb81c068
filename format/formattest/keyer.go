// Package formattest makes what tests of layouts need.
//
// Only the root package of this module is stable: this package may change in any version.
package formattest

import (
	"testing"

	"github.com/extsort/extsort/format"
)

// Keyer is the keyer of records that a spec describes without a file.
func Keyer(t testing.TB, spec format.Spec) *format.Keyer {
	t.Helper()
	header, err := spec.NewHeader()
	if err != nil {
		t.Fatal(err)
	}
	k, err := format.NewKeyer(header.Layout())
	if err != nil {
		t.Fatal(err)
	}
	return k
}
