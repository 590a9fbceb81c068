package session

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"time"

	"github.com/extsort/extsort/chunker"
	"github.com/extsort/extsort/chunker/input"
	"github.com/extsort/extsort/chunker/plan"
	"github.com/extsort/extsort/chunker/spill"
	"github.com/extsort/extsort/device"
	"github.com/extsort/extsort/format"
	"github.com/extsort/extsort/internal/drivers"
	"github.com/extsort/extsort/internal/engine"
	"github.com/extsort/extsort/internal/option"
	"github.com/extsort/extsort/internal/safely"
)

// Sort sorts the inputs into the output. It returns soon after ctx is cancelled, even while it waits for input. If
// Options.Stdin is not a file, a Read of it may then still be blocked, and the bytes of that Read are lost.
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

// sort runs what was prepared of opt.
func (s *session) sort(ctx context.Context, opt Options) (*Report, error) {
	err := safely.Call(func() error { return s.openOutput(ctx) })
	s.run.Meter.Note(plan.StageStart, time.Since(s.start).Seconds()-s.unpacked.seconds)
	if err == nil {
		err = s.run.Sort(ctx)
		if err = s.run.Finish(ctx, err); s.retriesOnCPU(ctx, err) {
			return sortOnCPU(ctx, opt, s, err)
		}
	}
	err = s.end(err)
	return s.report(), err
}

// Plan returns the plan that Sort would follow with these options. It reads a sample of each input file and writes
// nothing. It does not read from pipes, because these bytes would be missing in a later sort: a FIFO, a Source with a
// Reader, or standard input that is not a file. For a pipe, the plan assumes random keys in random order.
func Plan(ctx context.Context, opt Options) (*SortPlan, error) {
	opt, err := opt.withoutPipes()
	if err != nil {
		return nil, err
	}
	s, err := prepare(ctx, opt, true)
	if err != nil {
		return nil, err
	}
	return s.run.Plan, s.close()
}

// withoutPipes puts sources that need not be read in the place of pipes.
func (o Options) withoutPipes() (Options, error) {
	sources := o.sources()
	isPipe := func(s input.Source) bool { return s.IsConsumed(cmp.Or[io.Reader](o.Stdin, os.Stdin)) }
	if !slices.ContainsFunc(sources, isPipe) {
		return o, nil
	}
	if !o.Record.Container().IsPlain {
		return o, fmt.Errorf("a plan cannot read a pipe, which contains the header of %v %s: name a file",
			option.Format, o.Record.Format)
	}
	o.Inputs, o.Sources = nil, nil
	for _, s := range sources {
		if isPipe(s) {
			s = s.Unread()
		}
		o.Sources = append(o.Sources, Source(s))
	}
	wrap := o.faults.wrapDataset
	o.faults.wrapDataset = func(d chunker.Dataset) chunker.Dataset {
		if wrap != nil {
			d = wrap(d)
		}
		return chunker.Imagined(d, -1)
	}
	return o, nil
}

// PlanFor returns the plan for an input that does not exist yet and has the given number of records. It assumes an
// uncompressed file on a disk, uniformly random keys in random order, and enough space for temporary files. It ignores
// the inputs in opt.
func PlanFor(ctx context.Context, opt Options, records int64) (*SortPlan, error) {
	if records < 0 {
		return nil, fmt.Errorf("plan for %d records: must not be negative", records)
	}
	header, err := opt.described().NewHeader()
	if err != nil {
		return nil, err
	}
	begin := bytes.NewReader(header.Encode(0))
	opt.Inputs, opt.Sources = nil, []Source{{Name: "the input", At: begin, Size: begin.Size(), Version: "none"}}
	opt.Raw, opt.Decompress = opt.Record.Format == "", ""
	opt.SkipBytes, opt.Records, opt.SkipTail, opt.KeepHeader = 0, 0, 0, false
	records /= max(opt.Part.N, 1)
	opt.faults.wrapDataset = func(d chunker.Dataset) chunker.Dataset { return chunker.Imagined(d, records) }
	profile, diskOf := machineProfile()
	opt.faults.readBytes, opt.faults.spillStore = cmp.Or(diskOf(opt.Output).Fetch, profile.DiskBytes), spill.Endless{}
	return Plan(ctx, opt)
}

// session is a run with what it was prepared from.
type session struct {
	opt Options // with the defaults filled in
	run *engine.Run

	unpacked *unpacked

	start   time.Time
	endPeak func() int64 // nil: nobody asked for it
	peak    int64        // bytes of memory, once the session is closed
}

// prepare opens the inputs and the devices and chooses a plan; after an error nothing is left open. onlyPlan: a
// checkpoint stays as it is.
func prepare(ctx context.Context, opt Options, onlyPlan bool) (*session, error) {
	s, err := begin(ctx, opt, !onlyPlan)
	if err != nil {
		return nil, err
	}
	err = safely.Call(func() error {
		if err := s.openCheckpoint(ctx, onlyPlan); err != nil {
			return err
		}
		return s.choose(ctx)
	})
	if err != nil {
		return nil, errors.Join(err, s.close())
	}
	return s, nil
}

// begin makes a session of valid options and opens the inputs; see openInputs.
func begin(ctx context.Context, opt Options, unpack bool) (*session, error) {
	opt.Record = opt.described()
	if err := opt.validate(); err != nil {
		return nil, err
	}
	opt = opt.withDefaults()
	start, meter := time.Now(), &engine.Meter{Progress: opt.Progress}
	var endPeak func() int64
	if opt.MeasureMemory {
		endPeak = engine.WatchPeak()
	}
	in, temporary, err := openInputs(ctx, &opt, meter, unpack)
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

// choose gathers the facts and makes the plan.
func (s *session) choose(ctx context.Context) error {
	profile, diskOf := machineProfile()
	facts, err := gather(ctx, &s.opt, s.run, profile, diskOf)
	if err == nil {
		err = s.identify(facts)
	}
	if err != nil || s.run.Plan != nil {
		return err
	}
	s.run.Facts = facts
	if err := s.openDevices(ctx, profile); err != nil {
		return err
	}
	for range s.opt.faults.moreDevices {
		s.add(drivers.Host())
	}
	if s.run.Plan, err = plan.Choose(facts, profile); err != nil {
		return err
	}
	s.run.AskedFor()
	warnOfMemoryFolders(&s.opt, s.run.Plan)
	layout := facts.Keyer.Layout()
	if c, ok := format.ParseBlockCompression(s.opt.SpillCompress); ok && !format.NewBlockCoder(layout, 1).Supports(c) {
		s.opt.Warn(fmt.Sprintf("temporary data with records of %d bytes cannot be compressed with %v "+
			"and is stored uncompressed",
			layout.RecordSize, c))
	}
	return nil
}

func (s *session) openOutput(ctx context.Context) error {
	codec, err := format.ParseCompression(s.opt.Compress, s.opt.Output)
	if err != nil {
		return err
	}
	o := engine.OutputOptions{
		Stream: s.opt.Stdout, Fault: s.opt.faults.output, Codec: codec, Verify: s.opt.Verify, Form: s.opt.form(s.run.Input),
		Split: s.opt.split(), Verified: s.opt.Verified,
		StopsEarly: s.opt.Limit < 0 || s.opt.Limit > 0 && s.opt.merge != nil,
	}
	if !s.opt.toStdout() {
		o.Name = s.opt.Output
	}
	return s.run.OpenOutput(ctx, o)
}

// retriesOnCPU reports whether a sort that failed can be done again on the CPU: a device failed that the user did not
// name, the CPU can do what the options ask, and nothing has been consumed or written that cannot be repeated.
func (s *session) retriesOnCPU(ctx context.Context, err error) bool {
	if !errors.Is(err, device.ErrFailed) || ctx.Err() != nil {
		return false
	}
	isChosen := len(s.opt.namedDevices()) == 0
	canRepeat := s.run.Input.Seekable() && s.run.Output.CanRestart()
	return isChosen && canRepeat && s.canSort(drivers.Host().Info()) == nil
}

// sortOnCPU begins the sort again on the CPU after the GPU, which the plan had chosen, failed.
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

// end closes the session. Where all went well the output has its name, and what throw-away files and inputs say when
// they are closed can only be a warning.
func (s *session) end(err error) error {
	if err == nil && s.run.Kept != nil {
		s.run.Kept.Finish()
	}
	closing := s.close()
	if err != nil || closing == nil {
		return errors.Join(err, closing)
	}
	s.opt.Warn(fmt.Sprintf("the result is complete, but closing its inputs failed: %v", closing))
	return nil
}

// close gives back everything. The output is not its affair.
func (s *session) close() error {
	if s.endPeak != nil {
		s.peak = s.endPeak()
	}
	errs := []error{safely.Call(s.run.Close)}
	for _, d := range s.run.Devices {
		errs = append(errs, safely.Call(d.Close))
	}
	if s.run.Kept != nil {
		errs = append(errs, safely.Call(s.run.Kept.Close))
	}
	errs = append(errs, safely.Call(s.run.Input.Data.Close), safely.Call(s.unpacked.Close))
	return errors.Join(errs...)
}
