package columns

import (
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/extsort/extsort/sets"
)

// TestManyColumns checks how many columns the memory is enough for, and that the limit that an error names is enough.
func TestManyColumns(t *testing.T) {
	const mib = 1 << 20
	for _, row := range []struct {
		limit           int64
		fixed, variable int
		tables          int // of a set operation; 0: a sort
		want            string
	}{
		{64 * mib, 600, 0, 0, ""},
		{64 * mib, 0, 200, 0, ""},
		{64 * mib, 3000, 0, 0, "3000 columns need a memory limit of 200 MiB"},
		{200 * mib, 3000, 0, 0, ""},
		{64 * mib, 500, 1000, 0, "1500 columns need a memory limit of 249 MiB"},
		{249 * mib, 500, 1000, 0, ""},
		{1 << 34, 40000, 0, 0, ""},
		{1 << 34, 60000, 0, 0, ""},
		{64 * mib, 130, 0, 3, ""},
		{64 * mib, 0, 40, 3, ""},
		{64 * mib, 1, 500, 3, "501 columns need a memory limit of 334 MiB"},
		{334 * mib, 1, 500, 3, ""},
	} {
		m, err := newBudget(row.limit, 2)
		if err != nil {
			t.Fatal(err)
		}
		l := &layout{columns: make([]*column, row.fixed+row.variable), variable: make([]*column, row.variable)}
		all := []*layout{l}
		if row.tables > 0 {
			all = slices.Repeat(all, row.tables)
			m = m.forSets()
		}
		err = m.checkColumns(all...)
		if (err == nil) != (row.want == "") || err != nil && !strings.HasPrefix(err.Error(), row.want) {
			t.Errorf("%d and %d columns in %d MiB: %v, want %q", row.fixed, row.variable, row.limit/mib, err, row.want)
		}
	}
}

// TestManyColumnsOfVerbs runs verbs on a table that has too many columns for the memory limit.
func TestManyColumnsOfVerbs(t *testing.T) {
	rng := rand.New(rand.NewPCG(6, 4))
	table := &testTable{rows: 1}
	for i := range 2000 {
		c := &testColumn{columnKind: columnKinds[5], path: fmt.Sprint("a", i)}
		c.values = append(c.values, c.randomValue(rng))
		table.columns = append(table.columns, c)
	}
	name := filepath.Join(t.TempDir(), "in.parquet")
	table.write(t, rng, name, 0, table.rows, true)
	opt := PrintOptions{
		Options: Options{Inputs: []string{name}, Keys: []Key{{Column: "a0"}}, Stdout: io.Discard, Memory: MinMemory},
		End:     -1,
	}
	few := opt
	few.Columns = []string{"a1", "a7"}
	both := opt.Options
	both.Inputs = []string{name, name}
	find := func(opt FindOptions) error {
		_, err := Find(context.Background(), opt)
		return err
	}
	combine := func(operation sets.Operation) error {
		_, err := Combine(context.Background(), SetOptions{Options: both, Operation: operation})
		return err
	}
	for verb, err := range map[string]error{
		"print":        Print(context.Background(), opt),
		"find":         find(FindOptions{PrintOptions: opt}),
		"find as text": find(FindOptions{PrintOptions: opt, AsText: true}),
		"union":        combine(sets.Union),
		"intersect":    combine(sets.Intersect),
		"join":         combine(sets.InnerJoin),
	} {
		if err == nil || !strings.Contains(err.Error(), "2000 columns need a memory limit of ") {
			t.Errorf("%s: %v", verb, err)
		}
	}
	if err := Print(context.Background(), few); err != nil {
		t.Errorf("two columns: %v", err)
	}
	if err := find(FindOptions{PrintOptions: few, AsText: true}); err != nil {
		t.Errorf("find two columns: %v", err)
	}
	if _, err := Check(context.Background(), opt.Options); err != nil {
		t.Errorf("check reads the key only: %v", err)
	}
}
