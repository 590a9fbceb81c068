package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/extsort/extsort/chunker/input"
	"github.com/extsort/extsort/format"
	"github.com/extsort/extsort/format/textform"
	"github.com/extsort/extsort/internal/human"
	"github.com/extsort/extsort/merge/output"
)

// textFlags describes how records are written as lines of text, or lines are read as records.
type textFlags struct {
	form    textform.Form
	header  string // "", yes or no
	columns []string
	head    int64 // -1: not given
	tail    int64 // -1: not given
	span    *recordRange
	sample  int64
	seed    uint64
}

// tableForm is a form of lines for people. extsort parse cannot read it.
const tableForm textform.Form = "table"

func textForms() []string {
	forms := []string{string(tableForm)}
	for _, form := range textform.Forms {
		forms = append(forms, string(form))
	}
	return forms
}

func printFormFlag(g group, v *flagValues) {
	v.text.form = tableForm
	g.add(
		oneOf(&v.text.form, "FORM", textForms()...), "as", "form of the lines",
	).
		hints("csv", "json", "to", "output-format")
}

func headerFlag(g group, v *flagValues) {
	g.add(oneOf(&v.text.header, "WHEN", "yes", "no"), "header",
		"whether the first line contains the names of the columns (csv and tsv; print: also table); otherwise yes for "+
			"print, and for parse if the line contains only names of fields").
		hints("titles", "no-header")
}

func columnsFlag(g group, v *flagValues) {
	g.add(listOf(&v.text.columns, "NAMES", notEmpty), "columns",
		"the columns to print, separated by commas, in this order; otherwise all").
		hints("select", "cut").notWith("--as=hex")
}

// A recordRange is a range of records by position, from 0. A negative end means the end of the
// input.
type recordRange struct{ first, end int64 }

// parseRange parses A:B. Either may be omitted.
func parseRange(s string) (*recordRange, error) {
	from, to, ok := strings.Cut(s, ":")
	r := &recordRange{end: -1}
	var bad [2]error
	if from != "" {
		r.first, bad[0] = parseCount(from)
	}
	if to != "" {
		r.end, bad[1] = parseCount(to)
	}
	if !ok || cmp.Or(bad[0], bad[1]) != nil || r.first < 0 ||
		to != "" && r.end < r.first {
		return nil, fmt.Errorf(
			"%q: want A:B, the records from A to B-1, counted from 0, such as 10:20, 10: or :20",
			s,
		)
	}
	return r, nil
}

// parseRecords parses a number of records, which may be 0.
func parseRecords(s string) (int64, error) {
	n, err := parseCount(s)
	if err == nil && n < 0 {
		err = fmt.Errorf("%q: must not be negative", s)
	}
	return n, err
}

func selectionFlags(g group, v *flagValues) {
	f := &v.text
	f.head = -1
	f.tail = -1
	f.sample = -1
	g.add(
		parsed(&f.head, "N", parseRecords),
		"head",
		"print only the first N records; otherwise all",
	).
		hints("limit", "first", "lines").notWith(
		"--tail", "--range", "--sample",
	)
	g.add(
		parsed(&f.tail, "N", parseRecords),
		"tail",
		"print only the last N records; otherwise all",
	).
		hints("last").notWith("--range", "--sample")
	g.add(parsed(&f.span, "A:B", parseRange), "range",
		"print only the records A to B-1, counted from 0; otherwise all").
		hints("slice", "offset").notWith("--sample")
	g.add(parsed(&f.sample, "N", parseRecords), "sample",
		"print N records chosen at random, in their order; otherwise all").
		hints("random")
	g.add(parsed(&f.seed, "N", parseSeed), "seed",
		"seed of the random choice: the same seed chooses the same records; otherwise seed 0").
		needs("--sample")
}

func printCommand(a *app) *cobra.Command {
	v := &flagValues{}
	return verb("print [flags] [FILE ...]",
		"Print records as text: a table, CSV, TSV, objects of JSON, or hexadecimal\n"+
			"digits. extsort parse reads these lines, except for a table.",
		"  extsort print --fields 'time=u64 value=f32' --head 10 log.bin\n"+
			"  extsort print --as csv -o trades.csv trades.npy\n"+
			"  extsort print -t u64 --range 1e6:1000010 sorted.bin",
		v, func(cmd *cobra.Command, files []string) error {
			return printRecords(cmd.Context(), a, v, files)
		})
}

// mistakenForm returns an error if the format of the records is a form of lines.
func mistakenForm(name string) error {
	if !slices.Contains(textForms(), name) {
		return nil
	}
	return fmt.Errorf(
		"-f %s: -f names the format of binary records: use --as %[1]s for the lines",
		name,
	)
}

// recordInputs contains the open inputs of a verb that reads records in input order.
type recordInputs struct {
	header  *format.Header
	records int64 // -1: not known
	files   *input.Files
	stream  *input.Stream
}

// openRecords opens the files, or standard input if no files are given.
func openRecords(
	ctx context.Context, a *app, v *flagValues, files []string,
) (*recordInputs, error) {
	if len(files) == 0 {
		files = []string{"-"}
		if err := a.checkInput(nil); err != nil {
			return nil, err
		}
	}
	v.guessFormat(files)
	spec := format.AnyOrder(v.opt.Record)
	if err := cmp.Or(mistakenForm(spec.Format), validateRecord(spec)); err != nil {
		return nil, err
	}
	kind := input.Kind{
		Spec: spec,
		Recognition: format.Recognition{
			Raw:        v.opt.Raw,
			Decompress: v.opt.Decompress,
		},
		Frame: input.Frame{
			Skip:    v.opt.SkipBytes,
			Records: v.opt.Records,
			Tail:    v.opt.SkipTail,
		},
	}
	if err := kind.Recognition.Validate(spec); err != nil {
		return nil, err
	}
	const maxWindow = 1 << 30 // limit of a decompressor's window
	opened, err := input.Open(
		ctx, kind, input.Named(files...), a.stdin, maxWindow,
	)
	if err != nil {
		return nil, err
	}
	for _, one := range opened {
		for _, message := range one.TakeWarnings() {
			a.warn(message)
		}
	}
	in := &recordInputs{header: opened[0].Header, records: -1}
	isStream := func(one *input.Input) bool { return !one.Seekable() }
	if slices.ContainsFunc(opened, isStream) {
		in.stream = input.NewStream(opened)
		return in, nil
	}
	in.files = input.NewFiles(opened)
	in.records = in.files.Records()
	return in, nil
}

func (in *recordInputs) Close() error {
	if in.files != nil {
		return in.files.Close()
	}
	return in.stream.Close()
}

func (in *recordInputs) checkUnchanged(warn func(string)) error {
	if in.files != nil {
		return in.files.Check(warn)
	}
	return in.stream.Check(warn)
}

func (in *recordInputs) recordSize() int {
	return in.header.Layout().RecordSize
}

// A recordReader returns the next records in buf, or none at the end.
type recordReader func(buf []byte) (recs []byte, err error)

// reader returns a reader of the records [first, end). A negative end means all.
func (in *recordInputs) reader(first, end int64) recordReader {
	size := int64(in.recordSize())
	if in.files != nil {
		if end < 0 || end > in.records {
			end = in.records
		}
		return func(buf []byte) ([]byte, error) {
			n := min(int64(len(buf))/size, end-first)
			if n <= 0 {
				return nil, nil
			}
			first += n
			return buf[:n*size], in.files.ReadRecords(buf[:n*size], first-n)
		}
	}

	source := in.stream.Split(1)[0]
	at := int64(0)
	return func(buf []byte) ([]byte, error) {
		for {
			want := int64(len(buf)) / size
			if end >= 0 {
				want = min(want, end-at)
			}
			if want <= 0 {
				return nil, nil
			}
			_, n, err := source.Next(int(want), func(_ int64, n int) []byte {
				return buf[:n*int(size)]
			})
			if err != nil || n == 0 {
				return nil, err
			}
			skipped := min(max(first-at, 0), int64(n))
			at += int64(n)
			if skipped < int64(n) {
				return buf[skipped*size : int64(n)*size], nil
			}
		}
	}
}

// maxKeptBytes limits the records of a stream that --tail and --sample keep in memory.
const maxKeptBytes = 1 << 30

// checkKept returns an error if a flag would keep too many records of a stream in memory.
func (in *recordInputs) checkKept(flag string, n int64) error {
	if in.files == nil && n > maxKeptBytes/int64(in.recordSize()) {
		return fmt.Errorf("%s %d: at most %s of a stream can be kept in memory: name an uncompressed file", flag, n,
			human.Bytes(maxKeptBytes))
	}
	return nil
}

// selectedReader returns a reader of the records that the flags select.
func (in *recordInputs) selectedReader(
	ctx context.Context, f *textFlags,
) (recordReader, error) {
	switch {
	case f.head >= 0:
		return in.reader(0, f.head), nil
	case f.span != nil:
		return in.reader(f.span.first, f.span.end), nil
	case f.tail >= 0 && in.files != nil:
		return in.reader(max(in.records-f.tail, 0), in.records), nil
	case f.tail >= 0:
		if err := in.checkKept("--tail", f.tail); err != nil {
			return nil, err
		}
		return in.lastOf(ctx, f.tail)
	case f.sample >= 0:
		if err := in.checkKept("--sample", f.sample); err != nil {
			return nil, err
		}
		return in.sampleOf(ctx, f.sample, f.seed)
	}
	return in.reader(0, -1), nil
}

// printBlockBytes is the number of bytes of records to convert at a time.
const printBlockBytes = 256 << 10

// lastOf returns a reader of the last n records of a stream.
func (in *recordInputs) lastOf(
	ctx context.Context, n int64,
) (recordReader, error) {
	size := in.recordSize()
	keep := int(n) * size
	read := in.reader(0, -1)
	buf := make([]byte, max(printBlockBytes/size, 1)*size)
	var kept []byte
	for ctx.Err() == nil {
		recs, err := read(buf)
		if err != nil {
			return nil, err
		}
		if len(recs) == 0 {
			kept = kept[max(len(kept)-keep, 0):]
			return readerOf(kept, size), nil
		}
		kept = append(kept, recs...)
		if len(kept) > 2*keep+printBlockBytes {
			kept = append(kept[:0], kept[len(kept)-keep:]...)
		}
	}
	return nil, context.Cause(ctx)
}

// readerOf returns a reader of records in memory.
func readerOf(recs []byte, size int) recordReader {
	return func(buf []byte) ([]byte, error) {
		n := copy(buf[:len(buf)/size*size], recs)
		recs = recs[n:]
		return buf[:n], nil
	}
}

// sampleOf returns a reader of n records chosen at random. The choice depends only on the seed and
// on the number of records. It uses reservoir sampling (Vitter 1985, algorithm R): each record
// replaces one of the chosen records with a probability of n divided by the number of records so
// far.
func (in *recordInputs) sampleOf(
	ctx context.Context, n int64, seed uint64,
) (recordReader, error) {
	size := in.recordSize()
	random := rand.New(rand.NewPCG(seed, 0))
	var chosen []int64 // positions
	choose := func(position int64) (slot int64) {
		if position < n {
			chosen = append(chosen, position)
			return position
		}
		slot = random.Int64N(position + 1)
		if slot >= n {
			return -1
		}
		chosen[slot] = position
		return slot
	}

	if in.files != nil {
		for position := range in.records {
			if position%(1<<20) == 0 && ctx.Err() != nil {
				return nil, context.Cause(ctx)
			}
			choose(position)
		}
		slices.Sort(chosen)
		return in.positions(chosen), nil
	}

	read := in.reader(0, -1)
	buf := make([]byte, max(printBlockBytes/size, 1)*size)
	var kept []byte
	for position := int64(0); ctx.Err() == nil; {
		recs, err := read(buf)
		if err != nil {
			return nil, err
		}
		if len(recs) == 0 {
			return readerOf(sortedByPosition(kept, chosen, size), size), nil
		}
		for ; len(recs) > 0; recs = recs[size:] {
			slot := choose(position)
			position++
			switch {
			case slot < 0:
			case slot*int64(size) == int64(len(kept)):
				kept = append(kept, recs[:size]...)
			default:
				copy(kept[slot*int64(size):], recs[:size])
			}
		}
	}
	return nil, context.Cause(ctx)
}

// sortedByPosition returns records in the order of their positions.
func sortedByPosition(recs []byte, positions []int64, size int) []byte {
	order := make([]int, len(positions))
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(a, b int) int {
		return cmp.Compare(positions[a], positions[b])
	})
	sorted := make([]byte, 0, len(recs))
	for _, i := range order {
		sorted = append(sorted, recs[i*size:][:size]...)
	}
	return sorted
}

// positions returns a reader of the records at some positions of files.
func (in *recordInputs) positions(chosen []int64) recordReader {
	size := in.recordSize()
	return func(buf []byte) ([]byte, error) {
		n := 0
		for len(chosen) > 0 && n+size <= len(buf) {
			if err := in.files.ReadRecords(buf[n:n+size], chosen[0]); err != nil {
				return nil, err
			}
			chosen = chosen[1:]
			n += size
		}
		return buf[:n], nil
	}
}

func printRecords(
	ctx context.Context, a *app, v *flagValues, files []string,
) error {
	if v.text.header != "" && v.text.form != tableForm &&
		!v.text.form.HasHeader() {
		return fmt.Errorf(
			"--header does not apply to --as %s: leave it out", v.text.form,
		)
	}
	in, err := openRecords(ctx, a, v, files)
	if err != nil {
		return err
	}
	defer in.Close() // closing a file that was only read cannot lose data
	columns, err := chosenColumns(in.header.Columns(), v.text.columns)
	if err != nil {
		return err
	}
	read, err := in.selectedReader(ctx, &v.text)
	if err != nil {
		return err
	}
	sink, err := openTextSink(ctx, a, v, nil, files)
	if err != nil {
		return err
	}

	p := &printer{
		flags:   &v.text,
		size:    in.recordSize(),
		encoder: textform.NewEncoder(v.text.form, in.recordSize(), columns),
		read:    read,
		sink:    sink,
	}
	if v.text.form == tableForm {
		room := 0
		if v.opt.Output == "" || isStandard(v.opt.Output, 1) {
			room = terminalColumns(a.stdout)
		}
		err = p.printTable(ctx, newTextTable(p.encoder, columns, room))
	} else {
		err = p.printLines(ctx, v.opt.Workers)
	}
	if err == nil {
		err = in.checkUnchanged(a.warn)
	}
	if err != nil {
		return errors.Join(err, sink.Abort())
	}
	return sink.Commit(ctx, p.written)
}

// chosenColumns returns the columns with the given names, or all.
func chosenColumns(
	columns []format.Column, names []string,
) ([]format.Column, error) {
	if len(names) == 0 {
		return columns, nil
	}
	var known []string
	for _, c := range columns {
		known = append(known, c.Name)
	}
	var chosen []format.Column
	for _, name := range names {
		at := slices.Index(known, name)
		if at < 0 {
			hint := ""
			if near := nearestWord(name, known); near != "" {
				hint = fmt.Sprintf(" (did you mean %s?)", near)
			}
			const shownNames = 12
			return nil, fmt.Errorf("--columns: no column %q: there are %s%s%s", name,
				strings.Join(
					known[:min(len(known), shownNames)], ", ",
				), textIf(len(known) > shownNames, " …"), hint)
		}
		chosen = append(chosen, columns[at])
	}
	return chosen, nil
}

// openTextSink opens the output of parse, whose records have a header, or of print. A record of
// text is one byte.
func openTextSink(
	ctx context.Context,
	a *app,
	v *flagValues,
	header *format.Header,
	inputs []string,
) (
	*output.Sink, error) {
	name := v.opt.Output
	for _, one := range inputs {
		if inputPlace(a, one).isFile(name) {
			return nil, fmt.Errorf(
				"-o %s: is also an input: name another file", name,
			)
		}
		if (name == "" || isStandard(name, 1)) &&
			inputPlace(a, one).isEmptied(a.stdout) {
			return nil, fmt.Errorf(
				"%s is also standard output: the shell has emptied it", one,
			)
		}
	}
	compression, err := format.ParseCompression(v.opt.Compress, name)
	if err != nil {
		return nil, err
	}
	opt := output.Options{
		RecordSize:  1,
		Records:     -1,
		Compression: compression,
		Writers:     1,
		Compressors: processors,
	}
	if header != nil {
		opt.RecordSize = header.Layout().RecordSize
		opt.Header = header.Encode
		opt.MaxRecords = header.MaxRecords()
	}
	to := a.stdout
	if name != "" && name != "-" {
		to, err = output.Create(
			ctx, name, opt.File(output.FileOptions{}), remotePart, remoteParts,
		)
		if err != nil {
			return nil, err
		}
	}
	return output.NewSink(ctx, to, opt)
}

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
