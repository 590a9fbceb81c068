package extsort

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/extsort/extsort/chunker/input"
	"github.com/extsort/extsort/chunker/plan"
	"github.com/extsort/extsort/format"
	"github.com/extsort/extsort/internal/engine"
	"github.com/extsort/extsort/merge"
)

// Merge merges inputs that are already sorted. An input that is not is a *DisorderError. Of records with equal
// keys those of earlier inputs come first.
func Merge(ctx context.Context, opt Options) (*Report, error) {
	start, endPeak := time.Now(), engine.WatchPeak()
	s, err := prepareMerge(ctx, opt)
	if err != nil {
		endPeak()
		return nil, err
	}
	if err = s.openOutput(ctx); err == nil {
		err = s.run.Finish(ctx, s.nameDisorder(ctx, s.run.MergeSorted(ctx)))
	}
	err = s.end(err)
	return s.report(start, endPeak()), err
}

// prepareMerge opens the inputs of a merge.
func prepareMerge(ctx context.Context, opt Options) (*session, error) {
	s, err := begin(ctx, opt)
	if err != nil {
		return nil, err
	}
	if in := s.run.Input.Overwritten(); in != nil {
		return nil, errors.Join(fmt.Errorf("%s: is an input and the output, and would be written over while it is read: "+
			"give another output, or it with -o", in.Name), s.close())
	}
	f := factsOf(&s.opt, s.run.Input)
	f.Together = true
	sizes := plan.Divide(f)
	layout := f.Keyer.Layout()
	s.run.Facts, s.run.Plan = f, &SortPlan{
		Strategy: MergeRuns, Records: f.Records, RecordSize: layout.RecordSize, KeySize: f.Keyer.KeySize(),
		Layout: layout.String(), MemoryLimit: s.opt.MemoryBytes, Device: deviceCPU, Workers: sizes.Workers,
		Chunks: len(s.run.Input.Files), FanIn: sizes.FanIn, BlockBytes: sizes.BlockBytes, TempDirs: s.opt.TempDirs,
		Sizes: sizes,
	}
	return s, nil
}

// nameDisorder names the input that is out of order, and its first record that is.
func (s *session) nameDisorder(ctx context.Context, err error) error {
	var disorder *merge.DisorderError
	if !errors.As(err, &disorder) {
		return err
	}
	return s.disorderIn(disorder.Input, s.firstDisorder(ctx, s.run.Input.Files[disorder.Input], disorder.Record))
}

// disorderBytes is how much is read at a time to find the first record that is out of order.
const disorderBytes = 1 << 20

// firstDisorder is the first record of an input that is out of order, of which one is known: a merge reads the blocks
// of a file in no certain order. A stream is read in its own, so that the one that is known is the first.
func (s *session) firstDisorder(ctx context.Context, in *input.Input, known int64) int64 {
	if !in.Seekable() {
		return known
	}
	size := int64(s.run.Input.Keyer.Layout().RecordSize)
	buf := make([]byte, max(disorderBytes/size, 2)*size)
	step := int64(len(buf))/size - 1 // the last record of a block is the first of the next
	for first := int64(0); first < known && ctx.Err() == nil; first += step {
		block := buf[:min(step+1, known+1-first)*size]
		if in.ReadRecords(block, first) != nil {
			break
		}
		if at := format.CheckBlock(s.run.Input.Keyer, first, block).FirstDisorder; at >= 0 {
			return at
		}
	}
	return known
}

func (s *session) disorderIn(input int, record int64) *DisorderError {
	in := s.run.Input.Files[input]
	size := int64(s.run.Input.Keyer.Layout().RecordSize)
	return &DisorderError{File: in.Name, Record: record, Byte: in.Header.Size() + record*size}
}

// Check reads the single input and reports whether it is in order; disorder is a *DisorderError, and the
// report is valid then too. With opt.Unique equal neighbours are disorder. With opt.Brief the report of disorder
// tells of some records only, and none has a checksum.
func Check(ctx context.Context, opt Options) (*CheckReport, error) {
	if len(opt.Inputs) > 1 {
		return nil, fmt.Errorf("%s: only one file can be checked at a time", opt.Inputs[1])
	}
	s, err := begin(ctx, opt)
	if err != nil {
		return nil, err
	}
	sizes := plan.Divide(factsOf(&s.opt, s.run.Input))
	found, err := engine.Check(ctx, s.run.Input, sizes, opt.Unique, opt.Brief, s.opt.Warn)
	if err = s.end(err); err != nil {
		return nil, err
	}
	report := &CheckReport{Records: found.Records, Duplicates: found.Duplicates, Checksum: found.Checksum}
	if found.Fault >= 0 {
		return report, s.disorderIn(0, found.Fault)
	}
	return report, nil
}
