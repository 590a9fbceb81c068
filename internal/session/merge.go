package session

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"

	"github.com/extsort/extsort/chunker/plan"
	"github.com/extsort/extsort/format"
	"github.com/extsort/extsort/internal/fields"
	"github.com/extsort/extsort/internal/option"
	"github.com/extsort/extsort/internal/safely"
)

// MergeOptions describes what to merge and how. Fields without a comment have the same meaning as
// in Options.
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
	Cuts       [][]int64 // with Part: the result of Cuts; nil: Merge computes it
	Decompress string

	Output     string
	Stdout     io.Writer
	Sink       Sink
	SplitFiles int
	SplitBytes int64
	Compress   string

	Reverse, Unique, Count, Duplicates bool
	Keep                               string
	Sum, Min, Max, First, Last         []string
	Limit                              int64

	MemoryBytes        int64
	TempDirs           []string // for temporary files, if not all inputs can be merged at once
	SpillCompress      string
	Workers, BatchSize int

	Verify   bool
	Progress Progress
	Warn     func(message string)
	Logger   *slog.Logger

	MeasureMemory bool

	setOperation bool // records with equal keys stay in one part
	faults       faults
}

// options converts the options to those of a sort.
func (m MergeOptions) options() Options {
	opt := fields.Shared[Options](m)
	opt.merge = &m
	opt.faults = m.faults
	return opt
}

// Merge merges sorted inputs. If an input is not sorted, Merge returns a *DisorderError. If keys
// are equal, records of earlier inputs come first.
func Merge(ctx context.Context, opt MergeOptions) (*Report, error) {
	return opt.options().into(ctx, mergeInputs)
}

func mergeInputs(ctx context.Context, opt Options) (*Report, error) {
	reading, interrupt := context.WithCancelCause(ctx)
	defer interrupt(nil)
	s, err := begin(reading, opt, true)
	if err != nil {
		return nil, err
	}
	s.run.Interrupt = interrupt
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

// prepareMerge makes the plan of a merge.
func (s *session) prepareMerge() error {
	if in := s.run.Input.Overwritten(); in != nil {
		return overwrittenError(in.Name)
	}
	s.opt.Limit = s.run.Input.LimitOfPart(s.opt.Limit)
	s.run.Facts = factsOf(&s.opt, s.run.Input)
	s.run.Plan = plan.Merging(s.run.Facts, len(s.run.Input.Files))
	return nil
}

// overwrittenError returns the error for an input that the output would overwrite.
func overwrittenError(name string) error {
	return fmt.Errorf("%s: is both an input and the output, and would be overwritten while it is read: "+
		"name another output, or use %v", name, option.Output)
}
