package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"

	"github.com/dustin/go-humanize"

	"github.com/extsort/extsort/internal/human"
	"github.com/extsort/extsort/merge/output"
)

// A resultReader returns the results of look-ups one after another.
type resultReader struct {
	finder *finder
	pull   func() (*found, bool)
	stop   func()
	failed error // of the look-ups, once they have ended

	ahead []*found // results that have been pulled
	ended bool
}

// results starts the look-ups. stop must be called at the end.
func (f *finder) results(ctx context.Context) *resultReader {
	r := &resultReader{finder: f}
	r.pull, r.stop = iter.Pull(func(yield func(*found) bool) { r.failed = f.lookUps(ctx, yield) })
	return r
}

// readAhead pulls results until they end or there are many. A small output is then written only
// after all look-ups have succeeded.
func (r *resultReader) readAhead() error {
	const manyBytes = 1 << 20
	const rangeBytes = 16
	for bytes := 0; bytes < manyBytes; {
		one, ok := r.pull()
		if !ok {
			r.ended = true
			return r.failed
		}
		r.ahead = append(r.ahead, one)
		bytes += rangeBytes*len(one.ranges) + len(one.records) + len(one.lines)
	}
	return nil
}

// count returns the number of records, or -1 if it is not known yet.
func (r *resultReader) count() (records int64) {
	if !r.ended {
		return -1
	}
	for _, one := range r.ahead {
		records += one.count()
	}
	return records
}

// next returns the next result, or nil at the end.
func (r *resultReader) next() (*found, error) {
	var one *found
	switch {
	case len(r.ahead) > 0:
		one = r.ahead[0]
		r.ahead = r.ahead[1:]
	case r.ended:
		return nil, r.failed
	default:
		var ok bool
		if one, ok = r.pull(); !ok {
			r.ended = true
			return nil, r.failed
		}
	}
	r.finder.total.add(one)
	return one, nil
}

// lines returns the lines of the next result that has some, or none at the end.
func (r *resultReader) lines() ([]byte, error) {
	for {
		one, err := r.next()
		if one == nil || len(one.lines) > 0 {
			return one.textOf(), err
		}
	}
}

// textOf returns the lines of a result, which may be nil.
func (r *found) textOf() []byte {
	if r == nil {
		return nil
	}
	return r.lines
}

// records returns a reader of the records of all results.
func (r *resultReader) records() recordReader {
	one := &found{}
	at := int64(0) // the next record of the first range
	return func(buf []byte) ([]byte, error) {
		size := int64(r.finder.file.Header.Layout().RecordSize)
		filled := int64(0)
		for filled+size <= int64(len(buf)) {
			room := (int64(len(buf)) - filled) / size
			switch {
			case len(one.records) > 0:
				n := copy(buf[filled:][:room*size], one.records)
				one.records = one.records[n:]
				filled += int64(n)
				if len(one.records) == 0 {
					one.ranges = nil
				}
			case len(one.ranges) > 0:
				n := min(one.ranges[0].Len()-at, room)
				if err := r.finder.file.Read(buf[filled:][:n*size], one.ranges[0].First+at); err != nil {
					return nil, err
				}
				filled += n * size
				if at += n; at == one.ranges[0].Len() {
					one.ranges = one.ranges[1:]
					at = 0
				}
			default:
				next, err := r.next()
				if next == nil {
					return buf[:filled], err
				}
				one = next
			}
		}
		return buf[:filled], nil
	}
}

// inputs returns the names of the files that the output must not overwrite.
func (f *finder) inputs() []string {
	names := []string{f.name}
	if f.keys != "" {
		names = append(names, f.keys)
	}
	return names
}

// writeCount writes the number of records, or of missing keys.
func (f *finder) writeCount(ctx context.Context, results *resultReader) error {
	for {
		one, err := results.next()
		if err != nil {
			return err
		}
		if one == nil {
			break
		}
	}
	n := f.total.Records
	if f.missing {
		n = f.total.Missing
	}
	text := fmt.Appendln(nil, n)
	return f.writeText(ctx, func() ([]byte, error) {
		next := text
		text = nil
		return next, nil
	})
}

// writeText writes texts to the output until there are no more.
func (f *finder) writeText(ctx context.Context, next func() ([]byte, error)) error {
	sink, err := openTextSink(ctx, f.app, f.flags, nil, f.inputs())
	if err != nil {
		return err
	}
	written := int64(0)
	for {
		text, err := next()
		if err == nil && len(text) > 0 {
			err = sink.WriteBlock(ctx, written, text)
			written += int64(len(text))
		}
		if err != nil || len(text) == 0 {
			return f.finish(ctx, sink, written, err)
		}
	}
}

// finish completes or aborts the output.
func (f *finder) finish(ctx context.Context, sink *output.Sink, written int64, err error) error {
	if err == nil {
		err = f.file.Check(f.warn)
	}
	if err != nil {
		return errors.Join(err, sink.Abort())
	}
	return sink.Commit(ctx, written)
}

// writeRecords writes the records in the format of the file.
func (f *finder) writeRecords(ctx context.Context, results *resultReader) error {
	if err := f.app.checkOutput(f.flags.opt.Output, f.name); err != nil {
		return err
	}
	sink, err := openRecordSink(ctx, f.app, f.flags, written{f.file.Header, results.count()}, f.inputs())
	if err != nil {
		return err
	}
	size := f.file.Header.Layout().RecordSize
	buffer := make([]byte, max(printBlockBytes/size, 1)*size)
	read := results.records()
	written := int64(0)
	for {
		recs, err := read(buffer)
		if err == nil && len(recs) > 0 {
			err = sink.WriteBlock(ctx, written, recs)
			written += int64(len(recs) / size)
		}
		if err == nil && ctx.Err() != nil {
			err = context.Cause(ctx)
		}
		if err != nil || len(recs) == 0 {
			return f.finish(ctx, sink, written, err)
		}
	}
}

// writeLines writes the records as print does.
func (f *finder) writeLines(ctx context.Context, read recordReader) error {
	columns, err := chosenColumns(f.file.Header.Columns(), f.flags.text.columns)
	if err != nil {
		return err
	}
	sink, err := openTextSink(ctx, f.app, f.flags, nil, f.inputs())
	if err != nil {
		return err
	}
	p := newPrinter(f.app, f.flags, printed{f.file.Header.Layout().RecordSize, columns, read}, sink)
	err = p.print(ctx, f.flags.opt.Workers)
	return f.finish(ctx, sink, p.written, err)
}

// findReport is the report of find.
type findReport struct {
	Keys         int64   `json:"keys"`          // number of different keys
	Missing      int64   `json:"missing"`       // keys without a record
	Records      int64   `json:"records"`       // records with these keys, or in the range
	Reads        int64   `json:"reads"`         // reads of the file to look keys up
	BytesRead    int64   `json:"bytes_read"`    // by these reads
	BytesSpilled int64   `json:"bytes_spilled"` // to sort the keys
	MemoryLimit  int64   `json:"memory_limit"`
	PeakMemory   int64   `json:"peak_memory,omitempty"` // with --keys
	Seconds      float64 `json:"seconds"`
}

func (r *findReport) add(one *found) {
	r.Keys += one.keys
	r.Missing += one.missing
	r.Records += one.count()
}

// complete sets the values that are known at the end.
func (f *finder) complete(seconds float64) {
	f.total.Seconds = seconds
	f.total.Reads, f.total.BytesRead = f.file.Reads()
	if f.sorted != nil {
		f.total.BytesSpilled = f.sorted.BytesSpilled
		f.total.MemoryLimit = f.sorted.Detail.MemoryLimit
		f.total.PeakMemory = f.sorted.Detail.PeakMemory
	}
	f.flags.report.result = &f.total
}

// write writes the report as text.
func (r *findReport) write(w io.Writer) {
	memory := ""
	if r.MemoryLimit > 0 {
		memory = "peak " + human.Bytes(r.PeakMemory) + ", limit " + human.Bytes(r.MemoryLimit)
	}
	writeRows(w, []row{
		{"keys", humanize.Comma(r.Keys) + textIf(r.Missing > 0, ", %s of them missing", humanize.Comma(r.Missing))},
		{"records", humanize.Comma(r.Records)},
		{"read", human.Bytes(r.BytesRead) + " in " + plural(int(r.Reads), "read")},
		{"temporary", human.Bytes(r.BytesSpilled)},
		{"memory", memory},
		{"time", human.Time(r.Seconds)},
	})
}
