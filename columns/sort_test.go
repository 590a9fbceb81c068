package columns

import (
	"reflect"
	"testing"

	"github.com/extsort/extsort"
)

// TestSelectionOfLimits checks that a negative limit selects no rows, as it does in the command.
func TestSelectionOfLimits(t *testing.T) {
	for limit, want := range map[int64]extsort.Selection{
		0:  extsort.All(),
		-1: extsort.All().First(0),
		5:  extsort.All().First(5),
	} {
		if got := (Options{Limit: limit}).selection(); !reflect.DeepEqual(got, want) {
			t.Errorf("limit %d: %+v, want %+v", limit, got, want)
		}
	}
}
