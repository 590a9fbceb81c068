package engine

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"sync/atomic"

	"github.com/extsort/extsort/chunker/input"
	"github.com/extsort/extsort/chunker/plan"
	"github.com/extsort/extsort/chunker/spill"
	"github.com/extsort/extsort/device"
	"github.com/extsort/extsort/format"
	"github.com/extsort/extsort/internal/remote"
	"github.com/extsort/extsort/internal/safely"
	"github.com/extsort/extsort/merge/output"
)

// Output receives the sorted records: a chain of filters and a counter, with a sink at its end.
// It is a device.BlockWriter.
type Output struct {
	device.BlockWriter     // the beginning of the chain
	Size               int // size of an output record in bytes

	run       *Run
	form      Form
	header    *format.Header
	keyer     *format.Keyer      // of the output records
	results   device.BlockWriter // receives records that are already combined or unique
	last      flusher            // the filter that must be flushed at the end; nil if there is none
	sink      *output.Sink       // the end of the chain
	file      *output.File       // nil unless the output is a file that appears when it is complete
	resumable *output.Resumable  // state of a file that a checkpoint keeps; nil without one
	sent      int64              // number of records already sent to a stream; they are skipped
	records   atomic.Int64       // number of records that have reached the end
	checked   *orderWatch        // nil unless the output is verified while it is written
	// sum, if not nil, is called with the records to write. The last merge of a checkpoint sets it.
	sum  func(first int64, recs []byte)
	tell func(first int64, recs []byte)
}

// A flusher is a filter that holds back its last records.
type flusher interface {
	device.BlockWriter
	Flush(ctx context.Context) error
}

// Form describes a transformation of the output records.
type Form struct {
	Groups output.GroupForm // for records with equal keys; the zero value follows plan.Request
	// Aggregation combines records with equal keys; nil if it is not requested. It agrees with
	// Groups.
	Aggregation *format.Aggregation
	From, To    int  // the part of a record to write; To 0 means all
	Bare        bool // omit the header
	RowBytes    int  // size of the rows of a join, which have no key and no header; 0: records of the input

	Computed []format.Column // computed keys after each record that are written; none: they are left out
}

// OutputOptions configures the output.
type OutputOptions struct {
	Name   string                       // name of a file; "" to use Stream
	Stream io.Writer                    // a stream of the caller
	Fault  func(operation string) error // makes operations fail in tests; see output.Open
	Codec  format.Compression
	Verify bool
	Form   Form
	Split  output.Split // how to split the file

	Bundle *output.Bundle // names the file, together with others; nil if Finish does

	StopsEarly bool // not all inputs are read to their ends

	Verified func(first int64, recs []byte) // called with the verified records unless it is nil
}

// OpenOutput begins the output. The file gets its name only when Finish completes it. If OpenOutput
// fails, it leaves nothing behind.
func (r *Run) OpenOutput(ctx context.Context, opt OutputOptions) (err error) {
	o := &Output{
		run:  r,
		form: opt.Form,
		tell: opt.Verified,
	}
	if o.header, o.keyer, o.Size, err = opt.Form.Shape(r.Input); err != nil {
		return err
	}
	set := opt.Split != (output.Split{})
	s := &r.Plan.Sizes
	r.useDirectIO()
	if err := o.checkTail(opt.StopsEarly, set && opt.Codec != format.None); err != nil {
		return err
	}
	sink := output.Options{
		RecordSize:  o.Size,
		Records:     r.Facts.OutputRecords(),
		Header:      o.header.Encode,
		Compression: opt.Codec,
		Writers:     s.Workers,
		Compressors: s.CodecWorkers,
		Keep:        o.wait,
		MaxRecords:  o.header.MaxRecords(),
		MostRecords: func() int64 { return opt.Form.mostRecords(r) },
		Tail:        o.tail,
		Warn:        r.Warn,
	}
	if in := r.Input.Overwritten(); in != nil {
		sink.InPlace = r.mayOverwrite
		sink.Overwrites = in.Name
		sink.Fault = opt.Fault
	}

	if opt.Form.hasKey() {
		sink.Keyer = o.keyer
	}
	switch {
	case set && remote.IsURL(opt.Name):
		err = fmt.Errorf("create output %s: a split output must be a local file", remote.WithoutSecrets(opt.Name))
	case set:
		o.sink, err = output.NewSet(ctx, opt.Name, opt.Fault, opt.Split, sink)
	case remote.IsURL(opt.Name):
		err = o.openObject(ctx, opt.Name, sink)
	case opt.Name != "":
		err = o.open(ctx, opt, sink)
	default:
		o.sink, err = output.NewSink(ctx, opt.Stream, sink)
	}

	if err != nil {
		return err
	}
	if opt.Verify && !o.Placed() {
		o.checked = &orderWatch{keyer: o.keyer, tell: o.tell}
	}
	o.BlockWriter = o.filters()
	r.Output = o
	return nil
}

// wait begins a run for output records, which may have a different size than the sorted ones. The
// run takes no memory from the sort, and a checkpoint does not keep it.
func (o *Output) wait() (*spill.RunWriter, error) {
	r := o.run
	opt := spill.Options{
		Store:       r.Store,
		Folders:     r.Facts.Spill.Dirs,
		Codec:       "none",
		Keyer:       o.keyer,
		ExpectBytes: -1,
		IndexBytes:  leastIndexBytes,
		Workers:     r.Plan.Sizes.Workers,
	}
	if r.Checkpoint != nil {
		opt.Store = nil
	}
	err := safely.Call(func() (err error) { // a panic would leave the open output behind
		r.waiting, err = spill.New(opt)
		return err
	})
	if err != nil {
		return nil, err
	}
	return r.waiting.NewRun(spill.Origin{}), nil
}

// isBare reports whether the output has no header. The header of an input does not describe the
// rows of a join.
func (f *Form) isBare() bool { return f.Bare || f.RowBytes > 0 }

// hasKey reports whether the output records have the key of the input records.
func (f *Form) hasKey() bool { return f.To == 0 && f.RowBytes == 0 }

// Shape returns the header of the output, and the size and the Keyer of its records. Parts of
// records and rows of a join have no key, so their Keyer uses the first byte.
func (f *Form) Shape(in *Input) (header *format.Header, keyer *format.Keyer, size int, err error) {
	header = in.Header
	layout := in.Keyer.Layout()
	if f.isBare() {
		header = &format.Header{}
	}
	size = f.RowBytes
	if f.To > 0 {
		size = f.To - f.From
	}
	if size > 0 {
		layout = format.Layout{
			RecordSize: size,
			Key:        []format.Field{{Type: format.Type{Size: 1}}},
		}
	}
	if f.Aggregation != nil && f.To == 0 {
		layout.RecordSize = f.Aggregation.Size()
	}
	if columns := f.appended(); len(columns) > 0 && f.To == 0 && !f.isBare() {
		if header, err = in.Header.WithAppended(columns); err != nil {
			return nil, nil, 0, err
		}
	}

	keyer, err = format.NewKeyer(layout)
	return header, keyer, layout.RecordSize, err
}

// appended returns the columns after each record of the input, in order.
func (f *Form) appended() []format.Column {
	columns := slices.Clone(f.Computed)
	if f.Aggregation != nil {
		columns = append(columns, f.Aggregation.Appended()...)
	}
	return columns
}

// openObject begins a remote object.
func (o *Output) openObject(ctx context.Context, name string, sink output.Options) error {
	s := &o.run.Plan.Sizes
	object, err := remote.Create(ctx, name, s.PartBytes, s.Parts)
	if err != nil {
		return err
	}
	object.Borrow(input.Remote(o.run.Input.Files))
	o.sink, err = output.NewSink(ctx, object, sink)
	return err
}

// open opens the output by its name, or continues the file of a checkpoint. A file that is written
// sequentially or without duplicates always starts from the beginning.
func (o *Output) open(ctx context.Context, opt OutputOptions, sink output.Options) error {
	r := o.run
	file := sink.File(output.FileOptions{Fault: opt.Fault, Bundle: opt.Bundle})
	if r.Plan.Sizes.Queue.Output {
		file.Requests = r.direct
	}
	checkpoint := r.Checkpoint
	if checkpoint != nil {
		file.Complete = checkpoint.SetComplete
	}
	if checkpoint != nil && opt.Codec == format.None && !r.Facts.Request.Unique {
		o.resumable = &output.Resumable{
			File:       checkpoint.Output(),
			Owner:      checkpoint.Folder(),
			HasRecords: checkpoint.State().Written > 0,
		}
		file.Resumable = o.resumable
	}
	to, err := output.Open(ctx, opt.Name, file)
	if err != nil {
		return err
	}
	o.file, _ = to.(*output.File)

	if o.resumable != nil && o.file != nil && !o.resumable.Begun {
		if err := checkpoint.SetOutput(*o.resumable.File); err != nil {
			return errors.Join(err, to.Abort())
		}
	}
	o.sink, err = output.NewSink(ctx, to, sink)
	return err
}

// Placed reports whether blocks have fixed positions, so that they can be written again.
func (o *Output) Placed() bool { return o.sink.Kind == output.KindPlaced }

// Records returns the number of records that have reached the end.
func (o *Output) Records() int64 { return o.records.Load() }

// CanRestart reports whether everything written so far can be taken back.
func (o *Output) CanRestart() bool {
	return o.sink.Kind != output.KindStream || o.records.Load() == 0
}

// filters returns the chain of filters that the options require.
func (o *Output) filters() device.BlockWriter {
	asked := &o.run.Facts.Request
	in := o.run.Input
	combined := o.form.Aggregation
	w := output.Observe(o.observe, o.sink.BlockWriter)
	if o.sent > 0 || asked.Limit > 0 {
		w = output.Clip(o.sent, cmp.Or(asked.Limit, math.MaxInt64), w, o.Size)
	}
	if o.form.To > 0 {
		w = output.Excerpt(o.form.From, o.form.To, in.size, w)
	}
	o.results = w
	o.last = nil
	switch {
	case combined != nil && combined.CombinesFields(): // Groups is faster, but it combines no fields
		o.last = output.NewFolds(output.FoldForm{Aggregation: combined, Limit: asked.Limit}, w)
	case asked.Unique || o.form.Groups != (output.GroupForm{}):
		o.last = output.NewGroups(in.Keyer, o.form.Groups, w)
	}
	if o.last != nil {
		return o.last
	}
	return w
}

// expect announces the size of a file that was unknown until the end of the input, which has read
// records. It does nothing for a resumable file, which may contain records already.
func (o *Output) expect(read int64) error {
	facts := *o.run.Facts
	if facts.Records >= 0 || o.resumable != nil || o.file == nil || !o.Placed() {
		return nil
	}
	facts.Records = read
	records := facts.OutputRecords()
	if records <= 0 {
		return nil
	}
	size := int64(len(o.header.Encode(0))) + records*int64(o.Size)
	return o.file.Expect(size, o.run.Plan.Sizes.Workers)
}

// observe counts the records at the end of the chain, and checks them if they cannot be read back.
// The Meter counts the bytes of the sorted records, even if the output records have another size,
// because the totals of stages do so, too.
func (o *Output) observe(first int64, recs []byte) error {
	n := len(recs) / o.Size
	o.records.Add(int64(n))
	o.run.Meter.add(atOutput, n*o.run.Input.size)
	if o.sum != nil {
		o.sum(first, recs)
	}
	if o.checked != nil {
		return o.checked.checkBlock(first, recs)
	}
	return nil
}

// restart prepares the output for a strategy that starts from the first record. The records that
// a stream already has are the same and are skipped. REQUIRES: no block is being written
func (o *Output) restart() {
	if !o.Placed() {
		o.sent = o.records.Load()
	} else if o.file != nil {
		o.file.Restart()
	}
	o.records.Store(o.sent)
	o.BlockWriter = o.filters()
}

// Finish completes the output if err is nil, and otherwise discards it. It checks that every
// record read has been written.
func (r *Run) Finish(ctx context.Context, err error) error {
	if err == nil {
		err = safely.Call(func() error { return r.complete(ctx) })
	}
	if err != nil {
		return errors.Join(r.damaged(err), r.Output.sink.Abort())
	}
	r.warnOfFrame()
	return nil
}

func (r *Run) complete(ctx context.Context) error {
	if r.Output.last != nil {
		if err := r.Output.last.Flush(ctx); err != nil {
			return err
		}
	}
	if err := r.Input.Data.Check(r.Warn); err != nil {
		return err
	}
	if err := r.checkRecordCounts(); err != nil {
		return err
	}
	if r.Input.Summed {
		if err := r.verify(ctx); err != nil {
			return err
		}
	}
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	r.Meter.begin(plan.StageFinish, atOutput, -1)
	defer r.Meter.end(0)
	if err := input.CloseReplaced(r.Input.Files); err != nil {
		return err
	}
	return r.Output.sink.Commit(ctx, r.Output.Records())
}

// checkRecordCounts returns an error if records were lost or invented.
func (r *Run) checkRecordCounts() error {
	in := r.Input.Records()
	out := r.Output.Records()
	limit := r.Facts.Request.Limit
	if known := r.Input.Data.Records(); known >= 0 && in != known && limit == 0 {
		return fmt.Errorf(
			"internal error: %d of %d records were read; the output is discarded", in, known,
		)
	}
	if r.Output.form.RowBytes > 0 {
		return nil // a join may write fewer or more rows
	}
	want := in
	if limit > 0 {
		want = min(max(in, r.Input.Data.Records()), limit)
	}
	mayBeFewer := r.Facts.Request.Unique || r.Facts.Request.Selects
	if out == want || mayBeFewer && out <= want {
		return nil
	}
	return fmt.Errorf(
		"internal error: %d records were read, but %d instead of %d were written; the output is discarded",
		in, out, want,
	)
}
