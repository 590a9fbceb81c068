package columns

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"

	"github.com/apache/arrow-go/v18/parquet/metadata"

	"github.com/extsort/extsort"
)

// FindOptions describe which rows of a sorted Parquet file to find, and in which form to write them. Without
// Keys, those are used that the file declares.
type FindOptions struct {
	PrintOptions
	Values   []string // of the first keys, as Print writes them
	From, To string   // with no Values: rows whose first key is at least From and less than To; "": no bound
	Count    bool     // write only the number of rows
	AsText   bool     // write text, not a Parquet file
}

// Find writes the rows with the given keys, in the order of the file, and returns their number. It reads the
// statistics of the row groups and the page index, those pages of the keys that may contain the values, and the
// pages of the rows it finds.
func Find(ctx context.Context, opt FindOptions) (found int64, err error) {
	if err := checkForm(opt.Form); err != nil {
		return 0, err
	}
	t, m, err := opt.open()
	if err != nil {
		return 0, err
	}
	defer t.close()
	if err := t.orderOf(&opt.Options); err != nil {
		return 0, err
	}
	if err := t.checkTarget(opt.Options, false); err != nil {
		return 0, err
	}
	w, err := t.wantedRows(opt)
	if err != nil {
		return 0, err
	}
	if err := t.selectRows(ctx, w, m); err != nil {
		return 0, err
	}
	found = max(t.rows(), 0)
	target, err := newTarget(ctx, opt.Options)
	if err != nil {
		return 0, err
	}
	switch {
	case opt.Count:
		_, err = fmt.Fprintln(target, found)
	case opt.AsText:
		err = t.printFound(ctx, opt.PrintOptions, m, target)
	default:
		err = t.copyFound(ctx, opt.Options, m.forSets(), target)
	}
	if err == nil {
		err = target.Commit(ctx)
	}
	if err != nil {
		return 0, errors.Join(err, target.Abort())
	}
	return found, nil
}

// wanted are the rows to find: those with the values, or those whose first key is in a range.
type wanted struct {
	keys     []*column
	values   [][]byte // of the first keys; nil: a null
	from, to []byte   // nil: no bound
	isRange  bool
}

// wantedRows parses the keys to find.
func (t *table) wantedRows(opt FindOptions) (w wanted, err error) {
	if err := t.setKeyLayout(opt.Keys, opt.NullsFirst); err != nil {
		return w, err
	}
	if len(t.layout.computed) > 0 {
		return w, errors.New("only sorts and checks compute keys: sort with Options.KeepKey, and use that column here")
	}
	for _, c := range t.layout.chosen {
		c.flip = false
		c.isSigned = false
	}
	w.keys = t.layout.chosen
	if len(opt.Values) > len(w.keys) {
		return w, fmt.Errorf("%d values are given, but the key is %s", len(opt.Values), namesOf(w.keys))
	}
	for i, text := range opt.Values {
		value, err := w.keys[i].parseValue(text)
		if err != nil {
			return w, err
		}
		w.values = append(w.values, value)
	}
	w.isRange = len(opt.Values) == 0
	for _, bound := range []struct {
		text string
		to   *[]byte
	}{{opt.From, &w.from}, {opt.To, &w.to}} {
		if bound.text == "" {
			continue
		}
		first := w.keys[0]
		if !first.isVariable && len(first.fields) != 1 {
			return w, fmt.Errorf("key %s has the type %s, for which ranges do not work: find a value", first.name,
				first.typeText())
		}
		if *bound.to, err = first.parseValue(bound.text); err != nil {
			return w, err
		}
	}
	return w, nil
}

// mayContain reports whether values from least to greatest may include the first key of a wanted row.
func (w wanted) mayContain(least, greatest []byte) bool {
	c := w.keys[0]
	if !w.isRange {
		return w.values[0] == nil || c.compareValues(least, w.values[0]) <= 0 && c.compareValues(greatest, w.values[0]) >= 0
	}
	return (w.from == nil || c.compareValues(greatest, w.from) >= 0) && (w.to == nil || c.compareValues(least, w.to) < 0)
}

// isWanted reports whether a row of the layout of the keys is wanted.
func (w wanted) isWanted(row []byte, value func(i int) []byte) bool {
	if !w.isRange {
		for i, v := range w.values {
			isNull := w.keys[i].isNull(row)
			if isNull != (v == nil) || !isNull && w.keys[i].compareValues(value(i), v) != 0 {
				return false
			}
		}
		return true
	}
	if w.keys[0].isNull(row) {
		return false
	}
	first := value(0)
	return w.mayContain(first, first)
}

// compareValues compares two values of a column by the order of a sort.
func (c *column) compareValues(a, b []byte) int {
	switch {
	case c.leaf != nil && !c.isVariable && c.isDecimal() && c.isBigEndian():
		if (a[0]^b[0])&0x80 != 0 {
			return bytes.Compare(b, a)
		}
		return bytes.Compare(a, b)
	case c.isVariable || len(c.fields) != 1 || len(c.fields[0].Type) > len("i128"):
		return bytes.Compare(a, b)
	case c.fields[0].Type == "i128":
		return compareBig(a, b)
	}
	x, _ := c.signedOrder(a)
	y, _ := c.signedOrder(b)
	switch {
	case x < y:
		return -1
	case x > y:
		return 1
	}
	return 0
}

// compareBig compares little-endian numbers in two's complement.
func compareBig(a, b []byte) int {
	x := slices.Clone(a)
	y := slices.Clone(b)
	slices.Reverse(x)
	slices.Reverse(y)
	x[0] ^= 0x80
	y[0] ^= 0x80
	return bytes.Compare(x, y)
}

// A rowRange is a part of the rows of a row group.
type rowRange struct {
	group      int
	first, end int64
}

// A partialFile is a Parquet file of which only some rows are read.
type partialFile struct {
	*parquetFile
	ranges []rowRange
	at     int // the next range
}

func (in *partialFile) count() (total int64) {
	for _, r := range in.ranges {
		total += r.end - r.first
	}
	return total
}

// next returns the next range of rows.
func (in *partialFile) next() (openRows, error) {
	if in.at == len(in.ranges) {
		return nil, io.EOF
	}
	r := in.ranges[in.at]
	in.at++
	return func(l *layout, maxRows int, floats *floatFacts) (*rowDecoder, error) {
		return in.openRange(r, l, maxRows, floats)
	}, nil
}

// selectRows replaces the inputs by the wanted rows.
func (t *table) selectRows(ctx context.Context, w wanted, m budget) error {
	t.place(&sample{})
	for i, in := range t.inputs {
		file, ok := in.(*parquetFile)
		if !ok {
			return fmt.Errorf("%s: is Arrow data, which find does not read: use extsort print", in.label())
		}
		part := &partialFile{parquetFile: file}
		for group := range file.reader.NumRowGroups() {
			part.ranges = append(part.ranges, file.candidates(w, group)...)
		}
		exact, err := t.matches(ctx, w, part, m)
		if err != nil {
			return err
		}
		t.inputs[i] = &partialFile{parquetFile: file, ranges: exact}
	}
	return nil
}

// candidates returns the rows of a row group that may be wanted: those of pages whose first key can have the
// value, according to the statistics and the page index.
func (in *parquetFile) candidates(w wanted, group int) (found []rowRange) {
	rows := in.reader.MetaData().RowGroup(group)
	whole := []rowRange{{group, 0, rows.NumRows()}}
	defer func() {
		if recover() != nil { // damaged statistics
			found = whole
		}
	}()
	c := w.keys[0]
	if !w.isRange && w.values[0] == nil || rows.NumRows() == 0 {
		return whole
	}
	chunk, err := rows.ColumnChunk(c.index)
	if err != nil {
		return whole
	}
	stats, err := chunk.Statistics()
	if err == nil && stats != nil && stats.HasMinMax() && c.hasStatistics() &&
		!w.mayContain(stats.EncodeMin(), stats.EncodeMax()) {
		return nil
	}
	pages, err := in.pagesOf(w, group, rows.NumRows())
	if err != nil || !c.hasStatistics() {
		return whole // damage shows when the pages are read
	}
	return pages
}

// hasStatistics reports whether statistics are in the order of compareValues. Those of floats omit NaNs.
func (c *column) hasStatistics() bool {
	return c.isVariable && c.unordered == "" || len(c.fields) == 1 && !c.isFloat() && c.width <= 8 && !c.isSigned
}

var errNoIndex = errors.New("no page index")

// pagesOf returns the rows of the pages that may contain wanted rows, according to the page index.
func (in *parquetFile) pagesOf(w wanted, group int, rows int64) (ranges []rowRange, err error) {
	defer func() {
		if reason := recover(); reason != nil {
			err = errNoIndex
		}
	}()
	values, offsets, err := in.pageIndex(group, w.keys[0].index)
	if err != nil {
		return nil, err
	}
	least := values.GetMinValues()
	greatest := values.GetMaxValues()
	nulls := values.GetNullPages()
	places := offsets.GetPageLocations()
	if len(least) != len(places) || len(greatest) != len(places) || len(nulls) != len(places) {
		return nil, errNoIndex
	}
	for i, place := range places {
		if nulls[i] || !w.mayContain(least[i], greatest[i]) {
			continue
		}
		end := rows
		if i+1 < len(places) {
			end = places[i+1].FirstRowIndex
		}
		if place.FirstRowIndex < 0 || end > rows || end < place.FirstRowIndex {
			return nil, errNoIndex
		}
		ranges = appendRange(ranges, rowRange{group, place.FirstRowIndex, end})
	}
	return ranges, nil
}

// pageIndex returns the page index of a column chunk.
func (in *parquetFile) pageIndex(group, column int) (values metadata.ColumnIndex, offsets metadata.OffsetIndex,
	err error) {
	reader, err := in.reader.GetPageIndexReader().RowGroup(group)
	if err != nil || reader == nil {
		return nil, nil, errNoIndex
	}
	if values, err = reader.GetColumnIndex(column); err != nil || values == nil {
		return nil, nil, errNoIndex
	}
	if offsets, err = reader.GetOffsetIndex(column); err != nil || offsets == nil {
		return nil, nil, errNoIndex
	}
	return values, offsets, nil
}

// appendRange appends rows to ranges of the same row group.
func appendRange(ranges []rowRange, r rowRange) []rowRange {
	last := len(ranges) - 1
	if last >= 0 && ranges[last].group == r.group && ranges[last].end == r.first {
		ranges[last].end = r.end
		return ranges
	}
	return append(ranges, r)
}

// matches returns the wanted rows among the candidates.
func (t *table) matches(ctx context.Context, w wanted, part *partialFile, m budget) (exact []rowRange, err error) {
	candidates := part.ranges
	if len(candidates) == 0 {
		return nil, nil
	}
	at := candidates[0].first
	places := make([]valuePlace, len(w.keys))
	for i, c := range w.keys {
		places[i] = t.layout.placeOf(c)
	}
	var scratch []byte
	keys := &table{inputs: []input{part}, layout: t.layout}
	err = keys.eachRow(ctx, m, func(row []byte) error {
		for at == candidates[0].end {
			candidates = candidates[1:]
			at = candidates[0].first
		}
		value := func(i int) []byte {
			c := w.keys[i]
			if !c.isVariable {
				return row[c.offset : c.offset+c.width]
			}
			var v []byte
			v, scratch = places[i].value(row, scratch[:0])
			return v
		}
		if w.isWanted(row, value) {
			exact = appendRange(exact, rowRange{candidates[0].group, at, at + 1})
		}
		at++
		return nil
	})
	return exact, err
}

// printFound prints the found rows.
func (t *table) printFound(ctx context.Context, opt PrintOptions, m budget, w io.Writer) error {
	used, err := t.chosenColumns(opt.Columns)
	if err != nil {
		return err
	}
	if err := t.setLayout(used, nil, false); err != nil {
		return err
	}
	if err := m.checkColumns(t.layout); err != nil {
		return fmt.Errorf("%w, or choose fewer columns with PrintOptions.Columns", err)
	}
	t.layout.arrange(&sample{})
	opt.First = 0
	opt.End = math.MaxInt64
	return t.print(ctx, opt, m, w)
}

// copyFound writes the found rows to a Parquet file like the input.
func (t *table) copyFound(ctx context.Context, opt Options, m budget, w extsort.Sink) (err error) {
	first := t.inputs[0].(*partialFile).parquetFile
	if err := cmp.Or(checkOutput(opt, first), t.checkPartitions(opt.Inputs)); err != nil {
		return err
	}
	if err := t.setLayout(first.columns(), opt.Keys, opt.NullsFirst); err != nil {
		return err
	}
	if err := m.checkColumns(t.layout, t.layout); err != nil {
		return err
	}
	t.layout.arrange(&sample{})
	if !t.declares(opt) {
		t.layout.order = nil // the rows may be out of order
	}
	half := m
	half.columns /= 2
	floats := newFloatFacts(t.layout)
	for i := range floats.columns {
		floats.columns[i].Store(t.layout.isFloatColumn(i))
	}
	out := &lateSink{
		layout:    t.layout,
		sizes:     half.sink(t.layout, false),
		pick:      Options{}.picker(),
		tiedBytes: half.tiedBytes(),
	}
	out.open = func() (groupWriter, error) {
		return openWriter(w, first, t.layout, opt, floats, half)
	}
	defer func() { err = errors.Join(err, out.close(err == nil)) }()
	src := t.open(ctx, half)
	defer src.close()
	_, err = io.Copy(out, src)
	return cmp.Or(err, t.checkUnchanged())
}
