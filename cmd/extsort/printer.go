package main

import (
	"context"

	"github.com/extsort/extsort/format"
	"github.com/extsort/extsort/format/textform"
	"github.com/extsort/extsort/internal/turns"
	"github.com/extsort/extsort/merge/output"
)

// printBlockBytes is the number of bytes of records to convert at a time.
const printBlockBytes = 256 << 10

// A textBlock is a piece of an input, together with the result of its conversion.
type textBlock struct {
	buffer []byte // memory for in, if it is reused
	in     []byte
	out    []byte
	lines  int64 // the number of lines in in, for parse
	failed error // error of a line; the lines before it are in out
}

// printed describes the records to print.
type printed struct {
	size    int // of a record
	columns []format.Column
	read    recordReader
}

// A printer writes the text of records to a sink.
type printer struct {
	printed
	flags   *textFlags
	encoder *textform.Encoder
	table   *textTable // nil unless the text is a table
	sink    *output.Sink
	written int64 // in bytes
}

func newPrinter(a *app, v *flagValues, what printed, sink *output.Sink) *printer {
	p := &printer{
		printed: what,
		flags:   &v.text,
		encoder: textform.NewEncoder(v.text.form, what.size, what.columns),
		sink:    sink,
	}
	if v.text.form == tableForm {
		p.table = newTextTable(p.encoder, what.columns, v.tableWidth(a))
	}
	return p
}

func (p *printer) write(ctx context.Context, lines []byte) error {
	if len(lines) == 0 {
		return nil
	}
	first := p.written
	p.written += int64(len(lines))
	return p.sink.WriteBlock(ctx, first, lines)
}

// measuredRows is the number of records that determine the widths of the columns of a table.
const measuredRows = 200

// begin returns the line of titles. recs are the first records.
func (p *printer) begin(recs []byte) []byte {
	if p.table != nil {
		p.table.fitWidths(recs[:min(len(recs), measuredRows*p.size)], p.size)
	}
	switch {
	case p.flags.header == "no":
		return nil
	case p.table != nil:
		return p.table.appendCells(nil, p.table.titles)
	}
	return p.encoder.Header(nil)
}

// append appends the text of records.
func (p *printer) append(dst, recs []byte) []byte {
	if p.table != nil {
		return p.table.appendRows(dst, recs, p.size)
	}
	return p.encoder.Append(dst, recs)
}

// print writes all records. It converts blocks of them in parallel.
func (p *printer) print(ctx context.Context, workers int) error {
	blockBytes := max(printBlockBytes/p.size, 1) * p.size
	first, err := p.read(make([]byte, blockBytes))
	if err != nil {
		return err
	}
	if err := p.write(ctx, p.begin(first)); err != nil {
		return err
	}
	return turns.Conversion[textBlock]{
		Read: func(b *textBlock, number int64) (more bool, err error) {
			if number == 0 {
				b.in = first
				return len(b.in) > 0, nil
			}
			if b.buffer == nil {
				b.buffer = make([]byte, blockBytes)
			}
			b.in, err = p.read(b.buffer)
			return len(b.in) > 0, err
		},
		Convert: func(b *textBlock) error {
			b.out = p.append(b.out[:0], b.in)
			return nil
		},
		Write: func(ctx context.Context, b *textBlock) error {
			return p.write(ctx, b.out)
		},
	}.Run(ctx, workers)
}
