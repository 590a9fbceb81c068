package columns

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/extsort/extsort/internal/testfiles"
	"github.com/extsort/extsort/sets"
)

// TestRandomVerbs checks random tables, and combines two of them, which share rows.
func TestRandomVerbs(t *testing.T) {
	forSeeds(t, tables()/2, 57, checkVerbs)
}

func checkVerbs(t *testing.T, rng *rand.Rand) {
	whole := randomTable(rng)
	opt := whole.randomOptions(rng, t.TempDir())
	opt.Unique = false
	opt.Limit = 0
	names, parts := sortedParts(t, rng, opt, whole, func(part *testTable, name string) {
		part.write(t, rng, name, 0, part.rows, true)
	})
	report, err := Check(context.Background(), Options{Inputs: names[:1], Memory: MinMemory})
	if err != nil && parts[0].rows > 0 || report != nil && report.Disorder != 0 {
		t.Fatalf("a sorted file: %+v, %v", report, err)
	}
	opt.Inputs = names
	opt.Compression = "snappy"
	opt.Verify = false
	opt.Strategy = ""
	checkCombinations(t, rng, opt, whole, parts, func(name string) [][][]byte { return readForeign(t, name) })
}

// sortedParts makes two tables, which share rows of a whole one, and checks and sorts the files that write writes.
func sortedParts(t *testing.T, rng *rand.Rand, opt Options, whole *testTable,
	write func(part *testTable, name string)) (names []string, parts []*testTable) {
	t.Helper()
	folder := t.TempDir()
	for i := range 2 {
		part := whole.someRows(rng)
		name := filepath.Join(folder, fmt.Sprintf("in%d", i))
		write(part, name)
		part.checkOrder(t, opt, name)
		opt.Inputs = []string{name}
		opt.Output = name + ".sorted"
		if _, err := Sort(context.Background(), opt); err != nil {
			t.Fatal(err)
		}
		names = append(names, opt.Output)
		parts = append(parts, part)
	}
	return names, parts
}

// checkCombinations combines the sorted files of two tables, which share rows of a whole one, with each operation. read
// returns the rows of an output.
func checkCombinations(t *testing.T, rng *rand.Rand, opt Options, whole *testTable, parts []*testTable,
	read func(name string) [][][]byte) {
	folder := t.TempDir()
	for _, operation := range []sets.Operation{sets.Union, sets.Intersect, sets.Subtract, sets.InnerJoin, sets.LeftJoin} {
		opt.Output = filepath.Join(folder, string(operation))
		set := SetOptions{Options: opt, Operation: operation, All: operation == sets.Union && rng.IntN(2) == 0}
		want, ok := combined(parts, set)
		if !ok { // a join with too many rows
			continue
		}
		_, err := Combine(context.Background(), set)
		if err != nil && whole.isRefused(set, err) {
			continue
		}
		if err != nil {
			t.Fatalf("%s: %v", operation, err)
		}
		whole.compareRows(t, string(operation), read(opt.Output), want)
	}
}

// someRows returns a table with some of the rows, in order.
func (t *testTable) someRows(rng *rand.Rand) *testTable {
	part := &testTable{}
	var chosen []int
	for row := range t.rows {
		if rng.IntN(5) > 1 {
			chosen = append(chosen, row)
		}
	}
	part.rows = len(chosen)
	for _, c := range t.columns {
		copied := *c
		copied.values = nil
		for _, row := range chosen {
			copied.values = append(copied.values, c.values[row])
		}
		part.columns = append(part.columns, &copied)
	}
	return part
}

// checkOrder compares Check with a comparison of the rows.
func (t *testTable) checkOrder(tb testing.TB, opt Options, name string) {
	tb.Helper()
	opt.Inputs = []string{name}
	report, err := Check(context.Background(), opt)
	if err != nil {
		tb.Fatal(err)
	}
	want := int64(0)
	for row := 1; row < t.rows && want == 0; row++ {
		if t.compareKeys(t.row(row-1), t.row(row), opt) > 0 {
			want = int64(row + 1)
		}
	}
	if report.Disorder != want {
		tb.Errorf("the first row out of order is %d instead of %d", report.Disorder, want)
	}
}

func (t *testTable) row(i int) (row [][]byte) {
	for _, c := range t.columns {
		row = append(row, c.values[i])
	}
	return row
}

func (t *testTable) compareKeys(a, b [][]byte, opt Options) int {
	for _, key := range opt.Keys {
		i := t.indexOf(key)
		if order := t.columns[i].order(a[i], b[i], key.Desc, opt.NullsFirst); order != 0 {
			return order
		}
	}
	return 0
}

func (t *testTable) indexOf(key Key) int {
	return slices.IndexFunc(t.columns, func(c *testColumn) bool { return c.path == key.Column })
}

func (t *testTable) isKey(i int, opt Options) bool {
	return slices.ContainsFunc(opt.Keys, func(key Key) bool { return t.indexOf(key) == i })
}

// isRefused reports whether an operation may fail with the error.
func (t *testTable) isRefused(opt SetOptions, err error) bool {
	for i, c := range t.columns {
		isKey := t.isKey(i, opt.Options)
		switch {
		case c.width > 0:
		case isKey && strings.Contains(err.Error(), "can be compared here") &&
			slices.ContainsFunc(c.values, func(v []byte) bool { return len(v) > maxPrefix }):
			return true
		case !isKey && opt.isJoin() && strings.Contains(err.Error(), "which a join cannot write"):
			return true
		}
	}
	return false
}

// combined returns the rows of an operation on two sorted tables, unless they are too many.
func combined(parts []*testTable, opt SetOptions) (rows [][][]byte, ok bool) {
	a := parts[0].sorted(opt.Keys, opt.NullsFirst)
	b := parts[1].sorted(opt.Keys, opt.NullsFirst)
	t := parts[0]
	for len(a)+len(b) > 0 {
		first := 0
		switch {
		case len(a) == 0:
			first = 1
		case len(b) > 0:
			first = t.compareKeys(a[0], b[0], opt.Options)
		default:
			first = -1
		}
		var ofA, ofB [][][]byte
		if first <= 0 {
			a, ofA = t.cutGroup(a, opt.Options)
		}
		if first >= 0 {
			b, ofB = t.cutGroup(b, opt.Options)
		}
		if opt.isJoin() && len(rows)+len(ofA)*len(ofB) > 10000 {
			return nil, false
		}
		rows = append(rows, t.combineGroup(ofA, ofB, opt)...)
	}
	return rows, true
}

// cutGroup cuts off the first rows, which have the same keys.
func (t *testTable) cutGroup(rows [][][]byte, opt Options) (rest, group [][][]byte) {
	n := 1
	for n < len(rows) && t.compareKeys(rows[0], rows[n], opt) == 0 {
		n++
	}
	return rows[n:], rows[:n]
}

// combineGroup returns the rows for one key.
func (t *testTable) combineGroup(a, b [][][]byte, opt SetOptions) (rows [][][]byte) {
	switch opt.Operation {
	case sets.Union:
		if len(a) == 0 || opt.All {
			return append(slices.Clip(a), b...)
		}
		return a
	case sets.Intersect:
		if len(b) > 0 {
			return a
		}
		return nil
	case sets.Subtract:
		if len(b) == 0 {
			return a
		}
		return nil
	case sets.LeftJoin:
		if len(b) == 0 {
			b = [][][]byte{make([][]byte, len(t.columns))}
		}
	}
	for _, left := range a {
		for _, right := range b {
			row := slices.Clone(left)
			for i := range t.columns {
				if !t.isKey(i, opt.Options) {
					row = append(row, right[i])
				}
			}
			rows = append(rows, row)
		}
	}
	return rows
}

// compareRows compares rows that may have more columns than the table.
func (t *testTable) compareRows(tb testing.TB, what string, got, want [][][]byte) {
	tb.Helper()
	if len(got) != len(want) {
		tb.Fatalf("%s: %d rows instead of %d", what, len(got), len(want))
	}
	same := func(a, b []byte) bool { return bytes.Equal(a, b) && (a == nil) == (b == nil) }
	for i := range want {
		if !slices.EqualFunc(got[i], want[i], same) {
			tb.Fatalf("%s: row %d is %q instead of %q", what, i, got[i], want[i])
		}
	}
}

// TestPrint prints each type.
func TestPrint(t *testing.T) {
	table := &testTable{rows: 2}
	values := map[string]string{
		"bool": "\x01", "i32": "\xfe\xff\xff\xff", "u32": "\xfe\xff\xff\xff", "date": "\x01\x00\x00\x00",
		"d9": "\xfb\xff\xff\xff", "i64": "\x02\x00\x00\x00\x00\x00\x00\x80", "u64": "\xff\xff\xff\xff\xff\xff\xff\xff",
		"utc": "\xff\xff\xff\xff\xff\xff\xff\xff", "local": "\x01\x00\x00\x00\x00\x00\x00\x00", "f32": "\x00\x00\xc0\x3f",
		"f64": "\x00\x00\x00\x00\x00\x00\xf8\x7f", "f16": "\x00\x3e", "flba": "abcde", "uuid": "0123456789abcdef",
		"i96": "\x01\x00\x00\x00\x00\x00\x00\x00\x8d\x3d\x25\x00",
		"d30": "\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\x85", "text": "a,\tb", "binary": "\x00\xff", "json": "{}",
	}
	for _, kind := range columnKinds {
		c := &testColumn{columnKind: kind, path: kind.name, optional: true}
		c.values = [][]byte{[]byte(values[kind.name]), nil}
		table.columns = append(table.columns, c)
	}
	folder := t.TempDir()
	name := filepath.Join(folder, "in.parquet")
	table.write(t, rand.New(rand.NewPCG(1, 1)), name, 0, 2, true)
	for form, want := range map[string]string{
		"csv": "bool,i32,u32,date,d9,i64,u64,utc,local,f32,f64,f16,i96,flba,uuid,d30,text,binary,json\n" +
			"true,-2,4294967294,1970-01-02,-0.05,-9223372036854775806,18446744073709551615,1969-12-31T23:59:59.999999Z," +
			"1970-01-01T00:00:00.000000001,1.5,NaN,1.5,1970-01-02T00:00:00.000000001,0x6162636465," +
			"30313233-3435-3637-3839-616263646566,-0.0123,\"a,\tb\",0x00ff,{}\n" + strings.Repeat(",", 18) + "\n",
		"jsonl": `{"bool":true,"i32":-2,"u32":4294967294,"date":"1970-01-02","d9":-0.05,"i64":-9223372036854775806,` +
			`"u64":18446744073709551615,"utc":"1969-12-31T23:59:59.999999Z","local":"1970-01-01T00:00:00.000000001",` +
			`"f32":1.5,"f64":"NaN","f16":1.5,"i96":"1970-01-02T00:00:00.000000001","flba":"0x6162636465",` +
			`"uuid":"30313233-3435-3637-3839-616263646566","d30":-0.0123,"text":"a,\tb","binary":"0x00ff","json":"{}"}` + "\n",
	} {
		var out bytes.Buffer
		opt := PrintOptions{Options: Options{Inputs: []string{name}, Stdout: &out, Memory: MinMemory}, Form: form, End: -1}
		if form == "jsonl" {
			opt.End = 1
		}
		if err := Print(context.Background(), opt); err != nil {
			t.Fatal(err)
		}
		if out.String() != want {
			t.Errorf("%s:\n%s", form, out.String())
		}
	}
	all, err := Describe([]string{name}, MinMemory)
	if err != nil || len(all) != 1 || *all[0].Rows != 2 || len(all[0].Columns) != len(columnKinds) {
		t.Errorf("described as %+v, %v", all, err)
	}
	testfiles.Write(t, name, []byte("PAR1"))
	if _, err := Describe([]string{name}, MinMemory); err == nil {
		t.Error("a damaged file is described")
	}
}

// TestFind finds values of the first key of sorted tables.
func TestFind(t *testing.T) {
	forSeeds(t, tables()/2, 58, func(t *testing.T, rng *rand.Rand) {
		table := randomTable(rng)
		folder := t.TempDir()
		opt := table.randomOptions(rng, folder)
		opt.Unique = false
		opt.Limit = 0
		opt.Compression = "snappy"
		opt.Inputs = []string{filepath.Join(folder, "in")}
		table.writeFile(t, rng, opt.Inputs[0], 0, table.rows)
		if _, err := Sort(context.Background(), opt); err != nil {
			t.Fatal(err)
		}
		rows := table.sorted(opt.Keys, opt.NullsFirst)
		for range 3 {
			table.checkFind(t, rng, opt, rows)
		}
	})
}

// checkFind finds the key of a row, or the rows from it on.
func (t *testTable) checkFind(tb testing.TB, rng *rand.Rand, opt Options, rows [][][]byte) {
	tb.Helper()
	i := t.indexOf(opt.Keys[0])
	c := t.columns[i]
	var value []byte
	if len(rows) > 0 {
		value = rows[rng.IntN(len(rows))][i]
	}
	if value == nil || slices.Contains([]string{"f16", "f32", "f64"}, c.name) { // NaNs have one text
		return
	}
	in, err := openTable([]string{opt.Output}, MinMemory/4)
	if err != nil {
		tb.Fatal(err)
	}
	named, err := columnNamed(in.inputs[0].columns(), c.path)
	in.close()
	if err != nil {
		tb.Fatal(err)
	}
	text := named.valueText().text(value)
	isFarDate := slices.Contains([]string{"date", "utc"}, c.name) && strings.Index(text, "-") != len("2006")
	if text == "" || isFarDate || c.name == "i96" {
		return
	}
	find := FindOptions{PrintOptions: PrintOptions{Options: opt}, Values: []string{text}}
	find.Inputs = []string{opt.Output}
	find.Output = opt.Output + ".found"
	find.Keys = nil
	isFrom := rng.IntN(2) == 0
	if isFrom {
		find.Values = nil
		find.From = text
	}
	found, err := Find(context.Background(), find)
	if err != nil {
		tb.Fatal(err)
	}
	var want [][][]byte
	for _, row := range rows {
		order := -1
		if row[i] != nil {
			order = c.compare(row[i], value)
		}
		if order == 0 || isFrom && order > 0 {
			want = append(want, row)
		}
	}
	if found != int64(len(want)) {
		tb.Fatalf("column %s (%s): found %d rows instead of %d", c.path, c.name, found, len(want))
	}
	t.compareRows(tb, "find", readForeign(tb, find.Output), want)
}

// TestSplit sorts tables to several files, which together contain the sorted rows. Equal keys are in one file.
func TestSplit(t *testing.T) {
	forSeeds(t, tables()/2, 59, func(t *testing.T, rng *rand.Rand) {
		table := randomTable(rng)
		folder := t.TempDir()
		opt := table.randomOptions(rng, folder)
		opt.Compression = "snappy"
		opt.Output = filepath.Join(folder, "out.parquet")
		opt.Inputs = []string{filepath.Join(folder, "in")}
		opt.SplitFiles = 1 + rng.IntN(4)
		if rng.IntN(3) == 0 {
			opt.SplitFiles = 0
			opt.SplitBytes = 20000 + rng.Int64N(100000)
		}
		table.writeFile(t, rng, opt.Inputs[0], 0, table.rows)
		if _, err := Sort(context.Background(), opt); err != nil {
			t.Fatal(err)
		}
		names, err := filepath.Glob(filepath.Join(folder, "out.*.parquet"))
		if err != nil || opt.SplitFiles > 0 && len(names) > opt.SplitFiles {
			t.Fatalf("%v, %v", names, err)
		}
		var rows [][][]byte
		for _, name := range names {
			part := readForeign(t, name)
			if len(rows) > 0 && len(part) > 0 && table.equalKeys(rows[len(rows)-1], part[0], opt.Keys) {
				t.Errorf("%s begins with the last key of the file before", name)
			}
			rows = append(rows, part...)
		}
		table.compareRows(t, "split", rows, table.selected(opt))
	})
}
