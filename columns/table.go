package columns

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/extsort/extsort"
)

// A table is an open input: one or more files with one schema.
type table struct {
	inputs []input
	layout *layout
}

// open divides the memory limit and opens the inputs.
func (opt Options) open() (*table, budget, error) {
	m, err := opt.budget()
	if err != nil {
		return nil, m, err
	}
	t, err := openTable(opt.Inputs, m.columns/2)
	return t, m, err
}

// openTable opens files, directories and patterns.
func openTable(names []string, maxPage int64) (*table, error) {
	files, err := expand(names)
	if err != nil {
		return nil, err
	}
	if len(files) == 0 {
		return nil, errors.New("no input file")
	}
	inputs, err := openInputs(files, maxPage)
	if err != nil {
		return nil, err
	}
	return &table{inputs: inputs}, nil
}

func (t *table) close() { closeInputs(t.inputs) }

func (t *table) label() string { return t.inputs[0].label() }

// setLayout makes the layout of all columns.
func (t *table) setLayout(all []*column, keys []Key, nullsFirst bool) error {
	l, err := newLayout(all, keys, nullsFirst)
	if err != nil {
		return fmt.Errorf("%s: %w", t.label(), err)
	}
	t.layout = l
	return nil
}

// setKeyLayout makes a layout that has only the columns of the keys.
func (t *table) setKeyLayout(keys []Key, nullsFirst bool) error {
	var used []*column
	all := t.inputs[0].columns()
	for _, key := range keys {
		of, err := columnsOf(all, key)
		if err != nil {
			return fmt.Errorf("%s: %w", t.label(), err)
		}
		for _, c := range of {
			if !slices.Contains(used, c) {
				used = append(used, c)
			}
		}
	}
	return t.setLayout(used, keys, nullsFirst)
}

// columnsOf returns the columns that a key needs.
func columnsOf(all []*column, key Key) (used []*column, err error) {
	if key.Compute == "" {
		c, err := columnNamed(all, key.Column)
		return []*column{c}, err
	}
	k, err := parseComputed(all, key)
	if err != nil {
		return nil, err
	}
	for _, arg := range k.args {
		used = append(used, arg.column)
	}
	return used, nil
}

// place places the columns of the layout. The slots of keys of variable width have the maximum size,
// because the order of other records of the same table cannot be completed in memory.
func (t *table) place(s *sample) {
	for _, c := range t.layout.variable {
		if c.isKey {
			c.setSlot(maxPrefix)
		}
	}
	t.layout.place(s)
}

// orderOf returns the keys of a table that is sorted: the given ones, or those that its metadata declares.
func (t *table) orderOf(opt *Options) error {
	if len(opt.Keys) > 0 {
		return nil
	}
	if in, ok := t.inputs[0].(*parquetFile); ok {
		opt.Keys, opt.NullsFirst = in.sortedBy()
	}
	if len(opt.Keys) == 0 {
		return fmt.Errorf("%s: no key, and the file declares none: name the column it is sorted by; the columns are %s",
			t.label(), namesOf(t.inputs[0].columns()))
	}
	return nil
}

// declares reports whether the metadata of the only file declares that it is sorted by the keys.
func (t *table) declares(opt Options) bool {
	in, ok := t.inputs[0].(*partialFile)
	if !ok || len(t.inputs) > 1 {
		return false
	}
	keys, nullsFirst := in.sortedBy()
	return len(opt.Keys) <= len(keys) && slices.Equal(opt.Keys, keys[:len(opt.Keys)]) && nullsFirst == opt.NullsFirst
}

// sortedBy returns the columns by which all row groups are sorted, according to the metadata.
func (in *parquetFile) sortedBy() (keys []Key, nullsFirst bool) {
	meta := in.reader.MetaData()
	for i := range meta.NumRowGroups() {
		var of []Key
		for _, s := range meta.RowGroup(i).SortingColumns() {
			if s.ColumnIdx < 0 || int(s.ColumnIdx) >= meta.Schema.NumColumns() {
				return nil, false
			}
			of = append(of, Key{Column: meta.Schema.Column(int(s.ColumnIdx)).Path(), Desc: s.Descending})
			nullsFirst = s.NullsFirst
		}
		if i > 0 && !slices.Equal(of, keys) {
			return nil, false
		}
		keys = of
	}
	return keys, nullsFirst
}

// rows returns the number of rows; negative: it is unknown.
func (t *table) rows() (total int64) {
	for _, in := range t.inputs {
		if in.count() < 0 {
			return -1
		}
		total += in.count()
	}
	return total
}

// record describes the records for package extsort.
func (t *table) record(opt Options) extsort.Record {
	return extsort.Record{
		Size:          t.layout.recordSize,
		Keys:          t.layout.keys,
		NaN:           opt.NaN,
		NumericFloats: opt.NumericFloats,
	}
}

// checkUnchanged returns an error if a file has been written to since it was opened.
func (t *table) checkUnchanged() error {
	for _, in := range t.inputs {
		if err := in.checkUnchanged(); err != nil {
			return err
		}
	}
	return nil
}

// open starts to decode the rows.
func (t *table) open(ctx context.Context, m budget) *source {
	return newSource(ctx, t.inputs, t.layout, m.source(t.inputs, t.layout))
}

// eachRow calls use for each row. A row is valid during the call.
func (t *table) eachRow(ctx context.Context, m budget, use func(row []byte) error) error {
	src := t.open(ctx, m)
	defer src.close()
	w := t.layout.rowWriter(use)
	buffer := make([]byte, rowBufferBytes)
	for {
		n, err := src.Read(buffer)
		if err == io.EOF {
			return nil
		}
		if err == nil {
			_, err = w.Write(buffer[:n])
		}
		if err != nil {
			return err
		}
	}
}

// rowBufferBytes is the size of the reads of records.
const rowBufferBytes = 64 << 10

// rowWriter returns a writer of records that calls use for each row.
func (l *layout) rowWriter(use func(row []byte) error) io.Writer {
	if len(l.variable) > 0 {
		return &assembler{layout: l, next: use}
	}
	return &recordWriter{size: l.recordSize, next: use}
}

// A recordWriter divides a stream into records.
type recordWriter struct {
	size int
	next func(record []byte) error // receives each record, which is valid during the call
	part []byte                    // the beginning of a record
}

// Write adds records. It may receive parts of records.
func (w *recordWriter) Write(p []byte) (n int, err error) {
	n = len(p)
	if len(w.part) > 0 {
		take := min(w.size-len(w.part), len(p))
		w.part = append(w.part, p[:take]...)
		p = p[take:]
		if len(w.part) < w.size {
			return n, nil
		}
		if err := w.next(w.part); err != nil {
			return 0, err
		}
		w.part = w.part[:0]
	}
	for ; len(p) >= w.size; p = p[w.size:] {
		if err := w.next(p[:w.size]); err != nil {
			return 0, err
		}
	}
	w.part = append(w.part, p...)
	return n, nil
}
