package columns

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/extsort/extsort"
)

// TestComputedKeys sorts points along curves, and compares the rows and the stored keys with a sort of plain
// records by the same key.
func TestComputedKeys(t *testing.T) {
	for i, row := range []struct {
		key   string // of the columns
		plain string // of the plain records: x at 0, y at 8, id at 16
		text  bool   // with a column of strings
	}{
		{"hilbert(x,y)", "hilbert(0:f64,8:f64)", false},
		{"hilbert(x,y)", "hilbert(0:f64,8:f64)", true},
		{"hilbert(x=-1:1,y=-2:2,bits=16)", "hilbert(0:f64=-1:1,8:f64=-2:2,bits=16)", false},
		{"morton(x,y,id)", "morton(0:f64,8:f64,16:u32)", true},
		{"bit_reverse(id)", "bit_reverse(16:u32)", false},
		{"xxh64(id)", "xxh64(16:bytes4)", true},
	} {
		for _, name := range []string{"", "h"} {
			t.Run(fmt.Sprint(i, name), func(t *testing.T) {
				checkComputed(t, Key{Compute: row.key, Desc: i%2 == 1}, row.plain, name, row.text)
			})
		}
	}
}

func checkComputed(t *testing.T, key Key, plain, keep string, hasText bool) {
	rng := rand.New(rand.NewPCG(7, 7))
	kind := func(name string) columnKind {
		return columnKinds[slices.IndexFunc(columnKinds, func(k columnKind) bool { return k.name == name })]
	}
	table := &testTable{rows: 5000, columns: []*testColumn{
		{columnKind: kind("f64"), path: "x"}, {columnKind: kind("f64"), path: "y"}, {columnKind: kind("u32"), path: "id"},
	}}
	if hasText {
		table.columns = append(table.columns, &testColumn{columnKind: kind("text"), path: "text", longest: 90})
	}
	var records []byte
	for row := range table.rows {
		start := len(records)
		for range 2 {
			records = binary.LittleEndian.AppendUint64(records, math.Float64bits(rng.Float64()*4-2))
		}
		records = binary.LittleEndian.AppendUint32(records, uint32(row*7919%table.rows))
		r := records[start:]
		for i, value := range [][]byte{r[:8], r[8:16], r[16:20]} {
			table.columns[i].values = append(table.columns[i].values, bytes.Clone(value))
		}
		if hasText {
			table.columns[3].values = append(table.columns[3].values, table.columns[3].randomText(rng))
		}
	}
	folder := t.TempDir()
	opt := Options{
		Inputs:  []string{filepath.Join(folder, "in.parquet")},
		Keys:    []Key{key},
		KeepKey: keep,

		Compression: "snappy",
		Output:      filepath.Join(folder, "out.parquet"),
		Memory:      MinMemory,
	}
	table.write(t, rng, opt.Inputs[0], 0, table.rows, true)
	if _, err := Sort(context.Background(), opt); err != nil {
		t.Fatal(err)
	}
	sorted, _, err := extsort.SortBytes(context.Background(), records, extsort.Job{
		Record:  extsort.Record{Size: 20, Keys: []extsort.KeyField{{Compute: plain, Desc: key.Desc}}},
		KeepKey: "h",
	})
	if err != nil {
		t.Fatal(err)
	}
	for i, row := range readForeign(t, readableBy(t, opt)) {
		want := sorted[i*28:][:28]
		got := slices.Concat(row[0], row[1], row[2])
		if keep != "" {
			got = append(got, row[len(row)-1]...)
		}
		if !bytes.Equal(got, want[:len(got)]) {
			t.Fatalf("row %d: %x instead of %x", i, got, want)
		}
	}
	report, err := Check(context.Background(), Options{Inputs: []string{opt.Output}, Keys: opt.Keys, Memory: MinMemory})
	if err != nil || report.Disorder != 0 {
		t.Errorf("check: %+v, %v", report, err)
	}
	for _, bad := range []Options{
		{Keys: []Key{{Compute: "hilbert(x,nothing)"}}},
		{Keys: opt.Keys, Verify: true},
		{Keys: opt.Keys, KeepKey: "x"},
		{Keys: []Key{{Column: "x"}}, KeepKey: "h"},
		{Keys: []Key{{Compute: "morton(x,y,id,bits=32)"}}, KeepKey: "h"},
	} {
		bad.Inputs = opt.Inputs
		bad.Output = filepath.Join(folder, "bad")
		bad.Memory = MinMemory
		if _, err := Sort(context.Background(), bad); err == nil {
			t.Errorf("%+v succeeds", bad.Keys)
		}
		if _, err := os.Stat(bad.Output); err == nil {
			t.Error("an output is left after an error")
		}
	}
}

// TestKeptKeyOfNulls stores a key whose arguments have nulls, which sort last. Their stored keys are those of zeros, so
// that the output must not declare that it is sorted by them.
func TestKeptKeyOfNulls(t *testing.T) {
	kind := columnKinds[slices.IndexFunc(columnKinds, func(k columnKind) bool { return k.name == "u32" })]
	for _, hasNulls := range []bool{false, true} {
		table := &testTable{rows: 1000, columns: []*testColumn{
			{columnKind: kind, path: "x", optional: hasNulls}, {columnKind: kind, path: "y"},
		}}
		rng := rand.New(rand.NewPCG(8, 8))
		for row := range table.rows {
			for _, c := range table.columns {
				c.values = append(c.values, binary.LittleEndian.AppendUint32(nil, rng.Uint32()))
			}
			if hasNulls && row%3 == 0 {
				table.columns[0].values[row] = nil
			}
		}
		folder := t.TempDir()
		opt := Options{
			Inputs:  []string{filepath.Join(folder, "in.parquet")},
			Keys:    []Key{{Compute: "hilbert(x,y)"}},
			KeepKey: "h",
			Output:  filepath.Join(folder, "out.parquet"),
			Memory:  MinMemory,
		}
		table.write(t, rng, opt.Inputs[0], 0, table.rows, true)
		if _, err := Sort(context.Background(), opt); err != nil {
			t.Fatal(err)
		}
		report, err := Check(context.Background(), Options{Inputs: []string{opt.Output}, Memory: MinMemory})
		if hasNulls && err == nil || !hasNulls && (err != nil || report.Disorder > 0) {
			t.Errorf("nulls %v: check by the declared keys: %+v, %v", hasNulls, report, err)
		}
	}
}
