package extsort

import (
	"context"
	"errors"
	"fmt"

	"github.com/dustin/go-humanize"

	"github.com/extsort/extsort/chunker/plan"
	"github.com/extsort/extsort/internal/engine"
	"github.com/extsort/extsort/merge"
)

// Merge merges inputs that are already sorted. An input that is not is a *DisorderError. Of records with equal
// keys those of earlier inputs come first.
func Merge(ctx context.Context, opt Options) (*Report, error) {
	return opt.into(func(opt Options) (*Report, error) { return mergeInputs(ctx, opt) })
}

func mergeInputs(ctx context.Context, opt Options) (*Report, error) {
	s, err := prepareMerge(ctx, opt)
	if err != nil {
		return nil, err
	}
	if err = s.openOutput(ctx); err == nil {
		err = s.run.Finish(ctx, s.nameDisorder(ctx, s.run.MergeSorted(ctx)))
	}
	err = s.end(err)
	return s.report(), err
}

// prepareMerge opens the inputs of a merge.
func prepareMerge(ctx context.Context, opt Options) (*session, error) {
	if err := opt.onlySort(); err != nil {
		return nil, err
	}
	opt.merging = true
	s, err := begin(ctx, opt)
	if err != nil {
		return nil, err
	}
	if in := s.run.Input.Overwritten(); in != nil {
		return nil, errors.Join(fmt.Errorf("%s: is an input and the output, and would be written over while it is read: "+
			"give another output, or it with Options.Output", in.Name), s.close())
	}
	if err := s.checkWindows(); err != nil {
		return nil, errors.Join(err, s.close())
	}
	s.opt.limitPart(s.run.Input)
	f := factsOf(&s.opt, s.run.Input)
	s.run.Facts, s.run.Plan = f, plan.Merging(f, len(s.run.Input.Files))
	return s, nil
}

// checkWindows reports inputs that are read at the same time and look back further than there is memory.
func (s *session) checkWindows() error {
	windows := int64(0)
	for _, file := range s.run.Input.Files {
		windows += file.ExtraWindow
	}
	if windows <= s.opt.MemoryBytes/2 {
		return nil
	}
	text := "too little for the windows of the inputs, which zstd --long made: decompress them first, or raise " +
		"Options.MemoryBytes, to " + humanize.IBytes(uint64(2*windows)) + " at least"
	return &MemoryError{Limit: s.opt.MemoryBytes, Least: 2 * windows, Text: text}
}

// nameDisorder names the input that is out of order, and its first record that is.
func (s *session) nameDisorder(ctx context.Context, err error) error {
	disorder, ok := errors.AsType[*merge.DisorderError](err)
	if !ok {
		return err
	}
	engine.SeekDisorder(ctx, s.run.Input, disorder)
	return s.disorderIn(disorder)
}

// disorderIn puts disorder into the words of the user.
func (s *session) disorderIn(at *merge.DisorderError) *DisorderError {
	in, layout := s.run.Input.Files[at.Input], s.run.Input.Keyer.Layout()
	e := &DisorderError{File: in.Name, Record: in.First + at.Record, Byte: in.Offset(at.Record)}
	var field int
	e.Key, e.After, field = layout.KeyTexts(at.Key, at.Before)
	switch {
	case field < 0 || layout.IsBare():
	case len(s.opt.Record.Keys) > 0:
		e.Field = s.opt.Record.Keys[field]
	default:
		e.Field = layout.Key[field].String()
	}
	return e
}

// Check reads the single input and reports whether it is in order; disorder is a *DisorderError, and the
// report is valid then too. With opt.Unique equal neighbours are disorder. With opt.Brief the report of disorder
// tells of some records only, and none has a checksum or the keys of the ends.
func Check(ctx context.Context, opt Options) (*CheckReport, error) {
	if all := opt.sources(); len(all) > 1 {
		return nil, fmt.Errorf("%s: only one file can be checked at a time", all[1].Name)
	}
	if err := opt.onlySort(); err != nil {
		return nil, err
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
	report := &CheckReport{Summary: found.Summary, Sorted: found.Fault < 0}
	if report.Sorted {
		return report, nil
	}
	disorder := s.disorderIn(&merge.DisorderError{Record: found.Fault, Key: found.Key, Before: found.Before})
	report.Record, report.Byte, report.Key, report.After = disorder.Record, disorder.Byte, disorder.Key, disorder.After
	return report, disorder
}
