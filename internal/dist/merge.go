package dist

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"sync/atomic"

	"github.com/extsort/extsort/chunker/plan"
	"github.com/extsort/extsort/device"
	"github.com/extsort/extsort/internal/fields"
	"github.com/extsort/extsort/internal/profile"
	"github.com/extsort/extsort/internal/remote"
	"github.com/extsort/extsort/internal/session"
	"github.com/extsort/extsort/merge/output"
)

// Merge merges the parts of a share, each from its range of every run.
func (w *Worker) Merge(ctx context.Context, s session.Part) error {
	return w.runUnfinished(ctx, parts, s, w.merge)
}

func (w *Worker) merge(ctx context.Context, k int) (*session.Report, error) {
	cuts, err := w.Plan.cutsOf(k)
	if err != nil {
		return nil, err
	}
	opt, err := w.mergeOptions(ctx)
	if err != nil {
		return nil, err
	}
	exact, err := w.exactCuts(ctx, k, cuts)
	if err != nil {
		return nil, err
	}
	to, err := w.Plan.createPart(ctx, k, &opt)
	if err != nil {
		return nil, err
	}
	opt.Part = partOf(k, w.Plan.Parts)
	opt.Cuts = exact
	opt.Sink = to
	opt.Verify = true
	report, err := session.Merge(ctx, opt)
	_, ok := errors.AsType[*session.DisorderError](err)
	if ok {
		err = fmt.Errorf(
			"%w: the file was changed (remove it, and run its task again)", err,
		)
	}
	// The object belongs to another attempt, which was faster, or was killed before it wrote its
	// record.
	if errors.Is(err, remote.ErrExists) {
		err = w.readBack(ctx, k, report.Summary, "an older file: remove it")
	}
	if !to.failed.Load() { // a spill file caused the failure
		err = markRetryable(err, fullDiskErrors...)
	}
	return report, err
}

// mergeOptions returns the options for a merge of all runs.
func (w *Worker) mergeOptions(ctx context.Context) (session.MergeOptions, error) {
	opt := fields.Shared[session.MergeOptions](w.Options)
	opt.Record = w.Plan.Record
	opt.Reverse = w.Plan.Reverse
	opt.Raw = true
	records, err := w.Plan.checkedRecords(ctx, runs)
	if err != nil {
		return opt, err
	}
	for _, r := range records {
		opt.Inputs = append(opt.Inputs, r.File)
	}
	return opt, nil
}

// target is the destination of a part: a file of its own, or a piece of the single output file.
type target struct {
	io.Writer
	commit func(context.Context) error
	abort  func() error
	failed atomic.Bool // writing failed
}

func (p *Plan) createPart(
	ctx context.Context, k int, opt *session.MergeOptions,
) (*target, error) {
	name, offset := p.partFile(k)
	if remote.IsURL(name) {
		return createObject(ctx, name, p.Bytes()/int64(p.Parts), opt)
	}
	if !p.OneFile {
		file, err := output.Open(ctx, name, output.FileOptions{})
		if err != nil {
			return nil, err
		}
		return &target{Writer: file, commit: func(ctx context.Context) error {
			return file.Commit(ctx, -1)
		},
			abort: file.Abort}, nil
	}
	file, err := os.OpenFile(name, os.O_RDWR, 0)
	if err != nil {
		return nil, fmt.Errorf("%s: %w (make the same plan again, then merge all parts)", name,
			device.WithoutPath(err))
	}
	return &target{
		Writer: io.NewOffsetWriter(file, offset),
		commit: func(ctx context.Context) error {
			return errors.Join(output.Await(ctx, file.Sync), file.Close())
		},
		// The next attempt overwrites the bytes written so far.
		abort: func() error { file.Close(); return nil },
	}, nil
}

// memoryLimit returns the memory limit of a task for which the user set n bytes; 0: none.
func memoryLimit(n int64) int64 {
	return profile.LimitMemory(n, session.MinMemory, profile.Memory)
}

// createObject starts the upload of a part. It subtracts the upload's memory from that of the
// merge.
func createObject(
	ctx context.Context, name string, bytes int64, opt *session.MergeOptions,
) (*target, error) {
	memory := memoryLimit(opt.MemoryBytes)
	size, parallel := plan.UploadParts(memory, bytes)
	taken := int64(size) * int64(parallel)
	if opt.MemoryBytes = memory - taken; opt.MemoryBytes < session.MinMemory {
		return nil, fmt.Errorf(
			"-S: %d MiB is too little to send an object in parts of %d MiB: at least %d MiB is needed",
			memory>>20,
			size>>20,
			(taken+session.MinMemory)>>20,
		)
	}
	u, err := remote.Create(ctx, name, size, parallel)
	if err != nil {
		return nil, err
	}
	u.NeverReplaces = true
	return &target{Writer: u, commit: func(ctx context.Context) error {
		return u.Commit(ctx, -1)
	},
		abort: u.Abort}, nil
}

func (t *target) Write(b []byte) (int, error) {
	n, err := t.Writer.Write(b)
	return n, t.noteFailure(err)
}

func (t *target) Commit(ctx context.Context) error {
	return t.noteFailure(t.commit(ctx))
}

func (t *target) Abort() error { return t.abort() }

func (t *target) noteFailure(err error) error {
	if err != nil {
		t.failed.Store(true)
	}
	return err
}
