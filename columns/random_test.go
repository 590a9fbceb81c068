package columns

import (
	"bytes"
	"cmp"
	"context"
	"encoding/binary"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/parquet"
	"github.com/apache/arrow-go/v18/parquet/compress"
	"github.com/apache/arrow-go/v18/parquet/file"
	"github.com/apache/arrow-go/v18/parquet/schema"
	parquetgo "github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/deprecated"
	"github.com/parquet-go/parquet-go/encoding"

	"github.com/extsort/extsort"
	"github.com/extsort/extsort/internal/testfiles"
)

// A columnKind is a type of columns with its order. Values are little-endian bytes; nil is a null.
type columnKind struct {
	name     string
	physical parquet.Type
	logical  schema.LogicalType
	width    int
	compare  func(a, b []byte) int
	foreign  parquetgo.Node // the same type of parquet-go; nil: it cannot write the type
}

func integers[T int32 | uint32 | int64 | uint64](width int) func(a, b []byte) int {
	return func(a, b []byte) int { return cmp.Compare(T(word64(a)), T(word64(b))) }
}

func word64(b []byte) uint64 {
	var full [8]byte
	copy(full[:], b)
	return binary.LittleEndian.Uint64(full[:])
}

// totalOrder compares floats in IEEE 754 totalOrder.
func totalOrder(bits int) func(a, b []byte) int {
	normalized := func(b []byte) uint64 {
		v := word64(b)
		sign := uint64(1) << (bits - 1)
		if v&sign != 0 {
			return (sign<<1 - 1) ^ v
		}
		return v | sign
	}
	return func(a, b []byte) int { return cmp.Compare(normalized(a), normalized(b)) }
}

// signedBig compares big-endian numbers in two's complement.
func signedBig(a, b []byte) int {
	flipped := func(v []byte) []byte { return append([]byte{v[0] ^ 0x80}, v[1:]...) }
	return bytes.Compare(flipped(a), flipped(b))
}

func int96s(a, b []byte) int {
	days := cmp.Compare(int32(word64(a[8:])), int32(word64(b[8:])))
	return cmp.Or(days, cmp.Compare(int64(word64(a[:8])), int64(word64(b[:8]))))
}

var columnKinds = []columnKind{
	{"bool", parquet.Types.Boolean, nil, 1, bytes.Compare, parquetgo.Leaf(parquetgo.BooleanType)},
	{"i32", parquet.Types.Int32, nil, 4, integers[int32](4), parquetgo.Leaf(parquetgo.Int32Type)},
	{"u32", parquet.Types.Int32, schema.NewIntLogicalType(32, false), 4, integers[uint32](4), parquetgo.Uint(32)},
	{"date", parquet.Types.Int32, schema.DateLogicalType{}, 4, integers[int32](4), parquetgo.Date()},
	{"d9", parquet.Types.Int32, schema.NewDecimalLogicalType(9, 2), 4, integers[int32](4),
		parquetgo.Decimal(2, 9, parquetgo.Int32Type)},
	{"i64", parquet.Types.Int64, nil, 8, integers[int64](8), parquetgo.Leaf(parquetgo.Int64Type)},
	{"u64", parquet.Types.Int64, schema.NewIntLogicalType(64, false), 8, integers[uint64](8), parquetgo.Uint(64)},
	{"utc", parquet.Types.Int64, schema.NewTimestampLogicalType(true, schema.TimeUnitMicros), 8, integers[int64](8),
		parquetgo.TimestampAdjusted(parquetgo.Microsecond, true)},
	{"local", parquet.Types.Int64, schema.NewTimestampLogicalType(false, schema.TimeUnitNanos), 8, integers[int64](8),
		parquetgo.TimestampAdjusted(parquetgo.Nanosecond, false)},
	{"f32", parquet.Types.Float, nil, 4, totalOrder(32), parquetgo.Leaf(parquetgo.FloatType)},
	{"f64", parquet.Types.Double, nil, 8, totalOrder(64), parquetgo.Leaf(parquetgo.DoubleType)},
	{"f16", parquet.Types.FixedLenByteArray, schema.Float16LogicalType{}, 2, totalOrder(16), nil},
	{"i96", parquet.Types.Int96, nil, 12, int96s, parquetgo.Leaf(parquetgo.Int96Type)},
	{"flba", parquet.Types.FixedLenByteArray, nil, 5, bytes.Compare,
		parquetgo.Leaf(parquetgo.FixedLenByteArrayType(5))},
	{"uuid", parquet.Types.FixedLenByteArray, schema.UUIDLogicalType{}, 16, bytes.Compare, parquetgo.UUID()},
	{"d30", parquet.Types.FixedLenByteArray, schema.NewDecimalLogicalType(30, 4), 13, signedBig,
		parquetgo.Decimal(4, 30, parquetgo.FixedLenByteArrayType(13))},
	{"text", parquet.Types.ByteArray, schema.StringLogicalType{}, 0, bytes.Compare, parquetgo.String()},
	{"binary", parquet.Types.ByteArray, nil, 0, bytes.Compare, parquetgo.Leaf(parquetgo.ByteArrayType)},
	{"json", parquet.Types.ByteArray, schema.JSONLogicalType{}, 0, bytes.Compare, parquetgo.JSON()},
}

// A testColumn is a column of a random table.
type testColumn struct {
	columnKind
	path     string
	optional bool
	nonNull  bool   // there are no nulls although they are allowed
	nonzero  int    // bytes of an integer that are not 0; 0: all
	distinct int    // number of different values; 0: any
	common   string // the beginning of most values of variable width
	longest  int    // bytes of a value of variable width, without its beginning
	values   [][]byte
}

// A testTable is a random table.
type testTable struct {
	columns []*testColumn
	rows    int
}

// randomValue returns a value of a column; special values are frequent.
func (c *testColumn) randomValue(rng *rand.Rand) []byte {
	if c.optional && !c.nonNull && rng.IntN(4) == 0 {
		return nil
	}
	value := make([]byte, c.width)
	if c.width == 0 {
		value = c.randomText(rng)
	}
	for i := range value[:c.width] {
		value[i] = byte(rng.Uint32())
	}
	switch {
	case c.width == 0:
	case c.nonzero > 0 && (c.physical == parquet.Types.Int32 || c.physical == parquet.Types.Int64):
		clear(value[min(c.nonzero, c.width):])
	case c.name == "bool":
		value[0] &= 1
	case c.distinct > 0:
		clear(value[1:])
		value[0] %= byte(c.distinct)
	case c.name == "f64" && rng.IntN(3) == 0:
		specials := []uint64{0, 1 << 63, math.Float64bits(math.NaN()), 0xfff8_0000_0000_0123, 0x7ff0_0000_0000_0000,
			0x7ff8_0000_0000_0042}
		binary.LittleEndian.PutUint64(value, specials[rng.IntN(len(specials))])
	case c.name == "f32" && rng.IntN(3) == 0:
		specials := []uint32{0, 1 << 31, 0x7fc0_0000, 0xffc0_0123, 0x7f80_0000}
		binary.LittleEndian.PutUint32(value, specials[rng.IntN(len(specials))])
	}
	return value
}

// randomText returns a value of variable width. Many are equal, or begin like others, and few are
// very long.
func (c *testColumn) randomText(rng *rand.Rand) []byte {
	if c.distinct > 0 {
		return fmt.Appendf(nil, "%s%d", c.common, rng.IntN(c.distinct))
	}
	text := []byte{}
	if rng.IntN(5) > 0 {
		text = append(text, c.common...)
	}
	n := rng.IntN(c.longest + 1)
	if rng.IntN(1000) == 0 {
		n = rng.IntN(20000)
	}
	for range n {
		text = append(text, "\x00\x00ab\xffz"[rng.IntN(6)])
	}
	return text
}

// commonTexts are the beginnings of values of variable width.
func commonTexts(rows int) []string {
	all := []string{"", "", "a", "https://www.example.com/"}
	if rows <= 3000 { // rows with equal beginnings are sorted in memory
		all = append(all, strings.Repeat("a", 300))
	}
	return all
}

// randomTable returns a table with a few columns of any kinds.
func randomTable(rng *rand.Rand) *testTable {
	t := &testTable{rows: []int{0, 1, 2, 100, 3000, 20000}[rng.IntN(6)]}
	for i := range 1 + rng.IntN(7) {
		c := &testColumn{
			columnKind: columnKinds[rng.IntN(len(columnKinds))],
			path:       fmt.Sprintf("c%d", i),
			optional:   rng.IntN(2) == 0,
			nonNull:    rng.IntN(3) == 0,
			nonzero:    max(0, rng.IntN(14)-6),
			distinct:   []int{0, 0, 3, 100}[rng.IntN(4)],
			longest:    []int{1, 5, 20, 60, 200}[rng.IntN(5)],
		}
		common := commonTexts(t.rows)
		c.common = common[rng.IntN(len(common))]
		for range t.rows {
			c.values = append(c.values, c.randomValue(rng))
		}
		t.columns = append(t.columns, c)
	}
	return t
}

// writeFile writes the rows [from, to) with one of the two libraries.
func (t *testTable) writeFile(tb testing.TB, rng *rand.Rand, name string, from, to int) {
	t.write(tb, rng, name, from, to, false)
}

// write is writeFile. isPart means that other files have the same schema.
func (t *testTable) write(tb testing.TB, rng *rand.Rand, name string, from, to int, isPart bool) {
	tb.Helper()
	f := testfiles.Create(tb, name)
	isForeign := rng.IntN(2) == 0
	for _, c := range t.columns {
		isForeign = isForeign && c.foreign != nil
	}
	if isForeign && !isPart { // the schemas of the libraries differ in names
		t.writeForeign(tb, rng, f, from, to)
	} else {
		t.writeArrow(tb, rng, f, from, to)
	}
	f.Close() // the writer of arrow-go may have closed it
}

func (t *testTable) writeArrow(tb testing.TB, rng *rand.Rand, f *os.File, from, to int) {
	tb.Helper()
	var fields schema.FieldList
	for i, c := range t.columns {
		repetition := parquet.Repetitions.Required
		if c.optional {
			repetition = parquet.Repetitions.Optional
		}
		width := -1
		if c.physical == parquet.Types.FixedLenByteArray {
			width = c.width
		}
		node, err := schema.NewPrimitiveNodeLogical(c.path, repetition, c.logical, c.physical, width, int32(i+1))
		if err != nil {
			tb.Fatal(err)
		}
		fields = append(fields, node)
	}
	root, err := schema.NewGroupNode("schema", parquet.Repetitions.Required, fields, -1)
	if err != nil {
		tb.Fatal(err)
	}
	all := []compress.Compression{compress.Codecs.Uncompressed, compress.Codecs.Snappy, compress.Codecs.Zstd,
		compress.Codecs.Gzip, compress.Codecs.Lz4Raw}
	props := []parquet.WriterProperty{
		parquet.WithCompression(all[rng.IntN(len(all))]),
		parquet.WithDictionaryDefault(false),
		parquet.WithDataPageSize(int64(100 + rng.IntN(20000))),
		parquet.WithDataPageVersion(parquet.DataPageVersion(rng.IntN(2))),
	}
	for _, c := range t.columns {
		if c.width == 0 {
			props = append(props, parquet.WithDictionaryFor(c.path, rng.IntN(2) == 0))
		}
	}
	w := file.NewParquetWriter(f, root, file.WithWriterProps(parquet.NewWriterProperties(props...)))
	for from < to || rng.IntN(3) == 0 {
		n := rng.IntN(min(to-from, 9000) + 1)
		if rng.IntN(5) == 0 {
			n = to - from
		}
		group, err := w.AppendBufferedRowGroupChecked()
		if err != nil {
			tb.Fatal(err)
		}
		for i, c := range t.columns {
			chunk, err := group.Column(i)
			if err != nil {
				tb.Fatal(err)
			}
			if err := c.writeChunk(chunk, from, from+n); err != nil {
				tb.Fatal(err)
			}
		}
		if err := group.Close(); err != nil {
			tb.Fatal(err)
		}
		from += n
	}
	if err := w.Close(); err != nil {
		tb.Fatal(err)
	}
}

func (c *testColumn) writeChunk(w file.ColumnChunkWriter, from, to int) error {
	var levels []int16
	var values [][]byte
	for _, value := range c.values[from:to] {
		level := int16(0)
		if value != nil {
			level = 1
			values = append(values, value)
		}
		if c.optional {
			levels = append(levels, level)
		}
	}
	var err error
	switch w := w.(type) {
	case *file.BooleanColumnChunkWriter:
		_, err = w.WriteBatch(convert(values, func(v []byte) bool { return v[0] != 0 }), levels, nil)
	case *file.Int32ColumnChunkWriter:
		_, err = w.WriteBatch(convert(values, func(v []byte) int32 { return int32(word64(v)) }), levels, nil)
	case *file.Int64ColumnChunkWriter:
		_, err = w.WriteBatch(convert(values, func(v []byte) int64 { return int64(word64(v)) }), levels, nil)
	case *file.Float32ColumnChunkWriter:
		_, err = w.WriteBatch(convert(values, func(v []byte) float32 { return math.Float32frombits(uint32(word64(v))) }),
			levels, nil)
	case *file.Float64ColumnChunkWriter:
		_, err = w.WriteBatch(convert(values, func(v []byte) float64 { return math.Float64frombits(word64(v)) }), levels, nil)
	case *file.Int96ColumnChunkWriter:
		_, err = w.WriteBatch(convert(values, func(v []byte) parquet.Int96 { return parquet.Int96(v) }), levels, nil)
	case *file.FixedLenByteArrayColumnChunkWriter:
		_, err = w.WriteBatch(convert(values, func(v []byte) parquet.FixedLenByteArray { return v }), levels, nil)
	case *file.ByteArrayColumnChunkWriter:
		_, err = w.WriteBatch(convert(values, func(v []byte) parquet.ByteArray { return v }), levels, nil)
	}
	return err
}

func convert[T any](values [][]byte, to func([]byte) T) []T {
	all := make([]T, 0, len(values))
	for _, value := range values {
		all = append(all, to(value))
	}
	return all
}

func (t *testTable) writeForeign(tb testing.TB, rng *rand.Rand, f *os.File, from, to int) {
	tb.Helper()
	group := parquetgo.Group{}
	for _, c := range t.columns {
		node := c.foreign
		if c.width == 0 && rng.IntN(2) == 0 {
			encodings := []encoding.Encoding{&parquetgo.Plain, &parquetgo.DeltaLengthByteArray, &parquetgo.DeltaByteArray}
			node = parquetgo.Encoded(node, encodings[rng.IntN(3)])
		} else if rng.IntN(2) == 0 && c.name != "bool" && c.name != "i96" {
			node = parquetgo.Encoded(node, &parquetgo.RLEDictionary)
		}
		if c.optional {
			node = parquetgo.Optional(node)
		}
		group[c.path] = node
	}
	w := parquetgo.NewWriter(f, parquetgo.NewSchema("table", group), parquetgo.Compression(&parquetgo.Snappy),
		parquetgo.MaxRowsPerRowGroup(int64(1+rng.IntN(8000))), parquetgo.KeyValueMetadata("made by", "a test"))
	for row := from; row < to; row++ {
		var values parquetgo.Row
		for i, c := range t.columns {
			values = append(values, c.foreignValue(row).Level(0, c.level(row), i))
		}
		if _, err := w.WriteRows([]parquetgo.Row{values}); err != nil {
			tb.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		tb.Fatal(err)
	}
}

func (c *testColumn) level(row int) int {
	if c.optional && c.values[row] != nil {
		return 1
	}
	return 0
}

func (c *testColumn) foreignValue(row int) parquetgo.Value {
	v := c.values[row]
	if v == nil {
		return parquetgo.NullValue()
	}
	switch c.physical {
	case parquet.Types.Boolean:
		return parquetgo.BooleanValue(v[0] != 0)
	case parquet.Types.Int32:
		return parquetgo.Int32Value(int32(word64(v)))
	case parquet.Types.Int64:
		return parquetgo.Int64Value(int64(word64(v)))
	case parquet.Types.Float:
		return parquetgo.FloatValue(math.Float32frombits(uint32(word64(v))))
	case parquet.Types.Double:
		return parquetgo.DoubleValue(math.Float64frombits(word64(v)))
	case parquet.Types.Int96:
		return parquetgo.Int96Value(deprecated.Int96{uint32(word64(v[:4])), uint32(word64(v[4:8])), uint32(word64(v[8:]))})
	case parquet.Types.ByteArray:
		return parquetgo.ByteArrayValue(v)
	}
	return parquetgo.FixedLenByteArrayValue(v)
}

// readForeign reads a file with parquet-go: the bytes of the values by row and column.
func readForeign(tb testing.TB, name string) (rows [][][]byte) {
	tb.Helper()
	f, err := os.Open(name)
	if err != nil {
		tb.Fatal(err)
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		tb.Fatal(err)
	}
	opened, err := parquetgo.OpenFile(f, info.Size())
	if err != nil {
		tb.Fatal(err)
	}
	buffer := make([]parquetgo.Row, 100)
	for _, group := range opened.RowGroups() {
		reader := group.Rows()
		for {
			n, err := reader.ReadRows(buffer)
			for _, row := range buffer[:n] {
				var values [][]byte
				for _, value := range row {
					values = append(values, bytesOf(value))
				}
				rows = append(rows, values)
			}
			if err != nil {
				break
			}
		}
		reader.Close()
	}
	if int64(len(rows)) != opened.NumRows() {
		tb.Fatalf("%s: read %d of %d rows", name, len(rows), opened.NumRows())
	}
	return rows
}

func bytesOf(v parquetgo.Value) []byte {
	switch {
	case v.IsNull():
		return nil
	case v.Kind() == parquetgo.Boolean:
		return []byte{map[bool]byte{true: 1}[v.Boolean()]}
	case v.Kind() == parquetgo.Int32:
		return binary.LittleEndian.AppendUint32(nil, uint32(v.Int32()))
	case v.Kind() == parquetgo.Int64:
		return binary.LittleEndian.AppendUint64(nil, uint64(v.Int64()))
	case v.Kind() == parquetgo.Float:
		return binary.LittleEndian.AppendUint32(nil, math.Float32bits(v.Float()))
	case v.Kind() == parquetgo.Double:
		return binary.LittleEndian.AppendUint64(nil, math.Float64bits(v.Double()))
	case v.Kind() == parquetgo.Int96:
		all := []byte{}
		for _, word := range v.Int96() {
			all = binary.LittleEndian.AppendUint32(all, word)
		}
		return all
	}
	return append([]byte{}, v.ByteArray()...)
}

// sorted returns the rows of the table in the order of the keys.
func (t *testTable) sorted(keys []Key, nullsFirst bool) [][][]byte {
	rows := make([][][]byte, t.rows)
	for i := range rows {
		for _, c := range t.columns {
			rows[i] = append(rows[i], c.values[i])
		}
	}
	slices.SortStableFunc(rows, func(a, b [][]byte) int {
		for _, key := range keys {
			i := slices.IndexFunc(t.columns, func(c *testColumn) bool { return c.path == key.Column })
			if order := t.columns[i].order(a[i], b[i], key.Desc, nullsFirst); order != 0 {
				return order
			}
		}
		return 0
	})
	return rows
}

// selected returns the sorted rows that a sort with the options writes.
func (t *testTable) selected(opt Options) [][][]byte {
	var rows [][][]byte
	for _, row := range t.sorted(opt.Keys, opt.NullsFirst) {
		last := len(rows) - 1
		switch {
		case !opt.Unique || last < 0 || !t.equalKeys(rows[last], row, opt.Keys):
			rows = append(rows, row)
		case opt.KeepLast:
			rows[last] = row
		}
	}
	if opt.Limit != 0 {
		return rows[:min(int(max(opt.Limit, 0)), len(rows))]
	}
	return rows
}

func (t *testTable) equalKeys(a, b [][]byte, keys []Key) bool {
	for _, key := range keys {
		i := slices.IndexFunc(t.columns, func(c *testColumn) bool { return c.path == key.Column })
		if t.columns[i].order(a[i], b[i], false, false) != 0 {
			return false
		}
	}
	return true
}

func (c *testColumn) order(a, b []byte, desc, nullsFirst bool) int {
	switch {
	case a == nil && b == nil:
		return 0
	case a == nil && nullsFirst, b == nil && !nullsFirst:
		return -1
	case a == nil || b == nil:
		return 1
	case desc:
		return c.compare(b, a)
	}
	return c.compare(a, b)
}

// tables is the number of random tables: fewer in short tests.
func tables() int {
	if testing.Short() {
		return 40
	}
	return 300
}

// TestRandomTables sorts random tables and compares the rows, read by another library, with a
// stable sort of slices.
func TestRandomTables(t *testing.T) {
	forSeeds(t, tables(), 55, checkRandomTable)
}

// forSeeds runs a test with the seeds from 0 to n-1, several at a time. Each test has another salt.
func forSeeds(t *testing.T, n int, salt uint64, test func(t *testing.T, rng *rand.Rand)) {
	t.Helper()
	for seed := range uint64(n) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			t.Parallel()
			test(t, rand.New(rand.NewPCG(seed, salt)))
		})
	}
}

// randomOptions returns options without inputs.
func (t *testTable) randomOptions(rng *rand.Rand, folder string) Options {
	opt := Options{
		Output:     filepath.Join(folder, "out"),
		NullsFirst: rng.IntN(2) == 0,
		Memory:     MinMemory,
		TempDirs:   []string{folder},
		Workers:    1 + rng.IntN(4),
		Verify:     rng.IntN(2) == 0,
		Strategy:   []extsort.Strategy{"", "", extsort.StrategyMerge, extsort.StrategyPartition}[rng.IntN(4)],
	}
	if rng.IntN(4) == 0 {
		opt.Unique = true
		opt.KeepLast = rng.IntN(2) == 0
	}
	if rng.IntN(5) == 0 {
		opt.Limit = int64(rng.IntN(t.rows+2)) - 1
	}
	for _, i := range rng.Perm(len(t.columns))[:1+rng.IntN(min(3, len(t.columns)))] {
		opt.Keys = append(opt.Keys, Key{Column: t.columns[i].path, Desc: rng.IntN(2) == 0})
	}
	return opt
}

func checkRandomTable(t *testing.T, rng *rand.Rand) {
	folder := t.TempDir()
	table := randomTable(rng)
	opt := table.randomOptions(rng, folder)
	if rng.IntN(2) == 0 {
		opt.Compression = Codecs()[rng.IntN(len(Codecs()))]
	}
	cut := table.rows
	if rng.IntN(3) == 0 {
		cut = rng.IntN(table.rows + 1)
	}
	for i, part := range [][2]int{{0, cut}, {cut, table.rows}} {
		if i == 1 && cut == table.rows {
			continue
		}
		name := filepath.Join(folder, fmt.Sprintf("in%d", i))
		table.write(t, rng, name, part[0], part[1], cut < table.rows)
		opt.Inputs = append(opt.Inputs, name)
	}
	if _, err := Sort(context.Background(), opt); err != nil {
		t.Fatal(err)
	}
	table.compare(t, readForeign(t, readableBy(t, opt)), table.selected(opt))
	checkMetadata(t, opt)
}

// compare compares rows.
func (t *testTable) compare(tb testing.TB, got, want [][][]byte) {
	tb.Helper()
	if len(got) != len(want) {
		tb.Fatalf("%d rows instead of %d", len(got), len(want))
	}
	for row := range want {
		for i, c := range t.columns {
			if !bytes.Equal(got[row][i], want[row][i]) || (got[row][i] == nil) != (want[row][i] == nil) {
				tb.Fatalf("row %d, column %s (%s): %q instead of %q", row, c.path, c.name, got[row][i], want[row][i])
			}
		}
	}
}

// readableBy returns a file with the rows of the output that parquet-go can read: it guesses the
// size of LZ4 pages, and fails for some of them. The rows of such an output are sorted once more,
// by nothing that changes their order.
func readableBy(t *testing.T, opt Options) string {
	t.Helper()
	r, err := file.OpenParquetFile(opt.Output, false)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	if r.NumRowGroups() == 0 {
		return opt.Output
	}
	chunk, err := r.MetaData().RowGroup(0).ColumnChunk(0)
	if err != nil {
		t.Fatal(err)
	}
	if chunk.Compression() != compress.Codecs.Lz4Raw {
		return opt.Output
	}
	again := opt
	again.Inputs = []string{opt.Output}
	again.Output = opt.Output + ".again"
	again.Compression = "snappy"
	again.Unique = false
	again.Limit = 0
	if _, err := Sort(context.Background(), again); err != nil {
		t.Fatal(err)
	}
	return again.Output
}

// checkMetadata compares the metadata of the output with the first input.
func checkMetadata(t *testing.T, opt Options) {
	t.Helper()
	open := func(name string) *file.Reader {
		r, err := file.OpenParquetFile(name, false)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { r.Close() })
		return r
	}
	in := open(opt.Inputs[0])
	out := open(opt.Output)
	if !in.MetaData().Schema.Equals(out.MetaData().Schema) {
		t.Errorf("schema %s instead of %s", out.MetaData().Schema, in.MetaData().Schema)
	}
	want := in.MetaData().KeyValueMetadata()
	got := out.MetaData().KeyValueMetadata()
	if !slices.Equal(got.Keys(), want.Keys()) || !slices.Equal(got.Values(), want.Values()) {
		t.Errorf("metadata %v instead of %v", got, want)
	}
	for i := range out.NumRowGroups() {
		group := out.MetaData().RowGroup(i)
		sorting := group.SortingColumns()
		if len(sorting) != len(opt.Keys) || sorting[0].Descending != opt.Keys[0].Desc {
			t.Errorf("row group %d has sorting columns %v", i, sorting)
		}
		chunk, err := group.ColumnChunk(0)
		if err != nil {
			t.Fatal(err)
		}
		if want, err := codecNamed(opt.Compression); err == nil && chunk.Compression() != want {
			t.Errorf("row group %d has compression %v instead of %v", i, chunk.Compression(), want)
		}
		if chunk.GetOffsetIndexLocation() == nil {
			t.Errorf("row group %d has no page index", i)
		}
	}
}
