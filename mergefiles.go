package extsort

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/extsort/extsort/chunker/input"
	"github.com/extsort/extsort/chunker/spill"
	"github.com/extsort/extsort/merge"
)

// Merge merges inputs that are already sorted. An input that is not is a *DisorderError. Of records with equal
// keys those of earlier inputs come first.
func Merge(ctx context.Context, opt Options) (*Report, error) {
	start, memory := time.Now(), startPeakSampler()
	j, err := newMerge(ctx, opt)
	if err != nil {
		memory.end()
		return nil, err
	}
	out, err := j.openOutput()
	if err == nil {
		j.meter.begin(stageMerge, atOutput, j.data.Records()*int64(j.size))
		err = j.nameDisorder(j.mergeInputs(ctx, out))
		j.meter.end(j.bytesIn())
		err = j.finish(ctx, out, err)
	}
	err = errors.Join(err, j.close())
	return j.fillReport(start, memory.end()), err
}

// newMerge opens the inputs of a merge.
func newMerge(ctx context.Context, opt Options) (*job, error) {
	j, err := beginJob(opt, func(j *job) error { return j.openInputs(ctx) })
	if err != nil {
		return nil, err
	}
	if in := j.writesTo(); in != nil {
		return nil, errors.Join(fmt.Errorf("%s: is an input and the output, and would be written over while it is read: give another output, or it with -o", in.Name), j.close())
	}
	j.reserveCodecs(true)
	j.blockBytes = j.opt.faults.block(blockBytes(j.budget, j.opt.Workers, j.size), j.size)
	j.reserveBlocks()
	j.plan = &SortPlan{Strategy: MergeRuns, Records: j.data.Records(), RecordSize: j.size, KeySize: j.keyer.KeySize(),
		Layout: j.keyer.Layout().String(), MemoryLimit: j.opt.MemoryBytes, Device: "cpu", Workers: j.opt.Workers,
		Chunks: len(j.inputs), FanIn: j.fanIn(), BlockBytes: j.blockBytes, TempDirs: j.opt.TempDirs}
	j.report.Strategy, j.report.MergeLevels, j.report.FanIn = MergeRuns, 1, len(j.inputs)
	return j, nil
}

// mergeInputs merges the inputs into w: in parallel when all can be read at offsets.
func (j *job) mergeInputs(ctx context.Context, w *output) error {
	opt := j.mergeOptions()
	opt.CheckOrder = true
	if j.data.Records() < 0 || !allSeekable(j.inputs) {
		return j.mergeStreams(ctx, opt, w)
	}
	runs := make([]*spill.Run, len(j.inputs))
	for i, in := range j.inputs {
		var err error
		if runs[i], err = spill.SortedRun(j.keyer, in.Records, j.blockBytes/j.size, in.ReadRecords, j.see); err != nil {
			return err
		}
	}
	if len(runs) > j.fanIn() {
		if err := j.openSpill(j.data.Records()*int64(j.size), 0); err != nil {
			return err
		}
		j.report.MergeLevels = levelsOf(len(runs), j.fanIn())
	}
	newRun := func() (merge.RunWriter, error) { return j.spill.NewRun(), nil }
	_, _, err := merge.MergeLevels(ctx, opt, runs, j.fanIn(), newRun, w)
	return err
}

func (j *job) mergeStreams(ctx context.Context, opt merge.Options, w *output) error {
	readers := make([]io.Reader, len(j.inputs))
	for i, in := range j.inputs {
		readers[i] = &watchReader{in: in, r: in.Sequence(), job: j}
	}
	_, err := merge.Streams(ctx, opt, readers, w)
	return err
}

func allSeekable(inputs []*input.Input) bool {
	for _, in := range inputs {
		if !in.Seekable() {
			return false
		}
	}
	return true
}

// nameDisorder names the input that is out of order.
func (j *job) nameDisorder(err error) error {
	var disorder *merge.DisorderError
	if !errors.As(err, &disorder) {
		return err
	}
	in := j.inputs[disorder.Input]
	return &DisorderError{File: in.Name, Record: disorder.Record, Byte: in.Header.Size() + disorder.Record*int64(j.size)}
}
