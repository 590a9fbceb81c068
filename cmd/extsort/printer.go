package main

import (
	"context"

	"github.com/extsort/extsort/format/textform"
	"github.com/extsort/extsort/merge/output"
)

// printBlockBytes is the number of bytes of records to convert at a time.
const printBlockBytes = 256 << 10

// A printer writes the text of records to a sink.
type printer struct {
	flags   *textFlags
	size    int // of a record
	encoder *textform.Encoder
	read    recordReader
	sink    *output.Sink
	written int64 // in bytes
}

func (p *printer) write(ctx context.Context, lines []byte) error {
	if len(lines) == 0 {
		return nil
	}
	first := p.written
	p.written += int64(len(lines))
	return p.sink.WriteBlock(ctx, first, lines)
}

// blockBytes returns the number of bytes of records to convert at a time.
func (p *printer) blockBytes() int {
	return max(printBlockBytes/p.size, 1) * p.size
}

// printLines converts blocks of records in parallel.
func (p *printer) printLines(ctx context.Context, workers int) error {
	if p.flags.header != "no" {
		if err := p.write(ctx, p.encoder.Header(nil)); err != nil {
			return err
		}
	}
	return runInOrder(ctx, workers, conversion{
		read: func(b *textBlock) (more bool, err error) {
			if b.buffer == nil {
				b.buffer = make([]byte, p.blockBytes())
			}
			b.in, err = p.read(b.buffer)
			return len(b.in) > 0, err
		},
		convert: func(b *textBlock) error {
			b.out = p.encoder.Append(b.out[:0], b.in)
			return nil
		},
		write: func(ctx context.Context, b *textBlock) error {
			return p.write(ctx, b.out)
		},
	})
}

// measuredRows is the number of records that determine the widths of the columns of a table.
const measuredRows = 200

// printTable prints records in columns. The first records determine the widths of the columns.
func (p *printer) printTable(ctx context.Context, table *textTable) error {
	buf := make([]byte, p.blockBytes())
	var out []byte
	for isFirst := true; ; isFirst = false {
		recs, err := p.read(buf)
		if err != nil {
			return err
		}
		if isFirst {
			table.fitWidths(recs[:min(len(recs), measuredRows*p.size)], p.size)
			if p.flags.header != "no" {
				out = table.appendCells(out, table.titles)
			}
		}
		for rest := recs; len(rest) > 0; rest = rest[p.size:] {
			out = table.appendRow(out, rest[:p.size])
		}
		if err := p.write(ctx, out); err != nil || len(recs) == 0 {
			return err
		}
		out = out[:0]
	}
}
