package session

import (
	"context"
	"io"
	"log/slog"

	"github.com/extsort/extsort/chunker/plan"
	"github.com/extsort/extsort/format"
	"github.com/extsort/extsort/internal/engine"
	"github.com/extsort/extsort/internal/fields"
	"github.com/extsort/extsort/internal/safely"
	"github.com/extsort/extsort/merge"
)

// CheckOptions describes what to check and how. Fields without a comment have the same meaning as
// in Options.
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

// options converts the options to those of a sort.
func (c CheckOptions) options() Options {
	opt := fields.Shared[Options](c)
	opt.faults = c.faults
	if c.Input != (Source{}) {
		opt.Sources = []Source{c.Input}
	}
	return opt
}

// Check reports whether the input is in order. If it is not, Check returns a *DisorderError
// together with a valid report. With Brief, that report covers only the records up to the first one
// that is out of order.
func Check(ctx context.Context, opt CheckOptions) (*CheckReport, error) {
	s, err := begin(ctx, opt.options(), false)
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
	report.Record = disorder.Record
	report.Byte = disorder.Byte
	report.Key = disorder.Key
	report.After = disorder.After
	return report, disorder
}
