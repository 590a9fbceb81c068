package session

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/extsort/extsort/chunker/plan"
	"github.com/extsort/extsort/device"
	"github.com/extsort/extsort/format"
	"github.com/extsort/extsort/internal/drivers"
	"github.com/extsort/extsort/internal/engine"
	"github.com/extsort/extsort/internal/safely"
)

// Sort sorts the inputs into the output. It returns soon after ctx is cancelled, even while it
// waits for input. If Options.Stdin is not a file, a Read of it may then still be blocked, and
// the bytes of that Read are lost.
func Sort(ctx context.Context, opt Options) (*Report, error) {
	return opt.into(ctx, sortInputs)
}

func sortInputs(ctx context.Context, opt Options) (*Report, error) {
	s, err := prepare(ctx, opt, false)
	if err != nil {
		return nil, err
	}
	if c := s.run.Plan.Checkpoint; c != nil && c.Complete {
		s.opt.Warn(fmt.Sprintf("an earlier run has completed output %s; only %s remains to be removed",
			s.opt.Output, s.opt.Checkpoint))
		s.run.Result.Verified = s.opt.Verify
		err = s.end(nil)
		return s.report(), err
	}
	return s.sort(ctx, opt)
}

// sort runs the plan of a prepared session and closes the session. opt contains the caller's
// options, without defaults: if a GPU fails, the sort starts over with them on the CPU.
func (s *session) sort(ctx context.Context, opt Options) (*Report, error) {
	err := safely.Call(func() error { return s.openOutput(ctx) })
	s.run.Meter.Note(plan.StageStart, time.Since(s.start).Seconds()-s.unpacked.seconds)
	if err == nil {
		err = s.run.Sort(ctx)
		err = s.run.Finish(ctx, err)
		if s.retriesOnCPU(ctx, err) {
			return sortOnCPU(ctx, opt, s, err)
		}
	}
	err = s.end(err)
	return s.report(), err
}

// openOutput opens the output. An output file gets its name only when the run succeeds.
func (s *session) openOutput(ctx context.Context) error {
	codec, err := format.ParseCompression(s.opt.Compress, s.opt.Output)
	if err != nil {
		return err
	}
	o := engine.OutputOptions{
		Stream:     s.opt.Stdout,
		Fault:      s.opt.faults.output,
		Codec:      codec,
		Verify:     s.opt.Verify,
		Form:       s.opt.form(s.run.Input),
		Split:      s.opt.split(),
		Verified:   s.opt.Verified,
		StopsEarly: s.opt.Limit < 0 || s.opt.Limit > 0 && s.opt.merge != nil,
	}
	o.Form.RowBytes = s.rowBytes
	o.Bundle = s.bundle
	if !s.opt.toStdout() {
		o.Name = s.opt.Output
	}
	return s.run.OpenOutput(ctx, o)
}

// retriesOnCPU reports whether a sort that failed with err can be repeated on the CPU. This
// requires that the user did not name the failed device, that the CPU supports the options, that
// the input can be read again, and that the output can be rewritten.
func (s *session) retriesOnCPU(ctx context.Context, err error) bool {
	if !errors.Is(err, device.ErrFailed) || ctx.Err() != nil {
		return false
	}
	isChosen := len(s.opt.namedDevices()) == 0
	canRepeat := s.run.Input.Seekable() && s.run.Output.CanRestart()
	return isChosen && canRepeat && s.canSort(drivers.Host().Info(), s.run.Facts.Keyer.Layout()) == nil
}

// sortOnCPU repeats a sort on the CPU. cause is the error of the GPU that the plan had chosen.
func sortOnCPU(ctx context.Context, opt Options, failed *session, cause error) (*Report, error) {
	failed.opt.Warn(fmt.Sprintf("%s failed, sorting on the CPU instead: %v", failed.run.Plan.Device, cause))
	if err := failed.close(); err != nil {
		return nil, errors.Join(cause, err)
	}
	if opt.Strategy.Properties().ManyDevices {
		opt.Strategy = Auto
	}
	opt.Devices = []string{deviceCPU}
	report, err := sortInputs(ctx, opt)
	if report != nil {
		report.FallbackReason = cause.Error()
	}
	return report, err
}
