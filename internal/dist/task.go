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
	"github.com/extsort/extsort/internal/filename"
	"github.com/extsort/extsort/internal/human"
	"github.com/extsort/extsort/internal/option"
	"github.com/extsort/extsort/internal/remote"
	"github.com/extsort/extsort/internal/session"
	"github.com/extsort/extsort/merge/output"
)

// A Worker does tasks of a plan.
type Worker struct {
	Plan    *Plan
	Options session.Options // memory, workers, devices, temporary directories
	Tell    func(line string)
}

// RetryError is a retryable error: the task may succeed on this or another machine.
type RetryError struct{ error }

func (e *RetryError) Unwrap() error { return e.error }

// transientErrors contains transient errors of the system, and the error of an upload that Verify
// has removed.
var transientErrors = []error{remote.ErrGone,
	syscall.EIO, syscall.ESTALE, syscall.EAGAIN, syscall.EINTR, syscall.ETIMEDOUT, syscall.ENOMEM, syscall.EMFILE,
	syscall.ENFILE, syscall.ECONNRESET, syscall.EHOSTDOWN, syscall.EHOSTUNREACH, syscall.ENETUNREACH,
}

// fullDiskErrors are the errors of a full disk. A later attempt or another machine may have space
// for spill files or runs.
var fullDiskErrors = []error{syscall.ENOSPC, syscall.EDQUOT}

// markRetryable marks retryable errors. also contains additional errors that are retryable in this
// case.
func markRetryable(err error, also ...error) error {
	_, full := errors.AsType[*plan.RoomError](err)
	_, retry := errors.AsType[*remote.UnavailableError](err)
	for _, target := range append(also, transientErrors...) {
		retry = retry || errors.Is(err, target)
	}
	if !retry && !full {
		return err
	}
	return &RetryError{err}
}

// A task runs task k of its kind. When it returns, its file is durable. The caller stores the
// report in the record.
type task func(ctx context.Context, k int) (*session.Report, error)

// runUnfinished runs the unfinished tasks of a share.
func (w *Worker) runUnfinished(
	ctx context.Context, of kind, s session.Part, do task,
) error {
	total := of.tasks(w.Plan)
	if _, err := w.Plan.manifest(); !errors.Is(err, fs.ErrNotExist) {
		if err == nil {
			w.Tell("the sort is complete: nothing is left to do")
		}
		return markRetryable(err)
	}
	from, to := s.Of(int64(total))
	for k := int(from); k < int(to); k++ {
		if err := w.runTask(ctx, of, k, do); err != nil {
			return fmt.Errorf("%s %d of %d: %w", of.name, k, total, err)
		}
	}
	return nil
}

// runTask does task k, unless it is done.
func (w *Worker) runTask(ctx context.Context, of kind, k int, do task) error {
	r, err := matchingRecord(ctx, w.Plan, of, k)
	if err != nil {
		return markRetryable(err)
	}
	if r != nil {
		w.Tell(
			fmt.Sprintf(
				"%s %d is already done, by %s at %s",
				of.name,
				k,
				r.Host,
				r.Began.Format(time.RFC3339),
			),
		)
		return nil
	}
	began := time.Now()
	report, err := do(ctx, k)
	if err == nil {
		r, err = w.Plan.storeRecord(ctx, of, k, report, began)
	}
	if err != nil {
		return markRetryable(err)
	}
	w.Tell(
		fmt.Sprintf(
			"%s %d: %s records in %s",
			of.name,
			k,
			humanize.Comma(r.Records),
			human.Time(r.Seconds),
		),
	)
	return nil
}

// patience is how long a task waits until a file matches its record. Network file systems cache
// directories for some time.
var patience = time.Minute

// checkedRecords returns the records of all tasks of a kind, after checking their files.
func (p *Plan) checkedRecords(ctx context.Context, of kind) ([]*Record, error) {
	records, err := allRecords(p, ctx, of)
	if err != nil {
		return nil, err
	}
	return records, runConcurrently(ctx, len(records), func(ctx context.Context, k int) error {
		return p.waitForFile(ctx, records[k])
	})
}

// allRecords returns the records of all tasks of a kind.
func allRecords(p *Plan, ctx context.Context, of kind) ([]*Record, error) {
	total := of.tasks(p)
	records := make([]*Record, total)
	return records, runConcurrently(ctx, total, func(ctx context.Context, k int) (err error) {
		if records[k], err = p.record(of, k); err != nil {
			return markRetryable(err)
		}
		if records[k] == nil {
			return fmt.Errorf("%s %d of %d is not done: run extsort dist %s --part %d/%d %s",
				of.name, k, total, of.name, k, total, shellescape.Quote(p.folder))
		}
		return nil
	})
}

// waitForFile waits until the file of a task matches its record.
func (p *Plan) waitForFile(ctx context.Context, r *Record) error {
	for end := time.Now().Add(patience); ; {
		if fits, err := p.fileMatches(ctx, r); fits || err != nil {
			return err
		}
		if time.Now().After(end) {
			return &RetryError{fmt.Errorf(
				"%s: does not have the recorded %d bytes (run its task again)",
				r.File,
				r.Bytes,
			)}
		}
		select {
		case <-time.After(100 * time.Millisecond):
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// Run sorts the slices of a share, each into a run.
func (w *Worker) Run(ctx context.Context, s session.Part) error {
	return w.runUnfinished(ctx, runs, s, w.run)
}

// sortRun sorts slice k and returns its index, or nil if runs have no index. If an earlier process was killed
// after it had completed the run, but before it removed the checkpoint, the first sort only removes the checkpoint.
func sortRun(ctx context.Context, p *Plan, k int, opt session.Options) (*session.Report, *index, error) {
	const tries = 2
	for range tries {
		var keys *index
		if p.IndexEvery > 0 {
			keys = newIndex(p, k)
			opt.Verified = keys.add
		}
		report, err := session.Sort(ctx, opt)
		if err != nil || report.Summary != nil {
			return report, keys, err
		}
	}
	return nil, nil, fmt.Errorf("checkpoint %s: cannot be removed: remove it", opt.Checkpoint)
}

// checkCheckpoint returns an error if the directory of the checkpoint, which is removed at the end of
// each run, contains files of the plan.
func (w *Worker) checkCheckpoint() error {
	p := w.Plan
	output, _ := p.partFile(0)
	for _, file := range []string{
		p.path(planName), p.runFile(0), p.recordFile(cuts, 0), p.recordFile(parts, 0), output,
	} {
		if filename.IsWithin(file, w.Options.Checkpoint) {
			return option.Errorf(option.Checkpoint, " %s: contains files of the plan, and is removed at the end: "+
				"name another directory", w.Options.Checkpoint)
		}
	}
	return nil
}

// run sorts slice k. It fails if an input has changed before or during the run, because other
// runs contain records of the old version.
func (w *Worker) run(ctx context.Context, k int) (*session.Report, error) {
	p := w.Plan
	if err := w.checkCheckpoint(); err != nil {
		return nil, err
	}
	if err := p.checkInputs(ctx); err != nil {
		return nil, err
	}
	opt := w.Options
	opt.Record, opt.Reverse, opt.Part = p.Record, p.Reverse, partOf(k, p.Runs)
	opt.SkipBytes = p.SkipBytes
	opt.Records = p.InputRecords
	opt.SkipTail = p.SkipTail
	for _, f := range p.Inputs {
		opt.Inputs = append(opt.Inputs, f.Name)
	}
	opt.Output = p.runFile(k)
	opt.Verify = true
	report, keys, err := sortRun(ctx, p, k, opt)
	if err == nil {
		err = p.checkInputs(ctx)
	}
	if err == nil && keys != nil {
		err = output.WriteFile(ctx, indexFile(p.runFile(k)), keys.write)
	}
	return report, markRetryable(err, fullDiskErrors...)
}
