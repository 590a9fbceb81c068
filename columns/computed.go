package columns

import (
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/float16"
	"github.com/apache/arrow-go/v18/parquet"
	"github.com/apache/arrow-go/v18/parquet/schema"

	"github.com/extsort/extsort"
)

// A computedKey is a key such as hilbert(lon=-180:180,lat). Package extsort computes it from the columns in
// the record. Rows with a null in one of the columns sort like nulls of that column.
type computedKey struct {
	function string
	args     []computedArg
	bits     string // an option such as bits=16, or ""
	desc     bool
}

// A computedArg is a column with the range that is mapped to the curve.
type computedArg struct {
	column *column
	span   string // LEAST:GREATEST; "": not given
}

// parseComputed parses a function of columns.
func parseComputed(columns []*column, key Key) (*computedKey, error) {
	function, arguments, _ := strings.Cut(strings.TrimSuffix(key.Compute, ")"), "(")
	k := &computedKey{function: function, desc: key.Desc}
	for _, text := range strings.Split(arguments, ",") {
		name, span, _ := strings.Cut(strings.TrimSpace(text), "=")
		if name == "bits" && span != "" {
			k.bits = "bits=" + span
			continue
		}
		c, err := columnNamed(columns, name)
		if err != nil {
			return nil, fmt.Errorf("key %s: %w", key.Compute, err)
		}
		if c.isVariable || len(c.fields) != 1 && !k.isHash() || c.flip || c.isSigned {
			return nil, fmt.Errorf("key %s: column %s has the type %s, which the function does not take", key.Compute, name,
				c.typeText())
		}
		k.args = append(k.args, computedArg{column: c, span: span})
	}
	return k, nil
}

// hasNulls reports whether an argument can be null.
func (k *computedKey) hasNulls() bool {
	return slices.ContainsFunc(k.args, func(arg computedArg) bool { return arg.column.isNullableKey })
}

func (k *computedKey) isHash() bool { return k.function == "xxh64" }

// isCurve reports whether values are mapped from a range.
func (k *computedKey) isCurve() bool { return k.function == "hilbert" || k.function == "morton" }

// text returns the key with the places of the columns, as package extsort expects it.
func (k *computedKey) text() string {
	var words []string
	for _, arg := range k.args {
		c := arg.column
		kind := extsort.Bytes(c.width)
		if !k.isHash() {
			kind = c.fields[0].Type
		}
		word := fmt.Sprintf("%d:%s", c.offset, kind)
		if arg.span != "" {
			word += "=" + arg.span
		}
		words = append(words, word)
	}
	if k.bits != "" {
		words = append(words, k.bits)
	}
	return k.function + "(" + strings.Join(words, ",") + ")"
}

// keyBits returns the size of the key.
func (k *computedKey) keyBits() int {
	if !k.isCurve() {
		return 64
	}
	bits := 16
	if k.bits == "bits=32" || k.bits == "" && len(k.args) == 2 {
		bits = 32
	}
	return bits * len(k.args)
}

// addComputed adds the key fields of a computed key.
func (l *layout) addComputed(k *computedKey) {
	for _, arg := range k.args {
		if arg.column.isNullableKey {
			l.keys = append(l.keys, extsort.KeyField{Offset: arg.column.orderPlace, Type: extsort.U8})
		}
	}
	l.keys = append(l.keys, extsort.KeyField{Compute: k.text(), Desc: k.desc})
}

// completeRanges finds the ranges of curves that are not given: in the statistics of the files, or by
// reading the columns.
func (l *layout) completeRanges(ctx context.Context, inputs []input, opt Options, m budget) error {
	var missing []*column
	for _, k := range l.computed {
		for _, arg := range k.args {
			if k.isCurve() && arg.span == "" && !slices.Contains(missing, arg.column) {
				missing = append(missing, arg.column)
			}
		}
	}
	ranges := map[*column]numberRange{}
	var unread []*column
	for _, c := range missing {
		r, ok := rangeInStatistics(inputs, c)
		if ok {
			ranges[c] = r
		} else {
			unread = append(unread, c)
		}
	}
	if err := readRanges(ctx, unread, ranges, opt, m); err != nil {
		return err
	}
	for _, k := range l.computed {
		for i, arg := range k.args {
			if k.isCurve() && arg.span == "" {
				k.args[i].span = ranges[arg.column].text(arg.column)
			}
		}
	}
	return nil
}

// A numberRange is the least and the greatest finite value of a column, as numbers of signedOrder.
type numberRange struct {
	least, greatest int64
	isKnown         bool
}

func (r *numberRange) add(n int64) {
	if !r.isKnown || n < r.least {
		r.least = n
	}
	if !r.isKnown || n > r.greatest {
		r.greatest = n
	}
	r.isKnown = true
}

// text returns the range in the form of computed keys. A column without values has any range.
func (r numberRange) text(c *column) string {
	if !r.isKnown {
		return "0:1"
	}
	return c.orderText(r.least) + ":" + c.orderText(r.greatest)
}

const signBit = math.MinInt64

// signedOrder maps a number to an integer with the same order. ok is false for infinities and NaNs.
func (c *column) signedOrder(value []byte) (n int64, ok bool) {
	switch c.fields[0].Type {
	case extsort.U8, extsort.U16, extsort.U32, extsort.U64:
		return int64(unsigned(value)) ^ signBit, true
	case "f16":
		return floatOrder(float64(float16.FromBits(uint16(unsigned(value))).Float32()))
	case extsort.F32:
		return floatOrder(float64(math.Float32frombits(uint32(unsigned(value)))))
	case extsort.F64:
		return floatOrder(math.Float64frombits(unsigned(value)))
	}
	return signed(value), true
}

func floatOrder(f float64) (n int64, ok bool) {
	n = int64(math.Float64bits(f))
	if n < 0 {
		n ^= math.MaxInt64
	}
	return n, !math.IsNaN(f) && !math.IsInf(f, 0)
}

// orderText returns the text of a number that signedOrder mapped.
func (c *column) orderText(n int64) string {
	switch c.fields[0].Type {
	case extsort.U8, extsort.U16, extsort.U32, extsort.U64:
		return strconv.FormatUint(uint64(n^signBit), 10)
	case "f16", extsort.F32, extsort.F64:
		if n < 0 {
			n ^= math.MaxInt64
		}
		return strconv.FormatFloat(math.Float64frombits(uint64(n)), 'g', -1, 64)
	}
	return strconv.FormatInt(n, 10)
}

// rangeInStatistics returns the range of a column if the statistics of all row groups contain finite values.
func rangeInStatistics(inputs []input, c *column) (r numberRange, ok bool) {
	for _, in := range inputs {
		file, isParquet := in.(*parquetFile)
		if !isParquet {
			return r, false
		}
		for i := range file.reader.MetaData().NumRowGroups() {
			if !file.addStatistics(&r, i, c) {
				return r, false
			}
		}
	}
	return r, true
}

// addStatistics adds the values of a row group to a range. It reports whether they are known and finite.
func (in *parquetFile) addStatistics(r *numberRange, group int, c *column) (isKnown bool) {
	defer func() {
		if recover() != nil { // damaged statistics
			isKnown = false
		}
	}()
	chunk, err := in.reader.MetaData().RowGroup(group).ColumnChunk(c.index)
	if err != nil {
		return false
	}
	stats, err := chunk.Statistics()
	if err != nil || stats == nil {
		return false
	}
	if chunk.NumValues() == 0 || stats.HasNullCount() && stats.NullCount() == chunk.NumValues() {
		return true
	}
	if !stats.HasMinMax() {
		return false
	}
	for _, value := range [][]byte{stats.EncodeMin(), stats.EncodeMax()} {
		if len(value) != c.width {
			return false
		}
		n, isFinite := c.signedOrder(value)
		if !isFinite {
			return false
		}
		r.add(n)
	}
	return true
}

// readRanges reads columns to find their ranges.
func readRanges(ctx context.Context, columns []*column, ranges map[*column]numberRange, opt Options, m budget) error {
	if len(columns) == 0 {
		return nil
	}
	if slices.Contains(opt.Inputs, stdinName) {
		return fmt.Errorf("column %s needs a range, because the input can be read only once: "+
			"hilbert(%[1]s=LEAST:GREATEST,...)", columns[0].name)
	}
	t, err := openTable(opt.Inputs, m.columns/2)
	if err != nil {
		return err
	}
	defer t.close()
	var names []string
	for _, c := range columns {
		names = append(names, c.name)
	}
	read, err := t.chosenColumns(names)
	if err != nil {
		return err
	}
	if err := t.setLayout(read, nil, false); err != nil {
		return err
	}
	t.place(&sample{})
	found := make([]numberRange, len(read))
	err = t.eachRow(ctx, m, func(row []byte) error {
		for i, c := range read {
			if c.isNull(row) {
				continue
			}
			if n, isFinite := c.signedOrder(row[c.offset : c.offset+c.width]); isFinite {
				found[i].add(n)
			}
		}
		return nil
	})
	for i, c := range columns {
		ranges[c] = found[i]
	}
	return err
}

// A keptKey is the column in which a computed key is stored, and a writer that moves it there: package extsort
// appends the key to each record.
type keptKey struct {
	column *column
	layout *layout
	next   io.Writer
	split  recordWriter
	moved  []byte // records with their keys in place
}

// keyBytes is the size of a computed key that can be stored.
const keyBytes = 8

// keepKey adds a column for the computed key to the layout, before it is arranged.
func (l *layout) keepKey(name string, in input) error {
	switch {
	case name == "":
		return nil
	case len(l.computed) != 1:
		return fmt.Errorf("Options.KeepKey %s stores one computed key, but there are %d", name, len(l.computed))
	case isTaken(in.columns(), name):
		return fmt.Errorf("Options.KeepKey %s: the file already has such a column: choose another name", name)
	case l.computed[0].keyBits() > 8*keyBytes:
		return fmt.Errorf("Options.KeepKey %s: the key has %d bits, more than a column: use bits=16", name,
			l.computed[0].keyBits())
	}
	c := &column{name: name, index: len(in.columns()), width: keyBytes}
	c.fields = []extsort.KeyField{{Type: extsort.U64}}
	if _, isArrow := in.(*arrowStream); isArrow {
		c.arrowType = arrow.PrimitiveTypes.Uint64
	} else {
		node, err := schema.NewPrimitiveNodeLogical(name, parquet.Repetitions.Required, schema.NewIntLogicalType(64, false),
			parquet.Types.Int64, -1, -1)
		if err != nil {
			return fmt.Errorf("Options.KeepKey %s: %w", name, err)
		}
		c.leaf = schema.NewColumn(node, 0, 0)
	}
	l.kept = c
	return nil
}

// outputLayout returns the layout of the output, which also has the stored key.
func (l *layout) outputLayout() *layout {
	if l.kept == nil {
		return l
	}
	out := *l
	out.columns = append(slices.Clip(l.columns), l.kept)
	out.added = []*column{l.kept}
	return &out
}

// newKeptKey returns a writer of records with an appended key.
func newKeptKey(l *layout, next io.Writer) *keptKey {
	k := &keptKey{column: l.kept, layout: l, next: next}
	k.split = recordWriter{size: l.recordSize + keyBytes, next: k.move}
	return k
}

func (k *keptKey) Write(p []byte) (int, error) {
	k.moved = k.moved[:0]
	n, err := k.split.Write(p)
	if err != nil {
		return n, err
	}
	_, err = k.next.Write(k.moved)
	return n, err
}

// move moves the key of a record to its column. Only the first record of a row has the column.
func (k *keptKey) move(record []byte) error {
	l := k.layout
	start := len(k.moved)
	k.moved = append(k.moved, record[:l.recordSize]...)
	whole := k.moved[start:]
	if len(l.variable) == 0 || whole[l.keyBytes] == 0 {
		key := binary.LittleEndian.Uint64(record[l.recordSize:])
		binary.LittleEndian.PutUint64(whole[k.column.offset:], key)
	}
	return nil
}

// checkComputed refuses what does not work with computed keys.
func (l *layout) checkComputed(opt Options) error {
	if len(l.computed) == 0 {
		if opt.KeepKey != "" {
			return fmt.Errorf("Options.KeepKey %s: no key is computed: give one, for example hilbert(lon,lat)", opt.KeepKey)
		}
		return nil
	}
	for _, c := range l.chosen {
		if c.isVariable {
			return fmt.Errorf("key %s is a string, which cannot be combined with a computed key: leave it out", c.name)
		}
	}
	switch {
	case opt.Verify && opt.KeepKey == "":
		return fmt.Errorf("Options.Verify: the output does not contain the computed key: add Options.KeepKey")
	case opt.Unique && len(l.variable) > 0:
		return fmt.Errorf("Options.Unique: with computed keys, it works only if no column is a string: leave it out")
	}
	return nil
}
