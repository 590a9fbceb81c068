package engine

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
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

// Output is where sorted records go: filters, a count, and at the end a sink. It is a device.BlockWriter.
type Output struct {
	device.BlockWriter     // the first of the chain
	Size               int // bytes of a record of what is written

	run     *Run
	form    Form
	header  *format.Header
	keyer   *format.Keyer                  // of what is written
	groups  *output.Groups                 // in the chain, if there is one
	sink    *output.Sink                   // the last of the chain
	file    *output.Output                 // nil: a stream that the caller gave
	kept    *output.Kept                   // the same, where a checkpoint keeps what is written; else nil
	sent    int64                          // records that a stream has, and is not to get again
	records atomic.Int64                   // that have reached the end
	checked *orderWatch                    // nil unless the output is verified as it passes
	sum     func(first int64, recs []byte) // gets what is written, by the last merge of a checkpoint; nil: nobody does
	tell    func(first int64, recs []byte)
}

// Form says what is written in place of the records.
type Form struct {
	Groups   output.GroupForm // of those with equal keys; the zero value: as plan.Asked has it
	From, To int              // the part of a record that is written; To is 0: all of it
	Bare     bool             // no header
}

// OutputOptions says where records go.
type OutputOptions struct {
	Name   string                       // of a file; "": Stream
	Stream io.Writer                    // that the caller gave
	Fault  func(operation string) error // of the file; for tests, see output.Open
	Codec  format.Compression
	Verify bool
	Form   Form
	Split  output.Split // of the file

	StopsEarly bool // not all inputs are read to their ends

	Verified func(first int64, recs []byte) // gets what was verified; nil: nobody does
}

// OpenOutput begins the output. Nothing stands under its name before Finish. After an error nothing is left of it.
func (r *Run) OpenOutput(ctx context.Context, opt OutputOptions) (err error) {
	o, stream := &Output{run: r, form: opt.Form, tell: opt.Verified}, opt.Stream
	if o.header, o.keyer, o.Size, err = opt.Form.Shape(r.Input); err != nil {
		return err
	}
	set, s := opt.Split != output.Split{}, &r.Plan.Sizes
	if err := r.openQueue(); err != nil {
		return err
	}
	if err := o.checkTail(opt.StopsEarly, set && opt.Codec != format.None); err != nil {
		return err
	}
	switch {
	case set && remote.Is(opt.Name):
		return fmt.Errorf("create output %s: several files must be local", remote.Shown(opt.Name))
	case remote.Is(opt.Name):
		object, err := remote.Create(ctx, opt.Name, s.PartBytes, s.Parts)
		if err != nil {
			return err
		}
		object.Lender, stream = input.RequestsOf(r.Input.Files), object
	case opt.Name != "" && !set:
		if err = o.open(ctx, opt); err != nil {
			return err
		}
		stream = o.file
	}
	sink := output.Options{
		RecordSize: o.Size, Records: r.Facts.OutputRecords(), Header: o.header.Encode,
		Compression: opt.Codec, Writers: s.Workers, Compressors: s.CodecWorkers, PipeBytes: s.PipeBytes,
		Keep: o.wait, MaxRecords: o.header.MaxRecords(), Tail: o.tail,
	}
	if s.Queue.Output {
		sink.Queue = r.queue
	}
	if in := r.Input.Overwritten(); in != nil {
		sink.InPlace = r.mayOverwrite
		sink.MostRecords = func() int64 { return mostRecords(r) }
		sink.Overwrites = in.Name
		sink.Fault = opt.Fault
	}
	if opt.Form.To == 0 { // else what is written has no key
		sink.Keyer = o.keyer
	}
	if set {
		o.sink, err = output.NewSet(ctx, opt.Name, opt.Fault, opt.Split, sink)
	} else {
		o.sink, err = output.NewSink(ctx, stream, sink)
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

// wait begins a run of records as they are written, which may have another size than those that are sorted. It takes no
// memory that the sort has, and a checkpoint keeps nothing of it.
func (o *Output) wait() (*spill.RunWriter, error) {
	r := o.run
	opt := spill.Options{Store: r.Store, Folders: r.Facts.Spill.Folders, Codec: "none", Keyer: o.keyer,
		ExpectBytes: -1, IndexBytes: leastIndexBytes,
		Workers: r.Plan.Sizes.Workers}
	if r.Kept != nil {
		opt.Store = nil
	}
	err := safely.Call(func() (err error) { // the output is open: after a panic it would stay
		r.waiting, err = spill.New(opt)
		return err
	})
	if err != nil {
		return nil, err
	}
	return r.waiting.NewRun(spill.Origin{}), nil
}

// Shape returns the header of the output, and the size and the Keyer of its records. If only a part of each record is
// written, it has no key, and the Keyer takes its first byte for one.
func (f *Form) Shape(in *Input) (header *format.Header, keyer *format.Keyer, size int, err error) {
	header = in.Header
	layout := in.Keyer.Layout()
	if f.Bare {
		header = &format.Header{}
	}
	if f.To > 0 {
		layout = format.Layout{RecordSize: f.To - f.From, Key: []format.Field{{Type: format.Type{Size: 1}}}}
	}
	if f.Groups.Count {
		layout.RecordSize += output.CountBytes
		if header, err = in.Header.WithCount(); err != nil {
			return nil, nil, 0, err
		}
	}
	keyer, err = format.NewKeyer(layout)
	return header, keyer, layout.RecordSize, err
}

// open opens the file, that of before if a checkpoint has one. What is written in order, or without doubles, is written
// anew in any case.
func (o *Output) open(ctx context.Context, opt OutputOptions) (err error) {
	cp := o.run.Kept
	if cp != nil && opt.Codec == format.None && !o.run.Facts.Asked.Unique {
		o.kept = &output.Kept{File: cp.Output(), Owner: cp.Folder()}
	}
	o.file, err = output.OpenKept(ctx, opt.Name, opt.Fault, o.kept)
	if err == nil && cp != nil {
		o.file.Complete = cp.SetComplete
	}
	if err != nil || o.kept == nil || o.kept.Begun {
		return err
	}
	if err = cp.SetOutput(*o.kept.File); err != nil {
		return errors.Join(err, o.file.Abort())
	}
	return nil
}

// Placed reports whether blocks have their places, so that what was written can be written again.
func (o *Output) Placed() bool { return o.sink.Kind == output.Placed }

// Records is the number of records that have reached the end.
func (o *Output) Records() int64 { return o.records.Load() }

// CanRestart reports whether nothing has gone out that could not be taken back.
func (o *Output) CanRestart() bool {
	return o.sink.Kind != output.Stream || o.records.Load() == 0
}

// filters puts what is asked for before the end of the chain.
func (o *Output) filters() device.BlockWriter {
	asked, in := &o.run.Facts.Asked, o.run.Input
	w := output.Observe(o.observe, o.sink.BlockWriter)
	if o.sent > 0 || asked.Limit > 0 {
		w = output.Clip(o.sent, cmp.Or(asked.Limit, math.MaxInt64), w, o.Size)
	}
	if o.form.To > 0 {
		w = output.Excerpt(o.form.From, o.form.To, in.size, w)
	}
	if asked.Unique || o.form.Groups != (output.GroupForm{}) {
		o.groups = output.NewGroups(in.Keyer, o.form.Groups, w)
		w = o.groups
	}
	return w
}

// observe counts what goes to the end of the chain, and checks it where it cannot be read back.
func (o *Output) observe(first int64, recs []byte) error {
	o.records.Add(int64(len(recs) / o.Size))
	o.run.Meter.add(atOutput, len(recs))
	if o.sum != nil {
		o.sum(first, recs)
	}
	if o.checked != nil {
		return o.checked.see(first, recs)
	}
	return nil
}

// restart lets the records be written from the first on, in any order that strategies have. What a stream has already
// is the same, and is not written again. REQUIRES: no block is being written.
func (o *Output) restart() {
	if !o.Placed() {
		o.sent = o.records.Load()
	} else if o.file != nil {
		o.file.Restart()
	}
	o.records.Store(o.sent)
	o.BlockWriter = o.filters()
}

// Finish completes the output if all went well so far, else gives it up. Nothing may be lost: every record read must
// have been written.
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
	if r.Output.groups != nil {
		if err := r.Output.groups.Flush(ctx); err != nil {
			return err
		}
	}
	if err := r.Input.Data.Check(r.Warn); err != nil {
		return err
	}
	if err := r.allThere(); err != nil {
		return err
	}
	if r.Input.summed {
		if err := r.verify(ctx); err != nil {
			return err
		}
	}
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	r.Meter.begin(plan.StageFinish, atOutput, -1)
	defer r.Meter.end(0)
	return r.Output.sink.Commit(ctx, r.Output.Records())
}

// allThere reports records that were lost or made up.
func (r *Run) allThere() error {
	in, out, limit := r.Input.Records(), r.Output.Records(), r.Facts.Asked.Limit
	if known := r.Input.Data.Records(); known >= 0 && in != known && limit == 0 {
		return fmt.Errorf("internal error: %d of %d records were read; the output is discarded", in, known)
	}
	want := in
	if limit > 0 {
		want = min(max(in, r.Input.Data.Records()), limit)
	}
	if out == want || r.Facts.Asked.Unique && out <= want {
		return nil
	}
	return fmt.Errorf("internal error: %d records came in, but %d of %d due went out; the output is discarded",
		in, out, want)
}
