package columns

import (
	"context"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/extsort/extsort/internal/testfiles"
	"github.com/extsort/extsort/sets"
)

// TestOutputIsInput writes to an input. Only a sort and a set operation may replace it, and none may write to it as
// standard output, which does not shorten it.
func TestOutputIsInput(t *testing.T) {
	opt := smallTable(t)
	before := testfiles.Read(t, opt.Inputs[0])
	stdout := testfiles.Open(t, opt.Inputs[0], os.O_RDWR)
	printRow := func(opt Options) error { return Print(context.Background(), PrintOptions{Options: opt, End: 1}) }
	find := func(opt Options) error {
		_, err := Find(context.Background(), FindOptions{PrintOptions: PrintOptions{Options: opt}, From: "0"})
		return err
	}
	for name, row := range map[string]struct {
		run      func(opt Options) error
		replaces bool
	}{
		"print": {printRow, false},
		"find":  {find, false},
		"sort": {func(opt Options) error {
			_, err := Sort(context.Background(), opt)
			return err
		}, true},
		"union": {func(opt Options) error {
			_, err := Combine(context.Background(), SetOptions{Options: opt, Operation: sets.Union})
			return err
		}, true},
	} {
		to := opt
		to.Stdout = stdout
		if err := row.run(to); err == nil || !strings.Contains(err.Error(), "is also standard output") {
			t.Errorf("%s to standard output: %v", name, err)
		}
		to.Stdout = nil
		to.Output = opt.Inputs[0]
		if row.replaces {
			to.Output = filepath.Join(filepath.Dir(to.Output), "out."+name)
		}
		err := row.run(to)
		if !row.replaces && (err == nil || !strings.Contains(err.Error(), "is also an input")) {
			t.Errorf("%s: %v", name, err)
		}
		if name == "sort" && err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	after, err := os.ReadFile(opt.Inputs[0])
	if err != nil || !slices.Equal(after, before) {
		t.Errorf("the input has changed, %v", err)
	}
}

// smallTable returns a file of one column, a, whose values are in no order, and the options to sort it.
func smallTable(t *testing.T) Options {
	t.Helper()
	rng := rand.New(rand.NewPCG(3, 4))
	column := &testColumn{columnKind: columnKinds[5], path: "a"}
	for range 1000 {
		column.values = append(column.values, column.randomValue(rng))
	}
	table := &testTable{columns: []*testColumn{column}, rows: len(column.values)}
	name := filepath.Join(t.TempDir(), "in.parquet")
	table.write(t, rng, name, 0, table.rows, true)
	return Options{
		Inputs: []string{name}, Keys: []Key{{Column: "a"}}, Memory: MinMemory, TempDirs: []string{t.TempDir()},
	}
}

// TestOldParts writes fewer files than the output before.
func TestOldParts(t *testing.T) {
	opt := smallTable(t)
	opt.Output = filepath.Join(t.TempDir(), "out.parquet")
	split := func(files int, bytes int64) error {
		opt.SplitFiles = files
		opt.SplitBytes = bytes
		_, err := Sort(context.Background(), opt)
		return err
	}
	for _, files := range []int{4, 4, 5} {
		if err := split(files, 0); err != nil {
			t.Fatal(err)
		}
	}
	last := partName(opt.Output, 4)
	for _, bytes := range []int64{0, 1 << 20} {
		files := 1
		if bytes > 0 {
			files = 0
		}
		if err := split(files, bytes); err == nil || !strings.Contains(err.Error(), partName(opt.Output, 1)) {
			t.Errorf("fewer files: %v", err)
		}
	}
	if rows := len(readForeign(t, last)); rows == 0 {
		t.Error("the last old file is empty")
	}
}

// TestFoundRowsOutOfOrder finds rows in a file that is not sorted. The result must not declare an order.
func TestFoundRowsOutOfOrder(t *testing.T) {
	opt := smallTable(t)
	folder := t.TempDir()
	sorted := filepath.Join(folder, "sorted.parquet")
	for _, row := range []struct {
		in       string
		declares bool
	}{{opt.Inputs[0], false}, {sorted, true}} {
		if row.declares {
			sort := opt
			sort.Output = sorted
			if _, err := Sort(context.Background(), sort); err != nil {
				t.Fatal(err)
			}
		}
		find := opt
		find.Inputs = []string{row.in}
		find.Output = filepath.Join(folder, "found.parquet")
		wanted := FindOptions{PrintOptions: PrintOptions{Options: find}, From: "0"}
		if _, err := Find(context.Background(), wanted); err != nil {
			t.Fatal(err)
		}
		found, err := Describe([]string{find.Output}, MinMemory)
		if err != nil || len(found[0].SortedBy) > 0 != row.declares {
			t.Errorf("sorted input %v: the result is sorted by %v, %v", row.declares, found[0].SortedBy, err)
		}
	}
}

// TestPartitionedDirectory sorts a directory whose subdirectories have the values of a column in their names.
func TestPartitionedDirectory(t *testing.T) {
	opt := smallTable(t)
	folder := t.TempDir()
	data := testfiles.Read(t, opt.Inputs[0])
	for name, isRefused := range map[string]bool{"plain": false, "a=1": false, "year=2026": true} {
		whole := filepath.Join(folder, name)
		one := filepath.Join(whole, name, "x", "in.parquet")
		if err := os.MkdirAll(filepath.Dir(one), 0o700); err != nil {
			t.Fatal(err)
		}
		testfiles.Write(t, one, data)
		for i, input := range []string{whole, filepath.Join(whole, "*", "x", "*.parquet"), one} {
			opt.Inputs = []string{input}
			opt.Output = filepath.Join(folder, "out.parquet")
			_, err := Sort(context.Background(), opt)
			refused := err != nil && strings.Contains(err.Error(), "contains the column year")
			if refused != (isRefused && i == 0) {
				t.Errorf("%s: %v", input, err)
			}
		}
	}
}
