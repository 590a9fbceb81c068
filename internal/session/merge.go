package session

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"

	"github.com/extsort/extsort/chunker/plan"
	"github.com/extsort/extsort/format"
	"github.com/extsort/extsort/internal/engine"
	"github.com/extsort/extsort/internal/fields"
	"github.com/extsort/extsort/internal/option"
	"github.com/extsort/extsort/internal/safely"
	"github.com/extsort/extsort/merge"
)

// MergeOptions describes what to merge and how. Fields without a comment have the same meaning as in Options.
type MergeOptions struct {
	Inputs     []string
	Sources    []Source
	Stdin      io.Reader
	Record     format.Spec
	Raw        bool
	SkipBytes  int64
	Records    int64
	SkipTail   int64
	KeepHeader bool
	Part       Part      // write only this part of the merged records
	Cuts       [][]int64 // with Part, the result of Cuts, which Merge otherwise computes
	Decompress string

	Output     string
	Stdout     io.Writer
	Sink       Sink
	SplitFiles int
	SplitBytes int64
	Compress   string

	Reverse, Unique, Count, Duplicates bool
	Keep                               string
	Limit                              int64

	MemoryBytes        int64
	TempDirs           []string // for temporary files, if memory or open files do not suffice for all inputs at once
	SpillCompress      string
	Workers, BatchSize int

	Verify   bool
	Progress Progress
	Warn     func(message string)
	Logger   *slog.Logger

	MeasureMemory bool

	faults faults
}

// options are those of the session.
func (m MergeOptions) options() Options {
	opt := fields.Shared[Options](m)
	opt.merge, opt.faults = &m, m.faults
	return opt
}

// Merge merges sorted inputs. If an input is not sorted, Merge returns a *DisorderError. If keys are equal, records of
// earlier inputs come first.
func Merge(ctx context.Context, opt MergeOptions) (*Report, error) {
	return opt.options().into(ctx, mergeInputs)
}

func mergeInputs(ctx context.Context, opt Options) (*Report, error) {
	s, err := begin(ctx, opt, true)
	if err != nil {
		return nil, err
	}
	if err := safely.Call(s.prepareMerge); err != nil {
		return nil, errors.Join(err, s.close())
	}
	err = safely.Call(func() error { return s.openOutput(ctx) })
	if err == nil {
		err = safely.Call(func() error { return s.run.MergeSorted(ctx) })
		err = s.run.Finish(ctx, s.nameDisorder(ctx, err))
	}
	err = s.end(err)
	return s.report(), err
}

// prepareMerge makes the plan of a merge of the inputs.
func (s *session) prepareMerge() error {
	if in := s.run.Input.Overwritten(); in != nil {
		return fmt.Errorf("%s: is both an input and the output, and would be overwritten while it is read: "+
			"name another output, or use %v", in.Name, option.Output)
	}
	s.opt.Limit = s.run.Input.LimitOfPart(s.opt.Limit)
	s.run.Facts = factsOf(&s.opt, s.run.Input)
	s.run.Plan = plan.Merging(s.run.Facts, len(s.run.Input.Files))
	return nil
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
	e.Repeats = bytes.Equal(at.Key, at.Before)
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

// CheckOptions describes what to check and how. Fields without a comment have the same meaning as in Options.
type CheckOptions struct {
	Input      Source // the zero Source is Stdin
	Stdin      io.Reader
	Record     format.Spec
	Raw        bool
	SkipBytes  int64
	Records    int64
	SkipTail   int64
	Part       Part
	Decompress string

	Reverse bool
	Unique  bool // report equal neighbours as disorder
	Brief   bool // stop at the first record out of order; compute no checksum and no first and last key

	MemoryBytes int64
	Workers     int
	Progress    Progress
	Warn        func(message string)
	Logger      *slog.Logger

	faults faults
}

// Check reports whether the input is in order. If it is not, Check returns a *DisorderError together with a valid
// report. With Brief, that report covers only the records up to the first one that is out of order.
func Check(ctx context.Context, opt CheckOptions) (*CheckReport, error) {
	all := fields.Shared[Options](opt)
	if all.faults = opt.faults; opt.Input != (Source{}) {
		all.Sources = []Source{opt.Input}
	}
	s, err := begin(ctx, all, false)
	if err != nil {
		return nil, err
	}
	sizes := plan.Divide(factsOf(&s.opt, s.run.Input))
	var found *engine.Checked
	err = safely.Call(func() (err error) {
		found, err = engine.Check(ctx, s.run.Input, sizes, opt.Unique, opt.Brief, s.opt.Warn)
		return err
	})
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
