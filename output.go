package extsort

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync/atomic"

	"github.com/extsort/extsort/chunker/input"
	"github.com/extsort/extsort/chunker/spill"
	"github.com/extsort/extsort/device"
	"github.com/extsort/extsort/format"
	sinks "github.com/extsort/extsort/merge/output"
)

// output is where sorted records go: a chain of writers that ends in a file or a stream. It is a
// device.BlockWriter.
type output struct {
	device.BlockWriter
	sink *sinks.Sink   // the end of the chain
	file *sinks.Output // nil: a stream that the caller gave

	gone    int64        // records that a stream has, and is not to get again
	records atomic.Int64 // that have reached the end of the chain
	checked *orderWatch  // nil unless the output is verified as it passes
}

// openOutput begins the output. Nothing stands under its name before finish.
func (j *job) openOutput() (*output, error) {
	o := &output{}
	codec, err := j.outputCodec()
	if err != nil {
		return nil, err
	}
	var stream io.Writer = j.opt.Stdout
	if !j.toStdout() {
		if o.file, err = sinks.Open(j.opt.Output, j.opt.faults.outputFS); err != nil {
			return nil, err
		}
		stream = o.file
	}
	o.sink, err = sinks.NewSink(stream, sinks.Options{
		RecordSize: j.size, Records: j.expected(), Header: j.header.Encode,
		Compression: codec, Writers: j.opt.Workers, Compressors: j.codecWorkers, PipeBytes: j.pipeBytes,
		Keep: func() (*spill.RunWriter, error) {
			if err := j.openSpill(-1, 0); err != nil {
				return nil, err
			}
			return j.spill.NewRun(), nil
		},
	})
	if err != nil {
		return nil, err
	}
	if j.opt.Verify && !o.isPatient() {
		o.checked = &orderWatch{keyer: j.keyer}
	}
	o.BlockWriter = j.filters(o)
	return o, nil
}

// toStdout reports whether the records go to the stream that the caller gave.
func (j *job) toStdout() bool { return j.opt.Output == "" || j.opt.Output == input.Stdin }

// outputCodec is the compression of the output.
func (j *job) outputCodec() (format.Compression, error) {
	if j.opt.Compress == "" {
		return format.BySuffix(j.opt.Output), nil
	}
	return format.ParseCompression(j.opt.Compress)
}

// isPatient reports whether what is written to the output will be to a regular file, see output.isPatient. It may turn out not to be.
func (j *job) isPatient() bool {
	codec, err := j.outputCodec()
	return !j.toStdout() && err == nil && codec == format.None
}

// isApart reports whether the output will be such a file, see output.isApart. It may turn out not to be.
func (j *job) isApart() bool { return !j.toStdout() }

// expected is the number of records that the output will have; -1: not known before the end.
func (j *job) expected() int64 {
	n := j.data.Records()
	switch {
	case n < 0 || j.opt.Unique:
		return -1
	case j.opt.Limit > 0:
		return min(n, j.opt.Limit)
	}
	return n
}

// filters puts what the options ask for before the end of the chain.
func (j *job) filters(o *output) device.BlockWriter {
	var w device.BlockWriter = sinks.Observe(o.observe(j), o.sink.BlockWriter)
	if o.gone > 0 {
		w = sinks.Tail(o.gone, w, j.size)
	}
	if j.opt.Limit > 0 {
		w = sinks.Head(j.opt.Limit, w, j.size)
	}
	if j.opt.Unique {
		w = sinks.NewUnique(j.keyer, w)
	}
	return w
}

// observe counts what goes to the end of the chain, and checks it where it cannot be read back.
func (o *output) observe(j *job) func(first int64, recs []byte) error {
	return func(first int64, recs []byte) error {
		o.records.Add(int64(len(recs) / j.size))
		j.meter.add(atOutput, len(recs))
		if o.checked != nil {
			return o.checked.see(first, recs)
		}
		return nil
	}
}

// resume has the sort begin again where a stream has the first of its records already: they are the same in any way, and not
// written again. REQUIRES: no block is being written.
func (o *output) resume() {
	if !o.isPatient() {
		o.gone = o.records.Load()
	}
}

// isPatient reports whether what was written can be written again: blocks of a regular file have their places.
func (o *output) isPatient() bool { return o.sink.Kind() == sinks.Placed }

// isApart reports whether the output is a file that nobody reads before it is complete. A stream may end in the input, which has been
// read when one pass writes the first byte, but not when several do.
func (o *output) isApart() bool { return o.sink.Kind() != sinks.Stream }

// canRestart reports whether nothing has gone out that could not be taken back.
func (o *output) canRestart() bool { return o.isApart() || o.records.Load() == 0 }

// finish completes the output if all went well so far, else gives it up. Nothing may be lost: every record read
// must have been written.
func (j *job) finish(ctx context.Context, o *output, err error) error {
	if err == nil {
		err = j.complete(ctx, o)
	}
	if err != nil {
		return errors.Join(err, o.sink.Abort())
	}
	return nil
}

func (j *job) complete(ctx context.Context, o *output) error {
	j.report.Records, j.report.RecordsOut = j.recordsIn.Load(), o.records.Load()
	j.report.BytesRead, j.report.BytesWritten = j.bytesIn(), j.report.RecordsOut*int64(j.size)
	if err := j.data.Check(); err != nil {
		return err
	}
	if err := j.allThere(); err != nil {
		return err
	}
	if j.opt.Verify {
		if err := j.verify(ctx, o); err != nil {
			return err
		}
	}
	if err := ctx.Err(); err != nil {
		return context.Cause(ctx)
	}
	j.meter.begin(stageFinish, atOutput, -1)
	defer j.meter.end(0)
	return o.sink.Commit(j.report.RecordsOut)
}

// allThere reports records that were lost or made up.
func (j *job) allThere() error {
	in, out := j.report.Records, j.report.RecordsOut
	if known := j.data.Records(); known >= 0 && in != known && j.opt.Limit == 0 {
		return fmt.Errorf("internal error: %d of %d records were read; the output is not kept", in, known)
	}
	want := in
	if j.opt.Limit > 0 {
		want = min(want, j.opt.Limit)
	}
	if out == want || j.opt.Unique && out <= want {
		return nil
	}
	return fmt.Errorf("internal error: %d records came in, but %d of %d due went out; the output is not kept", in, out, want)
}
