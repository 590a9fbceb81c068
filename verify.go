package extsort

import (
	"context"
	"errors"
	"fmt"

	"golang.org/x/sync/errgroup"

	"github.com/extsort/extsort/chunker"
	"github.com/extsort/extsort/chunker/input"
)

// Check reads the single input and reports whether it is in order; disorder is a *DisorderError, and the
// report is valid then too. With opt.Unique equal neighbours are disorder. With opt.Brief the report of disorder
// tells of some records only, and none has a checksum.
func Check(ctx context.Context, opt Options) (*CheckReport, error) {
	if len(opt.Inputs) > 1 {
		return nil, fmt.Errorf("%s: only one file can be checked at a time", opt.Inputs[1])
	}
	j, err := beginJob(opt, func(j *job) error { return j.openInputs(ctx) })
	if err != nil {
		return nil, err
	}
	j.meter.begin(stageCheck, atInput, j.data.Records()*int64(j.size))
	watch, err := j.watchOrder(ctx, j.data)
	j.meter.end(j.bytesIn())
	if err = errors.Join(err, j.data.Check(), j.close()); err != nil {
		return nil, err
	}
	order, err := watch.order.Result()
	if err != nil {
		return nil, err
	}
	report := &CheckReport{Records: order.Records, Duplicates: order.Duplicates}
	if !opt.Brief {
		report.Checksum = watch.sum.sum.String()
	}
	if at := order.FirstFault(opt.Unique); at >= 0 {
		return report, &DisorderError{File: j.inputs[0].Name, Record: at, Byte: j.header.Size() + at*int64(j.size)}
	}
	return report, nil
}

// watchOrder reads the records of data and checks their order.
func (j *job) watchOrder(ctx context.Context, data chunker.Dataset) (*orderWatch, error) {
	watch := &orderWatch{keyer: j.keyer, brief: j.opt.Brief, unique: j.opt.Unique}
	for _, src := range data.Split(1) {
		if j.opt.Brief {
			src = untilFault{src, watch}
		}
		if err := readAll(ctx, src, j.opt.Workers, j.readBytes(), j.size, watch.see); err != nil {
			return nil, err
		}
	}
	return watch, nil
}

// readBytes is what each worker reads at a time where all that they do is look at the records.
func (j *job) readBytes() int {
	return int(min(maxBlockBytes, j.budget/int64(2*j.opt.Workers)))
}

// verify reports an output that is not in order or has not the records of the input. A regular file is read back;
// what went into a stream was checked as it passed.
func (j *job) verify(ctx context.Context, o *output) error {
	watch := o.checked
	if watch == nil {
		j.meter.begin(stageVerify, atOutput, j.report.BytesWritten)
		defer func() { j.meter.end(j.report.BytesWritten) }()
		var err error
		if watch, err = j.readBack(ctx, o); err != nil {
			return err
		}
	}
	order, err := watch.order.Result()
	if err != nil || order.Records != j.report.RecordsOut {
		return fmt.Errorf("verify: %d records were written, but %d can be read; the output is not kept", j.report.RecordsOut, order.Records)
	}
	if at := order.FirstFault(j.opt.Unique); at >= 0 {
		return fmt.Errorf("verify: record %d of the output is out of order; the output is not kept", at)
	}
	j.report.ChecksumIn, j.report.ChecksumOut = j.sumIn.sum.String(), watch.sum.sum.String()
	if j.report.ChecksumIn != j.report.ChecksumOut && !j.opt.Unique && j.opt.Limit == 0 {
		return fmt.Errorf("verify: the checksum of what was read is %s, of what was written %s; the output is not kept",
			j.report.ChecksumIn, j.report.ChecksumOut)
	}
	j.report.Verified = true
	return nil
}

// readBack checks the records of the output file before it gets its name.
func (j *job) readBack(ctx context.Context, o *output) (*orderWatch, error) {
	watch := &orderWatch{keyer: j.keyer}
	src := input.ReaderSource(o.file, int64(len(j.header.Encode(0))), j.report.RecordsOut, j.size)
	err := readAll(ctx, src, j.opt.Workers, j.readBytes(), j.size, func(first int64, recs []byte) error {
		j.meter.add(atOutput, len(recs))
		return watch.see(first, recs)
	})
	return watch, err
}

// eachWorker runs work in n goroutines.
func eachWorker(ctx context.Context, n int, work func(context.Context) error) error {
	group, ctx := errgroup.WithContext(ctx)
	for range n {
		group.Go(func() error { return work(ctx) })
	}
	return group.Wait()
}
