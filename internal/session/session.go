package session

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/extsort/extsort/chunker/plan"
	"github.com/extsort/extsort/format"
	"github.com/extsort/extsort/internal/engine"
	"github.com/extsort/extsort/internal/safely"
	"github.com/extsort/extsort/merge/output"
)

// A session is one call of the library, with everything that the call has opened.
type session struct {
	opt Options // with the defaults filled in
	run *engine.Run

	unpacked *unpacked // the inputs that were decompressed to temporary files
	rowBytes int       // size of the output records of a join; 0 for all other operations

	bundle *output.Bundle // names the output, together with others; nil if Finish does

	start   time.Time
	endPeak func() int64 // stops the measurement of memory; nil without Options.MeasureMemory
	peak    int64        // peak memory in bytes, known after close
}

// begin checks the options and opens the inputs. With unpack, inputs whose decompressors exceed the
// memory limit are decompressed to temporary files first. After an error nothing is left open.
func begin(ctx context.Context, opt Options, unpack bool) (*session, error) {
	if err := opt.describe(); err != nil {
		return nil, err
	}
	if err := opt.validate(); err != nil {
		return nil, err
	}
	opt = opt.withDefaults()

	start := time.Now()
	meter := &engine.Meter{Progress: opt.Progress}
	var endPeak func() int64
	if opt.MeasureMemory {
		endPeak = engine.WatchPeak()
	}

	var in *engine.Input
	var temporary *unpacked
	err := safely.Call(func() (err error) {
		in, temporary, err = openInputs(ctx, &opt, meter, unpack)
		return err
	})
	if err != nil {
		if endPeak != nil {
			endPeak()
		}
		return nil, err
	}
	run := &engine.Run{Input: in, Meter: meter, Store: opt.faults.spillStore, Warn: opt.Warn}
	run.Result.BytesSpilled = temporary.bytes
	return &session{opt: opt, run: run, unpacked: temporary, start: start, endPeak: endPeak}, nil
}

// prepare begins a sort: it opens the inputs, the checkpoint and the devices, and chooses a plan.
// With onlyPlan, it changes nothing on disk. After an error nothing is left open.
func prepare(ctx context.Context, opt Options, onlyPlan bool) (*session, error) {
	s, err := begin(ctx, opt, !onlyPlan)
	if err != nil {
		return nil, err
	}
	err = safely.Call(func() error {
		if err := s.openCheckpoint(ctx, onlyPlan); err != nil {
			return err
		}
		return s.choosePlan(ctx)
	})
	if err != nil {
		return nil, errors.Join(err, s.close())
	}
	return s, nil
}

// choosePlan gathers the facts, opens the devices and chooses the plan. If the checkpoint is
// complete, the plan contains only the checkpoint.
func (s *session) choosePlan(ctx context.Context) error {
	profile, diskOf := machineProfile()
	facts, err := s.gatherFacts(ctx, profile, diskOf)
	if err != nil {
		return err
	}
	if c := facts.Checkpoint; c != nil && c.Complete {
		s.run.Plan = &SortPlan{Checkpoint: c}
		return nil
	}

	s.run.Facts = facts
	if s.run.Plan, err = plan.Choose(facts, profile); err != nil {
		return err
	}
	if err := s.appendResultsEarly(profile); err != nil {
		return err
	}
	s.run.NoteStrategyChange()
	warnOfMemoryDirs(&s.opt, s.run.Plan)
	s.warnOfSpillCodec(s.run.Facts.Keyer.Layout())
	return nil
}

// warnOfSpillCodec warns if temporary data with records of this layout cannot be compressed as
// requested.
func (s *session) warnOfSpillCodec(layout format.Layout) {
	codec, ok := format.ParseBlockCompression(s.opt.SpillCompress)
	if !ok || format.NewBlockCoder(layout, 1).Supports(codec) {
		return
	}
	s.opt.Warn(fmt.Sprintf("temporary data with records of %d bytes cannot be compressed with %v "+
		"and is stored uncompressed", layout.RecordSize, codec))
}

// end closes the session after a run that returned err. If the run succeeded, the output already
// has its name, so an error of closing inputs and temporary files is only a warning.
func (s *session) end(err error) error {
	if err == nil && s.run.Checkpoint != nil {
		s.run.Checkpoint.Finish()
	}
	closing := s.close()
	if err != nil || closing == nil {
		return errors.Join(err, closing)
	}
	s.opt.Warn(fmt.Sprintf("the result is complete, but closing its inputs failed: %v", closing))
	return nil
}

// close closes everything except the output, which the engine commits or discards.
func (s *session) close() error {
	if s.endPeak != nil {
		s.peak = s.endPeak()
	}
	errs := []error{safely.Call(s.run.Close)}
	for _, d := range s.run.Devices {
		errs = append(errs, safely.Call(d.Close))
	}
	if s.run.Checkpoint != nil {
		errs = append(errs, safely.Call(s.run.Checkpoint.Close))
	}
	errs = append(errs, safely.Call(s.run.Input.Data.Close), safely.Call(s.unpacked.Close))
	return errors.Join(errs...)
}
