package columns

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"runtime"

	"github.com/apache/arrow-go/v18/parquet/file"

	"github.com/extsort/extsort"
)

// Options describe a sort of Parquet files. Inputs, Keys and either Output or Stdout are required.
type Options struct {
	Inputs []string // files, directories or patterns, all with the same schema
	Keys   []Key    // the most significant first

	NullsFirst    bool // nulls sort first, in both directions; otherwise last
	NaN           extsort.NaNOrder
	NumericFloats bool // see extsort.Record
	Select        extsort.Selection

	Output      string    // "": Stdout
	Stdout      io.Writer // receives the file if Output is empty
	Compression string    // a name in Codecs; "": as in the first input

	Memory   int64 // bytes; 0: half of the machine's memory
	TempDirs []string
	Workers  int // 0: GOMAXPROCS
	Strategy extsort.Strategy
	Verify   bool
}

// Sort sorts the rows of Parquet files. Rows with equal keys stay in the order of the inputs. The
// output appears completely or not at all.
func Sort(ctx context.Context, opt Options) (report *extsort.Report, err error) {
	if opt.Compression != "" {
		if _, err := codecNamed(opt.Compression); err != nil {
			return nil, err
		}
	}
	m, err := newBudget(opt.Memory, cmp.Or(opt.Workers, runtime.GOMAXPROCS(0)))
	if err != nil {
		return nil, err
	}
	names, err := expand(opt.Inputs)
	if err != nil {
		return nil, err
	}
	if len(names) == 0 {
		return nil, errors.New("no input file")
	}
	inputs, err := openInputs(names, m.columns/2)
	if err != nil {
		return nil, err
	}
	defer closeInputs(inputs)
	l, err := newLayout(inputs[0].reader.MetaData().Schema, opt.Keys, opt.NullsFirst)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", inputs[0].name, err)
	}
	target, err := newTarget(ctx, opt)
	if err != nil {
		return nil, err
	}
	report, err = sortInto(ctx, opt, inputs, l, m, target)
	if err == nil {
		err = target.Commit(ctx)
	}
	if err != nil {
		return report, errors.Join(err, target.Abort())
	}
	return report, nil
}

// sortInto sorts the inputs and writes the output to w.
func sortInto(ctx context.Context, opt Options, inputs []*input, l *layout, m budget,
	w io.Writer) (report *extsort.Report, err error) {
	src := newSource(ctx, inputs, l, m.source(inputs, l))
	defer src.close()
	out := &lateSink{layout: l, sizes: m.sink(l), open: func() (*file.Writer, error) {
		props, err := writerProperties(inputs[0], l, opt, src.floats, m.pageBytes(l))
		if err != nil {
			return nil, err
		}
		return newWriter(w, inputs[0], props)
	}}
	defer func() { err = errors.Join(err, out.close(err == nil)) }()

	rows := int64(0)
	for _, in := range inputs {
		rows += in.rows
	}
	if rows == 0 {
		return &extsort.Report{}, nil
	}
	report, err = extsort.Sort(ctx, extsort.Job{
		Input: extsort.Input{
			Sources: []extsort.Source{{Reader: src, Name: inputs[0].name}},
			Records: rows,
			Raw:     true,
		},
		Record: extsort.Record{
			Size:          l.recordSize,
			Keys:          l.keys,
			NaN:           opt.NaN,
			NumericFloats: opt.NumericFloats,
		},
		Select: opt.Select,
		Output: extsort.Output{Writer: out},
		Resources: extsort.Resources{
			Memory:   m.engine,
			TempDirs: opt.TempDirs,
			Workers:  opt.Workers,
			Devices:  []string{"cpu"},
		},
		Tuning: extsort.Tuning{Strategy: opt.Strategy},
		Verify: opt.Verify,
	})
	if src.failed != nil && ctx.Err() == nil {
		return report, src.failed
	}
	for _, in := range inputs {
		err = cmp.Or(err, in.checkUnchanged())
	}
	return report, err
}

// A lateSink is a sink that is opened by its first Write. By then all rows have been read, and the
// properties of the output are known.
type lateSink struct {
	layout *layout
	sizes  sinkSizes
	open   func() (*file.Writer, error)

	writer *file.Writer
	sink   *sink
}

func (s *lateSink) start() (err error) {
	if s.sink == nil {
		if s.writer, err = s.open(); err != nil {
			return err
		}
		s.sink = newSink(s.layout, s.writer, s.sizes)
	}
	return nil
}

func (s *lateSink) Write(p []byte) (int, error) {
	if err := s.start(); err != nil {
		return 0, err
	}
	return s.sink.Write(p)
}

// close ends the sink. If the sort was successful, it writes the footer.
func (s *lateSink) close(complete bool) error {
	if complete {
		if err := s.start(); err != nil {
			return err
		}
	}
	if s.sink == nil {
		return nil
	}
	if err := s.sink.finish(complete); err != nil || !complete {
		return err
	}
	return s.writer.Close()
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
