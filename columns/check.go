package columns

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/extsort/extsort"
)

// A CheckReport is the result of Check.
type CheckReport struct {
	Rows     int64  // up to the first one that is out of order
	Disorder int64  // the number of the first row that is out of order, from 1; 0: the input is sorted
	IsEqual  bool   // with Options.Unique: the row has the keys of the row before
	Input    string // the name of the first input
}

// Check reports whether the rows of the inputs are in order, one file after the other. Without keys, it
// uses those that a Parquet file declares. It reads only the columns of the keys.
func Check(ctx context.Context, opt Options) (*CheckReport, error) {
	t, m, err := opt.open()
	if err != nil {
		return nil, err
	}
	defer t.close()
	if err := t.orderOf(&opt); err != nil {
		return nil, err
	}
	if err := t.setKeyLayout(opt.Keys, opt.NullsFirst); err != nil {
		return nil, err
	}
	if err := m.checkColumns(t.layout); err != nil {
		return nil, err
	}
	if err := t.layout.completeRanges(ctx, t.inputs, opt, m); err != nil {
		return nil, err
	}
	t.place(&sample{})
	report := &CheckReport{Input: t.label()}
	if t.rows() == 0 {
		return report, nil
	}
	return report, t.check(ctx, opt, m, report)
}

// check completes the report.
func (t *table) check(ctx context.Context, opt Options, m budget, report *CheckReport) error {
	src := t.open(ctx, m)
	defer src.close()
	ties := &tieChecker{refiner: t.layout.refiner(opt.picker(), 0, nil), unique: opt.Unique}
	from := io.Reader(src)
	if len(t.layout.variable) > 0 {
		from = newHeadReader(src, t.layout, ties.add)
	}
	found, err := extsort.Check(ctx, extsort.CheckJob{
		Input:     extsort.Input{Sources: []extsort.Source{{Reader: from, Name: t.label()}}, Raw: true},
		Record:    t.record(opt),
		Unique:    opt.Unique,
		Brief:     true,
		Resources: extsort.Resources{Memory: m.engine, Workers: opt.Workers},
	})
	switch {
	case src.failed != nil && ctx.Err() == nil:
		return src.failed
	case err != nil:
		return err
	}
	report.Rows = found.Records
	if found.Disorder != nil {
		report.Disorder = found.Disorder.Record + 1
		report.IsEqual = found.Disorder.Equal
	}
	if ties.disorder > 0 && (report.Disorder == 0 || ties.disorder < report.Disorder) {
		report.Disorder = ties.disorder
		report.IsEqual = false
	}
	return t.checkUnchanged()
}

// A tieChecker checks the order of rows whose keys are longer than their slots.
type tieChecker struct {
	refiner  *refiner
	unique   bool
	rows     int64
	disorder int64 // the number of a row, from 1; 0: none
}

var errLongUnique = fmt.Errorf("keys of more than %d bytes cannot be checked for uniqueness: leave out Options.Unique",
	maxPrefix)

// add adds the next row.
func (t *tieChecker) add(row []byte) error {
	t.rows++
	r := t.refiner
	g := &r.group
	isTied := len(g.places) > 0 && r.isTied(g.row(g.places[0]), row)
	if isTied && t.unique {
		return errLongUnique
	}
	start := len(g.data)
	g.data = append(g.data, row...)
	g.places = append(g.places, span{start, len(g.data)})
	if isTied && t.disorder == 0 && r.compare(g, 0, 1) > 0 {
		t.disorder = t.rows
	}
	kept := copy(g.data, row)
	g.data = g.data[:kept]
	g.places = append(g.places[:0], span{0, kept})
	return nil
}

// A headReader reads the first record of each row.
type headReader struct {
	from      io.Reader
	assembler assembler
	buffer    []byte
	heads     []byte // that no Read has returned
	err       error
}

// newHeadReader returns a headReader that passes each row to each.
func newHeadReader(from io.Reader, l *layout, each func(row []byte) error) *headReader {
	r := &headReader{from: from, buffer: make([]byte, rowBufferBytes)}
	r.assembler = assembler{layout: l, next: func(row []byte) error {
		n := min(len(row), l.recordSize)
		r.heads = append(r.heads, row[:n]...)
		r.heads = append(r.heads, make([]byte, l.recordSize-n)...)
		return each(row)
	}}
	return r
}

// Read reads records.
func (r *headReader) Read(p []byte) (int, error) {
	for len(r.heads) == 0 && r.err == nil {
		n, err := r.from.Read(r.buffer)
		r.heads = r.heads[:0]
		if n > 0 {
			_, failed := r.assembler.Write(r.buffer[:n])
			err = errors.Join(failed, err)
			if failed == nil && errors.Is(err, io.EOF) {
				err = io.EOF
			}
		}
		r.err = err
	}
	if len(r.heads) == 0 {
		return 0, r.err
	}
	n := copy(p, r.heads)
	r.heads = r.heads[n:]
	return n, nil
}
