package columns

import (
	"strings"
	"testing"
)

// TestManyColumns checks how many columns the memory is enough for, and that the limit that an error names is enough.
func TestManyColumns(t *testing.T) {
	const mib = 1 << 20
	for _, row := range []struct {
		limit           int64
		fixed, variable int
		want            string
	}{
		{64 * mib, 600, 0, ""},
		{64 * mib, 0, 200, ""},
		{64 * mib, 3000, 0, "3000 columns need a memory limit of 200 MiB"},
		{200 * mib, 3000, 0, ""},
		{64 * mib, 500, 1000, "1500 columns need a memory limit of 249 MiB"},
		{249 * mib, 500, 1000, ""},
		{1 << 34, 40000, 0, ""},
	} {
		m, err := newBudget(row.limit, 2)
		if err != nil {
			t.Fatal(err)
		}
		l := &layout{columns: make([]*column, row.fixed+row.variable), variable: make([]*column, row.variable)}
		err = m.checkColumns(l)
		if (err == nil) != (row.want == "") || err != nil && !strings.HasPrefix(err.Error(), row.want) {
			t.Errorf("%d and %d columns in %d MiB: %v, want %q", row.fixed, row.variable, row.limit/mib, err, row.want)
		}
	}
}
