package extsort

import (
	"context"

	"github.com/extsort/extsort/internal/bridge"
	"github.com/extsort/extsort/internal/session"
)

// Package sets has its own jobs, which consist of types of this package.
func init() {
	bridge.Options = frameOptions
	bridge.Faults = allFaults
	bridge.OptionError = optionErrorf
	bridge.Run = func(ctx context.Context, progress any, call bridge.Call) (any, error) {
		return run(ctx, progress.(func(Progress)), call)
	}
}

// frameOptions translates the frame of a job of another package.
func frameOptions(frame bridge.Frame) (opt session.Options, faults []error) {
	required := needsInput
	if frame.NeedsOutput {
		required |= needsOutput
	}
	faults = applyFrame(&opt, frame.Input.(*Input), frame.Record.(*Record), frame.Output.(*Output), required)
	frame.Resources.(*Resources).apply(&opt)
	return opt, faults
}
