package columns

import (
	"cmp"
	"context"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/parquet"
	"github.com/apache/arrow-go/v18/parquet/file"
	"github.com/apache/arrow-go/v18/parquet/schema"

	"github.com/extsort/extsort/internal/testfiles"
)

// A nestedRow is a row of the schema of writeNested: the definition level of each column, and its value.
type nestedRow struct {
	levels [4]int16
	number int32 // a.b.x: level 3 is a value
	text   string
}

// writeNested writes rows of the schema
//
//	optional group FIRST { optional group b { optional int32 x }, required int64 n }
//	optional group SECOND { optional binary s, optional int64 n }
//
// whose columns n have the number of the row.
func writeNested(t *testing.T, name string, groups [2]string, rows []nestedRow) {
	t.Helper()
	leaf := func(name string, repetition parquet.Repetition, physical parquet.Type) schema.Node {
		node, err := schema.NewPrimitiveNode(name, repetition, physical, -1, -1)
		if err != nil {
			t.Fatal(err)
		}
		return node
	}
	group := func(name string, repetition parquet.Repetition, fields ...schema.Node) *schema.GroupNode {
		node, err := schema.NewGroupNode(name, repetition, fields, -1)
		if err != nil {
			t.Fatal(err)
		}
		return node
	}
	optional := parquet.Repetitions.Optional
	root := group("schema", parquet.Repetitions.Required,
		group(groups[0], optional,
			group("b", optional, leaf("x", optional, parquet.Types.Int32)),
			leaf("n", parquet.Repetitions.Required, parquet.Types.Int64)),
		group(groups[1], optional,
			leaf("s", optional, parquet.Types.ByteArray),
			leaf("n", optional, parquet.Types.Int64)))
	f := testfiles.Create(t, name)
	w := file.NewParquetWriter(f, root)
	for first := 0; first < len(rows); first += 700 {
		part := rows[first:min(first+700, len(rows))]
		out, err := w.AppendBufferedRowGroupChecked()
		if err != nil {
			t.Fatal(err)
		}
		var levels [4][]int16
		var numbers []int32
		var counts [4][]int64
		var texts []parquet.ByteArray
		for i, row := range part {
			for c, level := range row.levels {
				levels[c] = append(levels[c], level)
			}
			if row.levels[0] == 3 {
				numbers = append(numbers, row.number)
			}
			if row.levels[1] == 1 {
				counts[1] = append(counts[1], int64(first+i))
			}
			if row.levels[2] == 2 {
				texts = append(texts, parquet.ByteArray(row.text))
			}
			if row.levels[3] == 2 {
				counts[3] = append(counts[3], int64(first+i))
			}
		}
		for c := range 4 {
			chunk, err := out.Column(c)
			if err != nil {
				t.Fatal(err)
			}
			switch chunk := chunk.(type) {
			case *file.Int32ColumnChunkWriter:
				_, err = chunk.WriteBatch(numbers, levels[c], nil)
			case *file.Int64ColumnChunkWriter:
				_, err = chunk.WriteBatch(counts[c], levels[c], nil)
			case *file.ByteArrayColumnChunkWriter:
				_, err = chunk.WriteBatch(texts, levels[c], nil)
			}
			if err != nil {
				t.Fatal(err)
			}
		}
		if err := out.Close(); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
}

// readNested returns the texts of the rows: for each column, its level and its value.
func readNested(t *testing.T, name string) (rows []string) {
	t.Helper()
	r, err := file.OpenParquetFile(name, false)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	for g := range r.NumRowGroups() {
		n := r.MetaData().RowGroup(g).NumRows()
		first := len(rows)
		rows = append(rows, make([]string, n)...)
		for c := range r.MetaData().Schema.NumColumns() {
			column, err := r.RowGroup(g).Column(c)
			if err != nil {
				t.Fatal(err)
			}
			levels := make([]int16, n)
			var values []string
			switch column := column.(type) {
			case *file.Int32ColumnChunkReader:
				values = readTexts(t, n, levels, column.ReadBatch)
			case *file.Int64ColumnChunkReader:
				values = readTexts(t, n, levels, column.ReadBatch)
			case *file.ByteArrayColumnChunkReader:
				values = readTexts(t, n, levels, column.ReadBatch)
			}
			for i, level := range levels {
				text := ""
				if level == r.MetaData().Schema.Column(c).MaxDefinitionLevel() {
					text = values[0]
					values = values[1:]
				}
				rows[first+i] += fmt.Sprintf("%d:%s ", level, text)
			}
		}
	}
	return rows
}

func readTexts[T any](t *testing.T, n int64, levels []int16,
	read func(n int64, values []T, levels, repetitions []int16) (int64, int, error)) (texts []string) {
	t.Helper()
	values := make([]T, n)
	total, count, err := read(n, values, levels, nil)
	if err != nil || total != n {
		t.Fatalf("%d rows instead of %d, %v", total, n, err)
	}
	for _, v := range values[:count] {
		texts = append(texts, fmt.Sprint(v))
	}
	return texts
}

// TestNestedColumns sorts rows with nulls at all levels of groups.
func TestNestedColumns(t *testing.T) {
	for seed := range uint64(8) {
		rng := rand.New(rand.NewPCG(seed, 61))
		rows := make([]nestedRow, 3000)
		for i := range rows {
			rows[i] = nestedRow{number: int32(rng.IntN(50) - 25), text: strings.Repeat("t", rng.IntN(40)) + fmt.Sprint(i)}
			rows[i].levels[0] = int16(rng.IntN(4))
			rows[i].levels[1] = min(rows[i].levels[0], 1)
			rows[i].levels[2] = int16(rng.IntN(3))
			rows[i].levels[3] = rows[i].levels[2]
			if rows[i].levels[2] > 0 {
				rows[i].levels[3] = int16(1 + rng.IntN(2))
			}
		}
		folder := t.TempDir()
		opt := Options{
			Inputs:     []string{filepath.Join(folder, "in")},
			Output:     filepath.Join(folder, "out"),
			Keys:       []Key{{Column: "a.b.x", Desc: seed%2 == 1}},
			NullsFirst: seed%4 > 1,
			Memory:     MinMemory,
			TempDirs:   []string{folder},
		}
		writeNested(t, opt.Inputs[0], [2]string{"a", "c"}, rows)
		want := readNested(t, opt.Inputs[0])
		order := make([]int, len(rows))
		for i := range order {
			order[i] = i
		}
		slices.SortStableFunc(order, func(i, j int) int {
			isNull := func(i int) int { return map[bool]int{true: 1}[(rows[i].levels[0] < 3) != opt.NullsFirst] }
			switch {
			case isNull(i) != isNull(j):
				return cmp.Compare(isNull(i), isNull(j))
			case rows[i].levels[0] < 3:
				return 0
			case opt.Keys[0].Desc:
				return cmp.Compare(rows[j].number, rows[i].number)
			}
			return cmp.Compare(rows[i].number, rows[j].number)
		})
		if _, err := Sort(context.Background(), opt); err != nil {
			t.Fatal(err)
		}
		for i, got := range readNested(t, opt.Output) {
			if got != want[order[i]] {
				t.Fatalf("seed %d, row %d: %s instead of %s", seed, i, got, want[order[i]])
			}
		}
	}
}

// TestOtherGroups sorts files whose columns have the same names in groups in another order.
func TestOtherGroups(t *testing.T) {
	folder := t.TempDir()
	opt := Options{Keys: []Key{{Column: "a.n"}}, Output: filepath.Join(folder, "out"), Memory: MinMemory}
	for i, groups := range [][2]string{{"a", "c"}, {"c", "a"}} {
		name := filepath.Join(folder, fmt.Sprint(i))
		writeNested(t, name, groups, []nestedRow{{levels: [4]int16{3, 1, 2, 2}}})
		opt.Inputs = append(opt.Inputs, name)
	}
	if _, err := Sort(context.Background(), opt); err == nil || !strings.Contains(err.Error(), "schema differs") {
		t.Errorf("the groups of the second file are in another order: %v", err)
	}
}

// TestAmbiguousColumns names a column whose name another column has, too.
func TestAmbiguousColumns(t *testing.T) {
	columns := []*column{{name: "a.b"}, {name: "c"}, {name: "a.b"}}
	if _, err := columnNamed(columns, "a.b"); err == nil || !strings.Contains(err.Error(), "two columns") {
		t.Errorf("a name of two columns: %v", err)
	}
	if c, err := columnNamed(columns, "c"); err != nil || c != columns[1] {
		t.Errorf("a name of one column: %v, %v", c, err)
	}
}
