package columns

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"github.com/extsort/extsort"
)

// Options describe a sort of Parquet or Arrow files. Inputs, Keys and either Output or Stdout are required.
type Options struct {
	Inputs []string // files, directories or patterns, all with the same schema; "-" is the standard input
	Keys   []Key    // the most significant first

	NullsFirst    bool // nulls sort first, in both directions; otherwise last
	NaN           extsort.NaNOrder
	NumericFloats bool // see extsort.Record

	KeepKey string // the name of a column for the computed key; "": it is not stored

	Unique   bool // write one row of rows with equal keys: the first one, or the last one with KeepLast
	KeepLast bool
	Limit    int64 // write at most this many rows; 0: all, negative: none

	SplitFiles int   // write about this many files, such as out.000.parquet for out.parquet; 0: see SplitBytes
	SplitBytes int64 // write files of rows with this many bytes, before encoding; 0: one file

	Output      string    // "": Stdout
	Stdout      io.Writer // receives the file if Output is empty
	Compression string    // a name in Codecs; "": as in the first input

	Memory   int64 // bytes; 0: half of the machine's memory
	TempDirs []string
	Workers  int // 0: GOMAXPROCS
	Strategy extsort.Strategy
	Verify   bool

	MeasurePeak bool // see extsort.Resources
}

// Sort sorts the rows of Parquet or Arrow files. Rows with equal keys stay in the order of the inputs. The
// output appears completely or not at all.
func Sort(ctx context.Context, opt Options) (*extsort.Report, error) {
	report, err := sortBy(ctx, opt, true)
	if errors.Is(err, errStatistics) {
		return sortBy(ctx, opt, false)
	}
	return report, err
}

// sortBy is Sort with or without the statistics of the inputs.
func sortBy(ctx context.Context, opt Options, useStatistics bool) (report *extsort.Report, err error) {
	t, m, err := opt.open()
	if err != nil {
		return nil, err
	}
	defer t.close()
	err = cmp.Or(checkOutput(opt, t.inputs[0]), t.checkTarget(opt, true), t.checkPartitions(opt.Inputs))
	if err != nil {
		return nil, err
	}
	l, err := layoutOf(ctx, t.inputs, opt, m, useStatistics)
	if err != nil {
		return nil, err
	}
	var target extsort.Sink
	if opt.SplitFiles > 0 {
		if err := checkOldParts(opt.Output, opt.SplitFiles); err != nil {
			return nil, err
		}
	}
	if opt.SplitFiles > 0 || opt.SplitBytes > 0 {
		target = &splitTarget{opt: opt}
	} else if target, err = newTarget(ctx, opt); err != nil {
		return nil, err
	}
	report, err = sortInto(ctx, opt, t.inputs, l, m, target)
	if err == nil {
		err = target.Commit(ctx)
	}
	if err != nil {
		return report, errors.Join(err, target.Abort())
	}
	return report, nil
}

// budget divides the memory limit.
func (opt Options) budget() (budget, error) {
	return newBudget(opt.Memory, cmp.Or(opt.Workers, runtime.GOMAXPROCS(0)))
}

// checkOutput checks the compression and the suffix of the output.
func checkOutput(opt Options, first input) error {
	_, isArrow := first.(*arrowStream)
	suffix := strings.ToLower(filepath.Ext(opt.Output))
	if isArrow {
		if suffix == ".parquet" {
			return fmt.Errorf("%s: the output has the format of the input, which is Arrow: use the suffix .arrow", opt.Output)
		}
		_, err := arrowOptions(opt.Compression)
		return err
	}
	if slices.Contains(arrowSuffixes, suffix) {
		return fmt.Errorf("%s: the output has the format of the input, which is Parquet: use the suffix .parquet", opt.Output)
	}
	if opt.Compression == "" {
		return nil
	}
	_, err := codecNamed(opt.Compression)
	return err
}

// layoutOf returns the layout of the records.
func layoutOf(ctx context.Context, inputs []input, opt Options, m budget, useStatistics bool) (*layout, error) {
	first := inputs[0]
	all := first.columns()
	if len(opt.Keys) == 0 {
		return nil, fmt.Errorf("%s: no key: name a column to sort by; the columns are %s", first.label(), namesOf(all))
	}
	l, err := newLayout(all, opt.Keys, opt.NullsFirst)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", first.label(), err)
	}
	if err := cmp.Or(m.checkColumns(l), l.checkComputed(opt), l.keepKey(opt.KeepKey, first)); err != nil {
		return nil, err
	}
	if err := l.completeRanges(ctx, inputs, opt, m); err != nil {
		return nil, err
	}
	if useStatistics {
		l.narrow(inputs)
	}
	s, err := sampleInputs(inputs, l)
	if err != nil {
		return nil, err
	}
	l.arrange(s)
	return l, nil
}

// sortInto sorts the inputs and writes the output to w.
func sortInto(ctx context.Context, opt Options, inputs []input, l *layout, m budget,
	w io.Writer) (report *extsort.Report, err error) {
	src := newSource(ctx, inputs, l, m.source(inputs, l))
	defer src.close()
	_, isArrow := inputs[0].(*arrowStream)
	written := l.outputLayout()
	out := &lateSink{layout: written, sizes: m.sink(l, isArrow), pick: opt.picker(), tiedBytes: m.tiedBytes()}
	out.open = func() (groupWriter, error) {
		if split, ok := w.(*splitTarget); ok {
			if err := split.next(ctx); err != nil {
				return nil, err
			}
		}
		return openWriter(w, inputs[0], written, opt, src.floats, m)
	}
	rows := (&table{inputs: inputs}).rows()
	if out.split, err = newSplitter(opt, written, rows); err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, out.close(err == nil)) }()
	if rows == 0 {
		return &extsort.Report{}, nil
	}
	job := l.job(opt, m)
	job.Input = extsort.Input{
		Sources: []extsort.Source{{Reader: src, Name: inputs[0].label()}},
		Records: max(rows, 0),
		Raw:     true,
	}
	job.Output = extsort.Output{Writer: out}
	if l.kept != nil {
		job.Output.Writer = newKeptKey(l, out)
	}
	if len(l.variable) > 0 {
		job.Input.Records = 0
	}
	report, err = extsort.Sort(ctx, job)
	if src.failed != nil && ctx.Err() == nil {
		return report, src.failed
	}
	if errors.Is(err, errEnough) {
		err = nil
	}
	for _, in := range inputs {
		err = cmp.Or(err, in.checkUnchanged())
	}
	return report, err
}

// job returns the job of a sort, without its input and output.
func (l *layout) job(opt Options, m budget) extsort.Job {
	job := extsort.Job{
		Record: extsort.Record{
			Size:          l.recordSize,
			Keys:          l.keys,
			NaN:           opt.NaN,
			NumericFloats: opt.NumericFloats,
		},
		Resources: extsort.Resources{
			Memory:      m.engine,
			TempDirs:    opt.TempDirs,
			Workers:     opt.Workers,
			Devices:     []string{"cpu"},
			MeasurePeak: opt.MeasurePeak,
		},
		Tuning: extsort.Tuning{Strategy: opt.Strategy},
		Verify: opt.Verify,
	}
	if len(l.variable) == 0 { // otherwise a row can be several records, and the sink selects rows
		job.Select = opt.selection()
	}
	if l.kept != nil {
		job.KeepKey = l.kept.name
	}
	return job
}

// Plan predicts how Sort would run. It reads the metadata of the inputs and, if they have columns of variable
// width, a sample of their rows. The number of rows must be known, as it is for Parquet files.
func Plan(ctx context.Context, opt Options) (*extsort.Forecast, error) {
	forecast, err := planBy(ctx, opt, true)
	if errors.Is(err, errStatistics) {
		return planBy(ctx, opt, false)
	}
	return forecast, err
}

// planBy is Plan with or without the statistics of the inputs.
func planBy(ctx context.Context, opt Options, useStatistics bool) (*extsort.Forecast, error) {
	t, m, err := opt.open()
	if err != nil {
		return nil, err
	}
	defer t.close()
	if t.rows() < 0 {
		return nil, fmt.Errorf("%s: the number of rows of Arrow data is not known, so it cannot be planned", t.label())
	}
	l, err := layoutOf(ctx, t.inputs, opt, m, useStatistics)
	if err != nil {
		return nil, err
	}
	s, err := sampleInputs(t.inputs, l)
	if err != nil {
		return nil, err
	}
	return extsort.PlanFor(ctx, l.job(opt, m), t.rows()*s.pieces(l)/max(int64(len(s.rows)), 1))
}

// pieces returns the number of records of the sampled rows.
func (s *sample) pieces(l *layout) (total int64) {
	for _, row := range s.rows {
		payload := 0
		for i, c := range l.variable {
			payload += c.payloadOf(row.lengths[i])
		}
		total += int64(l.pieces(payload))
	}
	return max(total, 1)
}

// selection returns the rows that a sort of complete rows writes.
func (opt Options) selection() extsort.Selection {
	rows := extsort.All()
	switch {
	case opt.Unique && opt.KeepLast:
		rows = extsort.Unique(extsort.KeepLast)
	case opt.Unique:
		rows = extsort.Unique(extsort.KeepFirst)
	}
	if opt.Limit != 0 {
		return rows.First(max(opt.Limit, 0))
	}
	return rows
}

// picker is selection for a refiner.
func (opt Options) picker() picker {
	p := picker{
		unique:   opt.Unique,
		keepLast: opt.KeepLast,
		limit:    math.MaxInt64,
		readsAll: opt.Verify,
		numeric:  opt.NumericFloats,
	}
	if opt.Limit != 0 {
		p.limit = max(opt.Limit, 0)
	}
	return p
}

// openWriter starts an output like the input.
func openWriter(w io.Writer, in input, l *layout, opt Options, floats *floatFacts, m budget) (groupWriter, error) {
	if stream, ok := in.(*arrowStream); ok {
		return newArrowWriter(w, stream, l, opt, isArrowFile(opt.Output, stream.isFile))
	}
	first := in.(*parquetFile)
	props, err := writerProperties(first, l, opt, floats, m)
	if err != nil {
		return nil, err
	}
	writer, err := newWriter(w, first, l, props)
	if err != nil {
		return nil, err
	}
	return &parquetWriter{layout: l, writer: writer}, nil
}

// isArrowFile reports whether the output is an Arrow file, not a stream: by its suffix, or like the
// input.
func isArrowFile(output string, like bool) bool {
	switch strings.ToLower(filepath.Ext(output)) {
	case ".arrow", ".feather":
		return true
	case ".arrows":
		return false
	}
	return like
}

// A lateSink is a sink that is opened by its first Write. By then all rows have been read, and the
// properties of the output are known.
type lateSink struct {
	layout    *layout
	sizes     sinkSizes
	pick      picker
	tiedBytes int
	split     *splitter // nil: one file
	open      func() (groupWriter, error)

	groups    groupWriter
	sink      *sink
	refiner   *refiner // with columns of variable width
	assembler *assembler
	records   *recordWriter // with a splitter and columns of fixed width
}

func (s *lateSink) start() (err error) {
	if s.sink != nil {
		return nil
	}
	if s.groups, err = s.open(); err != nil {
		return err
	}
	s.sink = newSink(s.layout, s.groups, s.sizes)
	switch {
	case s.refiner != nil || s.records != nil: // it is not the first file
	case len(s.layout.variable) > 0:
		s.refiner = s.layout.refiner(s.pick, s.tiedBytes, s.addRow)
		s.assembler = &assembler{layout: s.layout, next: s.refiner.add}
		if s.split != nil {
			s.split.refiner = s.refiner
		}
	case s.split != nil:
		s.records = &recordWriter{size: s.layout.recordSize, next: s.addRow}
	}
	return nil
}

// addRow adds a row. If it begins a new file, the current one is completed.
func (s *lateSink) addRow(row []byte) error {
	if s.split != nil && s.split.isDue(row) {
		if err := errors.Join(s.sink.finish(true), s.groups.close()); err != nil {
			return err
		}
		s.sink = nil
		if err := s.start(); err != nil {
			return err
		}
	}
	if s.assembler != nil {
		return s.sink.addRow(row)
	}
	_, err := s.sink.Write(row)
	return err
}

func (s *lateSink) Write(p []byte) (int, error) {
	if err := s.start(); err != nil {
		return 0, err
	}
	switch {
	case s.assembler != nil:
		return s.assembler.Write(p)
	case s.records != nil:
		return s.records.Write(p)
	}
	return s.sink.Write(p)
}

// close ends the sink. If the sort was successful, it writes the footer.
func (s *lateSink) close(complete bool) (err error) {
	if complete {
		if err := s.start(); err != nil {
			return err
		}
	}
	if s.sink == nil {
		return nil
	}
	if complete && s.assembler != nil && !s.refiner.isFull() {
		err = errors.Join(s.assembler.close(), s.refiner.close())
		if errors.Is(err, errEnough) {
			err = nil
		}
		complete = err == nil
		if s.sink == nil { // the next file of a split could not be opened
			return err
		}
	}
	if err := errors.Join(err, s.sink.finish(complete)); err != nil || !complete {
		return err
	}
	return s.groups.close()
}

// newTarget opens the output.
func newTarget(ctx context.Context, opt Options) (extsort.Sink, error) {
	if opt.Output != "" {
		file, err := extsort.CreateFile(ctx, opt.Output)
		if err != nil {
			return nil, err
		}
		return &buffered{Writer: bufio.NewWriterSize(file, writeBytes), sink: file}, nil
	}
	return &buffered{Writer: bufio.NewWriterSize(opt.Stdout, writeBytes)}, nil
}

// writeBytes is the size of the writes to the output.
const writeBytes = 1 << 20

// buffered is a buffered output.
type buffered struct {
	*bufio.Writer
	sink extsort.Sink // nil: a stream
}

func (b *buffered) Commit(ctx context.Context) error {
	err := b.Flush()
	if err != nil || b.sink == nil {
		return err
	}
	return b.sink.Commit(ctx)
}

func (b *buffered) Abort() error {
	if b.sink == nil {
		return nil
	}
	return b.sink.Abort()
}
