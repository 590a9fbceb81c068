package columns

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/decimal128"
	"github.com/apache/arrow-go/v18/arrow/float16"
	"github.com/apache/arrow-go/v18/arrow/ipc"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/extsort/extsort/internal/testfiles"
)

// arrowKinds are the Arrow types of columnKinds, by name.
var arrowKinds = map[string][]arrow.DataType{
	"bool":   {arrow.FixedWidthTypes.Boolean},
	"i32":    {arrow.PrimitiveTypes.Int32, arrow.FixedWidthTypes.Time32s},
	"u32":    {arrow.PrimitiveTypes.Uint32},
	"date":   {arrow.FixedWidthTypes.Date32},
	"i64":    {arrow.PrimitiveTypes.Int64, arrow.FixedWidthTypes.Duration_us},
	"u64":    {arrow.PrimitiveTypes.Uint64},
	"utc":    {arrow.FixedWidthTypes.Timestamp_us},
	"f32":    {arrow.PrimitiveTypes.Float32},
	"f64":    {arrow.PrimitiveTypes.Float64},
	"f16":    {arrow.FixedWidthTypes.Float16},
	"flba":   {&arrow.FixedSizeBinaryType{ByteWidth: 5}},
	"uuid":   {&arrow.FixedSizeBinaryType{ByteWidth: 16}},
	"text":   {arrow.BinaryTypes.String, arrow.BinaryTypes.LargeString, arrow.BinaryTypes.StringView, dictionaryType},
	"binary": {arrow.BinaryTypes.Binary, arrow.BinaryTypes.LargeBinary, arrow.BinaryTypes.BinaryView},
	"d38":    {&arrow.Decimal128Type{Precision: 38, Scale: 2}},
}

var dictionaryType = &arrow.DictionaryType{IndexType: arrow.PrimitiveTypes.Int32, ValueType: arrow.BinaryTypes.String}

// signedLittle compares little-endian numbers in two's complement.
func signedLittle(a, b []byte) int {
	reversed := func(v []byte) []byte {
		v = bytes.Clone(v)
		slices.Reverse(v)
		return v
	}
	return signedBig(reversed(a), reversed(b))
}

// randomArrowTable returns a table whose columns have Arrow types.
func randomArrowTable(rng *rand.Rand) (*testTable, *arrow.Schema) {
	table := randomTable(rng)
	var fields []arrow.Field
	for _, c := range table.columns {
		if arrowKinds[c.name] == nil {
			c.columnKind = columnKind{name: "d38", width: 16, compare: signedLittle}
			for i := range c.values {
				c.values[i] = c.randomValue(rng)
			}
		}
		types := arrowKinds[c.name]
		fields = append(fields, arrow.Field{Name: c.path, Type: types[rng.IntN(len(types))], Nullable: c.optional})
	}
	pairs := arrow.NewMetadata([]string{"made by"}, []string{"a test"})
	return table, arrow.NewSchema(fields, &pairs)
}

// appendArrow appends a value, given by its little-endian bytes.
func appendArrow(to array.Builder, v []byte) {
	if v == nil {
		to.AppendNull()
		return
	}
	switch b := to.(type) {
	case *array.BooleanBuilder:
		b.Append(v[0] != 0)
	case *array.Int32Builder:
		b.Append(int32(word64(v)))
	case *array.Time32Builder:
		b.Append(arrow.Time32(word64(v)))
	case *array.Date32Builder:
		b.Append(arrow.Date32(word64(v)))
	case *array.Uint32Builder:
		b.Append(uint32(word64(v)))
	case *array.Int64Builder:
		b.Append(int64(word64(v)))
	case *array.DurationBuilder:
		b.Append(arrow.Duration(word64(v)))
	case *array.TimestampBuilder:
		b.Append(arrow.Timestamp(word64(v)))
	case *array.Uint64Builder:
		b.Append(word64(v))
	case *array.Float16Builder:
		b.Append(float16.FromBits(uint16(word64(v))))
	case *array.Float32Builder:
		b.Append(math.Float32frombits(uint32(word64(v))))
	case *array.Float64Builder:
		b.Append(math.Float64frombits(word64(v)))
	case *array.Decimal128Builder:
		b.Append(decimal128.New(int64(word64(v[8:])), word64(v[:8])))
	case *array.FixedSizeBinaryBuilder:
		b.Append(v)
	case *array.StringBuilder:
		b.Append(string(v))
	case *array.LargeStringBuilder:
		b.Append(string(v))
	case *array.StringViewBuilder:
		b.Append(string(v))
	case *array.BinaryBuilder:
		b.Append(v)
	case *array.BinaryViewBuilder:
		b.Append(v)
	case *array.BinaryDictionaryBuilder:
		if err := b.AppendString(string(v)); err != nil {
			panic(err)
		}
	default:
		panic(fmt.Sprintf("no builder %T", to))
	}
}

// writeArrowTable writes an Arrow file or stream.
func writeArrowTable(tb testing.TB, rng *rand.Rand, table *testTable, schema *arrow.Schema, w io.Writer, isFile bool) {
	tb.Helper()
	codecs := [][]ipc.Option{nil, {ipc.WithLZ4()}, {ipc.WithZstd()}}
	options := append(codecs[rng.IntN(len(codecs))], ipc.WithSchema(schema))
	var to interface {
		Write(arrow.RecordBatch) error
		Close() error
	} = ipc.NewWriter(w, options...)
	oneBatch := false
	if isFile {
		to, _ = ipc.NewFileWriter(w, options...)
		oneBatch = slices.ContainsFunc(schema.Fields(), func(f arrow.Field) bool { return f.Type == dictionaryType })
	}
	builder := array.NewRecordBuilder(memory.DefaultAllocator, schema)
	for from := 0; from < table.rows; {
		n := 1 + rng.IntN(min(table.rows-from, 9000))
		if oneBatch { // files have one dictionary
			n = table.rows
		}
		for i, c := range table.columns {
			for _, v := range c.values[from : from+n] {
				appendArrow(builder.Field(i), v)
			}
		}
		batch := builder.NewRecordBatch()
		if err := to.Write(batch); err != nil {
			tb.Fatal(err)
		}
		from += n
	}
	if err := to.Close(); err != nil {
		tb.Fatal(err)
	}
}

// readArrowTable returns the bytes of the values by row and column. It reads files with the reader
// of files, which needs their footer.
func readArrowTable(tb testing.TB, data []byte, isFile bool) (rows [][][]byte) {
	tb.Helper()
	add := func(batch arrow.RecordBatch) {
		for row := range int(batch.NumRows()) {
			var values [][]byte
			for i := range int(batch.NumCols()) {
				values = append(values, arrowBytes(batch.Column(i), row))
			}
			rows = append(rows, values)
		}
	}
	if isFile {
		r, err := ipc.NewFileReader(bytes.NewReader(data))
		if err != nil {
			tb.Fatal(err)
		}
		for i := range r.NumRecords() {
			batch, err := r.RecordBatchAt(i)
			if err != nil {
				tb.Fatal(err)
			}
			add(batch)
		}
		return rows
	}
	r, err := ipc.NewReader(bytes.NewReader(data))
	if err != nil {
		tb.Fatal(err)
	}
	for r.Next() {
		add(r.RecordBatch())
	}
	if r.Err() != nil {
		tb.Fatal(r.Err())
	}
	return rows
}

func arrowBytes(from arrow.Array, row int) []byte {
	if from.IsNull(row) {
		return nil
	}
	switch a := from.(type) {
	case *array.Boolean:
		return []byte{map[bool]byte{true: 1}[a.Value(row)]}
	case *array.String:
		return []byte(a.Value(row))
	case *array.LargeString:
		return []byte(a.Value(row))
	case *array.Binary:
		return append([]byte{}, a.Value(row)...)
	case *array.LargeBinary:
		return append([]byte{}, a.Value(row)...)
	}
	width := from.DataType().(arrow.FixedWidthDataType).BitWidth() / 8
	at := (from.Data().Offset() + row) * width
	return bytes.Clone(from.Data().Buffers()[1].Bytes()[at : at+width])
}

// TestRandomArrowTables sorts random files and streams.
func TestRandomArrowTables(t *testing.T) {
	forSeeds(t, tables(), 56, func(t *testing.T, rng *rand.Rand) {
		table, schema := randomArrowTable(rng)
		isFile := rng.IntN(2) == 0
		opt := table.randomOptions(rng, t.TempDir())
		opt.Compression = []string{"", "none", "lz4", "zstd"}[rng.IntN(4)]
		opt.Inputs = []string{filepath.Join(t.TempDir(), "in")}
		f := testfiles.Create(t, opt.Inputs[0])
		writeArrowTable(t, rng, table, schema, f, isFile)
		f.Close()
		if _, err := Sort(context.Background(), opt); err != nil {
			t.Fatal(err)
		}
		data := testfiles.Read(t, opt.Output)
		table.compare(t, readArrowTable(t, data, isFile), table.selected(opt))
	})
}

// TestCutArrowFile sorts files that end after each of their three record batches, or before the end of
// the footer, and two files in one. Only the whole file may be sorted.
func TestCutArrowFile(t *testing.T) {
	schema := arrow.NewSchema([]arrow.Field{{Name: "k", Type: arrow.PrimitiveTypes.Int64}}, nil)
	var data bytes.Buffer
	w, err := ipc.NewFileWriter(&data, ipc.WithSchema(schema))
	if err != nil {
		t.Fatal(err)
	}
	ends := []int{}
	for range 3 {
		b := array.NewRecordBuilder(memory.DefaultAllocator, schema)
		b.Field(0).(*array.Int64Builder).AppendValues([]int64{3, 1, 2}, nil)
		if err := w.Write(b.NewRecordBatch()); err != nil {
			t.Fatal(err)
		}
		ends = append(ends, data.Len())
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	whole := data.Len()
	data.Write(bytes.Clone(data.Bytes()))
	for _, size := range append(ends, whole-1, whole, 2*whole) {
		opt := Options{
			Inputs: []string{filepath.Join(t.TempDir(), "in")},
			Output: filepath.Join(t.TempDir(), "out"),
			Keys:   []Key{{Column: "k"}},
		}
		testfiles.Write(t, opt.Inputs[0], data.Bytes()[:size])
		_, err := Sort(t.Context(), opt)
		if (err == nil) != (size == whole) {
			t.Errorf("%d of %d bytes: %v", size, whole, err)
		}
	}
}

// TestJoinedArrowStreams sorts streams that follow each other in one file. Zeros may follow a stream.
func TestJoinedArrowStreams(t *testing.T) {
	schema := arrow.NewSchema([]arrow.Field{{Name: "k", Type: arrow.PrimitiveTypes.Int64}}, nil)
	stream := func(values ...int64) []byte {
		var data bytes.Buffer
		w := ipc.NewWriter(&data, ipc.WithSchema(schema))
		b := array.NewRecordBuilder(memory.DefaultAllocator, schema)
		b.Field(0).(*array.Int64Builder).AppendValues(values, nil)
		if err := errors.Join(w.Write(b.NewRecordBatch()), w.Close()); err != nil {
			t.Fatal(err)
		}
		return data.Bytes()
	}
	one := stream(3, 1, 2)
	for _, row := range []struct {
		after []byte
		want  error
	}{
		{nil, nil}, {make([]byte, 100), nil}, {stream(4), errAfterEnd}, {[]byte{1}, errAfterEnd},
	} {
		opt := Options{
			Inputs: []string{filepath.Join(t.TempDir(), "in")},
			Output: filepath.Join(t.TempDir(), "out"),
			Keys:   []Key{{Column: "k"}},
		}
		testfiles.Write(t, opt.Inputs[0], append(bytes.Clone(one), row.after...))
		if _, err := Sort(t.Context(), opt); !errors.Is(err, row.want) {
			t.Errorf("%d bytes after a stream: %v", len(row.after), err)
		}
	}
}

// TestRandomArrowVerbs checks random files and streams, sorts them and combines two of them, which share rows.
func TestRandomArrowVerbs(t *testing.T) {
	forSeeds(t, tables()/8, 60, checkArrowVerbs)
}

func checkArrowVerbs(t *testing.T, rng *rand.Rand) {
	whole, schema := randomArrowTable(rng)
	isFile := rng.IntN(2) == 0
	opt := whole.randomOptions(rng, t.TempDir())
	opt.Unique = false
	opt.Limit = 0
	opt.Verify = false
	opt.Strategy = ""
	names, parts := sortedParts(t, rng, opt, whole, func(part *testTable, name string) {
		f := testfiles.Create(t, name)
		writeArrowTable(t, rng, part, schema, f, isFile)
		f.Close()
	})
	opt.Inputs = names
	checkCombinations(t, rng, opt, whole, parts, func(name string) [][][]byte {
		return readArrowTable(t, testfiles.Read(t, name), isFile)
	})
}

// TestArrowBatchSizes sorts streams whose batches have the given numbers of rows, with 16 workers. Batches
// that do not fit into the memory together must wait for each other, whatever the first one predicts.
func TestArrowBatchSizes(t *testing.T) {
	const most = 200_000 // rows of 8 bytes: a fifth of the memory for batches
	schema := arrow.NewSchema([]arrow.Field{{Name: "k", Type: arrow.PrimitiveTypes.Int64}}, nil)
	keys := make([]int64, most*6)
	for i := range keys {
		keys[i] = int64(i) * 7919 % int64(len(keys))
	}
	for i, row := range []struct {
		sizes []int
		want  error
	}{
		{append([]int{1}, slices.Repeat([]int{most}, 8)...), nil},
		{[]int{0, most, 1, most, most, 1, most, most, most, most}, nil},
		{[]int{1, 6 * most}, errBatchTooLarge},
	} {
		in := filepath.Join(t.TempDir(), "in.arrows")
		var stream, sorted bytes.Buffer
		w := ipc.NewWriter(&stream, ipc.WithSchema(schema))
		var want []int64
		for _, rows := range row.sizes {
			b := array.NewRecordBuilder(memory.DefaultAllocator, schema)
			b.Field(0).(*array.Int64Builder).AppendValues(keys[:rows], nil)
			if err := w.Write(b.NewRecordBatch()); err != nil {
				t.Fatal(err)
			}
			want = append(want, keys[:rows]...)
		}
		if err := errors.Join(w.Close(), os.WriteFile(in, stream.Bytes(), 0o600)); err != nil {
			t.Fatal(err)
		}
		_, err := Sort(t.Context(), Options{
			Inputs: []string{in}, Keys: []Key{{Column: "k"}}, Stdout: &sorted, Memory: MinMemory, Workers: 16,
		})
		if !errors.Is(err, row.want) {
			t.Fatalf("row %d: error %v instead of %v", i, err, row.want)
		}
		if err != nil {
			continue
		}
		slices.Sort(want)
		if got := int64sOf(t, &sorted); !slices.Equal(got, want) {
			t.Errorf("row %d: %d rows instead of %d, or other ones", i, len(got), len(want))
		}
	}
}

// int64sOf returns the values of the first column of a stream.
func int64sOf(t *testing.T, stream io.Reader) (values []int64) {
	t.Helper()
	r, err := ipc.NewReader(stream)
	if err != nil {
		t.Fatal(err)
	}
	for r.Next() {
		values = append(values, r.RecordBatch().Column(0).(*array.Int64).Int64Values()...)
	}
	if r.Err() != nil {
		t.Fatal(r.Err())
	}
	return values
}
