package dist

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"syscall"
	"time"

	"al.essio.dev/pkg/shellescape"
	"github.com/dustin/go-humanize"

	"github.com/extsort/extsort/chunker/plan"
	"github.com/extsort/extsort/internal/human"
	"github.com/extsort/extsort/internal/remote"
	"github.com/extsort/extsort/internal/session"
	"github.com/extsort/extsort/merge/output"
)

// Worker does tasks of a plan.
type Worker struct {
	Plan    *Plan
	Options session.Options // memory, workers, devices, folders for spill
	Tell    func(line string)
}

// RetryError is the error of a task that is worth another try, here or on another machine.
type RetryError struct{ error }

func (e *RetryError) Unwrap() error { return e.error }

// passing are the errors of the system that come and go, and that of an upload which Verify has given up.
var passing = []error{remote.ErrGone,
	syscall.EIO, syscall.ESTALE, syscall.EAGAIN, syscall.EINTR, syscall.ETIMEDOUT, syscall.ENOMEM, syscall.EMFILE,
	syscall.ENFILE, syscall.ECONNRESET, syscall.EHOSTDOWN, syscall.EHOSTUNREACH, syscall.ENETUNREACH,
}

// noRoom are those of a disk that is full. Where it has spill or runs, another moment or machine may have room.
var noRoom = []error{syscall.ENOSPC, syscall.EDQUOT}

// classed marks an error that is worth another try. also are errors that are so where this one comes from.
func classed(err error, also ...error) error {
	_, full := errors.AsType[*plan.RoomError](err)
	_, retry := errors.AsType[*remote.UnavailableError](err)
	for _, target := range append(also, passing...) {
		retry = retry || errors.Is(err, target)
	}
	if !retry && !full {
		return err
	}
	return &RetryError{err}
}

// task does task k of its kind. The file is durable then, and what it returns goes into the record.
type task func(ctx context.Context, k int) (*session.Report, error)

// each does the tasks of a share that are not done.
func (w *Worker) each(ctx context.Context, of kind, s session.Part, do task) error {
	total := of.tasks(w.Plan)
	if _, err := w.Plan.manifest(); !errors.Is(err, fs.ErrNotExist) {
		if err == nil {
			w.Tell("the sort is complete: nothing is left to do")
		}
		return classed(err)
	}
	from, to := s.Of(int64(total))
	for k := int(from); k < int(to); k++ {
		if err := w.once(ctx, of, k, do); err != nil {
			return fmt.Errorf("%s %d of %d: %w", of.name, k, total, err)
		}
	}
	return nil
}

// once does task k, unless it is done.
func (w *Worker) once(ctx context.Context, of kind, k int, do task) error {
	r, err := fitting(ctx, w.Plan, of, k)
	if err != nil {
		return classed(err)
	}
	if r != nil {
		w.Tell(fmt.Sprintf("%s %d is already done, by %s at %s", of.name, k, r.Host, r.Began.Format(time.RFC3339)))
		return nil
	}
	began := time.Now()
	report, err := do(ctx, k)
	if err == nil {
		r, err = w.Plan.keep(ctx, of, k, report, began)
	}
	if err != nil {
		return classed(err)
	}
	w.Tell(fmt.Sprintf("%s %d: %s records in %s", of.name, k, humanize.Comma(r.Records), human.Time(r.Seconds)))
	return nil
}

// patience is how long a file may take to be seen as its record says: file systems of networks keep for a while what
// they knew of a folder.
var patience = time.Minute

// done are the records of all tasks of a kind, whose files are there.
func (p *Plan) done(ctx context.Context, of kind) ([]*Record, error) {
	records, err := recorded(p, ctx, of)
	if err != nil {
		return nil, err
	}
	return records, together(ctx, len(records), func(ctx context.Context, k int) error {
		return p.wait(ctx, records[k])
	})
}

// recorded are the records of all tasks of a kind.
func recorded(p *Plan, ctx context.Context, of kind) ([]*Record, error) {
	total := of.tasks(p)
	records := make([]*Record, total)
	return records, together(ctx, total, func(ctx context.Context, k int) (err error) {
		if records[k], err = p.record(of, k); err != nil {
			return classed(err)
		}
		if records[k] == nil {
			return fmt.Errorf("%s %d of %d is not done: run extsort dist %s --part %d/%d %s",
				of.name, k, total, of.name, k, total, shellescape.Quote(p.folder))
		}
		return nil
	})
}

// wait waits until the file of a task is as its record says.
func (p *Plan) wait(ctx context.Context, r *Record) error {
	for end := time.Now().Add(patience); ; {
		if fits, err := p.fits(ctx, r); fits || err != nil {
			return err
		}
		if time.Now().After(end) {
			return &RetryError{fmt.Errorf("%s: does not have the recorded %d bytes (run its task again)",
				r.File, r.Bytes)}
		}
		select {
		case <-time.After(100 * time.Millisecond):
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// Run sorts the slices of a share, each into a run.
func (w *Worker) Run(ctx context.Context, s session.Part) error { return w.each(ctx, runs, s, w.run) }

// run sorts slice k. Inputs that changed before or meanwhile are refused: other runs have other records of them.
func (w *Worker) run(ctx context.Context, k int) (*session.Report, error) {
	p := w.Plan
	if err := p.checkInputs(ctx); err != nil {
		return nil, err
	}
	opt := w.Options
	opt.Record, opt.Reverse, opt.Part = p.Record, p.Reverse, partOf(k, p.Runs)
	opt.SkipBytes, opt.Records, opt.SkipTail = p.SkipBytes, p.InputRecords, p.SkipTail
	for _, f := range p.Inputs {
		opt.Inputs = append(opt.Inputs, f.Name)
	}
	opt.Output, opt.Verify = p.runFile(k), true
	var keys *index
	if p.IndexEvery > 0 {
		keys = newIndex(p, k)
		opt.Verified = keys.add
	}
	report, err := session.Sort(ctx, opt)
	if err == nil {
		err = p.checkInputs(ctx)
	}
	if err == nil && keys != nil {
		err = output.WriteFile(ctx, indexFile(p.runFile(k)), keys.write)
	}
	return report, classed(err, noRoom...)
}
