package dist

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"sync"
	"sync/atomic"

	"github.com/extsort/extsort"
	"github.com/extsort/extsort/chunker/plan"
	"github.com/extsort/extsort/chunker/spill"
	"github.com/extsort/extsort/device"
	"github.com/extsort/extsort/format"
	"github.com/extsort/extsort/merge"
	"github.com/extsort/extsort/merge/output"
)

// Merge merges the parts of a share, each from its range of every run.
func (w *Worker) Merge(ctx context.Context, s extsort.Part) error {
	return w.each(ctx, parts, s, w.merge)
}

// merge merges part k.
func (w *Worker) merge(ctx context.Context, k int) (*Record, error) {
	p := w.Plan
	c, err := p.readCuts()
	if err != nil {
		return nil, err
	}
	records, err := p.done(ctx, runs, p.Runs)
	if err != nil {
		return nil, err
	}
	sorted, err := p.openRuns(records)
	if err != nil {
		return nil, err
	}
	defer closeRuns(sorted)
	to, err := p.openPart(ctx, k)
	if err != nil {
		return nil, err
	}
	facts, err := w.facts(k)
	if err != nil {
		return nil, errors.Join(err, to.Abort())
	}
	sizes := plan.Divide(facts)
	var ranges []*spill.Run
	for i, r := range sorted {
		run, err := p.rangeOf(r, c.At[k][i], c.At[k+1][i], sizes.BlockBytes)
		if err != nil {
			return nil, errors.Join(err, to.Abort())
		}
		ranges = append(ranges, run)
	}
	if err = w.mergeInto(ctx, facts, &sizes, ranges, to); err != nil {
		return nil, errors.Join(named(err, records, c.At[k]), to.Abort())
	}
	r, err := to.record(facts.Records)
	if err != nil {
		return nil, errors.Join(err, to.Abort())
	}
	return r, to.Commit(r.Bytes)
}

// facts are what the memory of the merge of part k is divided by.
func (w *Worker) facts(k int) (*plan.Facts, error) {
	first, end := partOf(k, w.Plan.Parts).Of(w.Plan.Records)
	opt := w.Options
	if len(opt.TempDirs) == 0 {
		opt.TempDirs = []string{spill.DefaultFolder()}
	}
	var err error
	if opt.MemoryBytes == 0 {
		opt.MemoryBytes, err = extsort.ParseMemory("50%")
	}
	return &plan.Facts{
		Keyer: w.Plan.keyer, Records: end - first, Seekable: true, Together: true,
		Asked: plan.Asked{
			MemoryBytes: opt.MemoryBytes, Workers: opt.Workers, BatchSize: opt.BatchSize, SpillCodec: opt.SpillCompress,
		},
		Output: plan.Output{File: true}, Spill: plan.Spill{Folders: opt.TempDirs, Free: -1},
	}, err
}

// rangeOf is a range of a run, which is a sorted run, too.
func (p *Plan) rangeOf(r *sortedRun, from, to int64, blockBytes int) (*spill.Run, error) {
	size := p.RecordBytes
	read := func(b []byte, first int64) error { return r.readRecords(b, from+first, size) }
	return spill.SortedRun(p.keyer, to-from, max(blockBytes/size, 1), read, func([]byte) {})
}

// mergeInto merges the ranges, over several levels, by spill, where they are more than memory has room for.
func (w *Worker) mergeInto(ctx context.Context, f *plan.Facts, s *plan.Sizes, ranges []*spill.Run, to *target) error {
	opt := merge.Options{
		Keyer: f.Keyer, Workers: s.Workers, BlockBytes: s.BlockBytes, MemoryBytes: s.MergeBytes, Limit: -1,
		CheckOrder: true,
	}
	if len(ranges) <= s.FanIn {
		return merge.Merge(ctx, opt, ranges, to)
	}
	files, err := spill.New(spill.Options{
		Folders: f.Spill.Folders, Codec: f.Asked.SpillCodec, Keyer: f.Keyer, ExpectBytes: f.Records * int64(to.size),
		UncachedBytes: s.UncachedBytes, Workers: s.Workers, Coders: s.SpillCoders,
	})
	if err != nil {
		return classed(err, noRoom...)
	}
	left, err := merge.MergeLevels(ctx, opt, ranges, s.FanIn, files.NewMerged, to)
	if !to.failed.Load() { // it was spill that did
		err = classed(err, noRoom...)
	}
	for _, run := range left {
		err = errors.Join(err, run.Close())
	}
	return errors.Join(err, files.Close())
}

// named says which run is out of order, where one is.
func named(err error, records []*Record, from []int64) error {
	disorder, ok := errors.AsType[*merge.DisorderError](err)
	if !ok {
		return err
	}
	return fmt.Errorf("%s: record %d is out of order: the file was changed (remove it, and do its task again)",
		records[disorder.Input].File, from[disorder.Input]+disorder.Record+1)
}

// target is where a part of the output goes: a file of its own, or a piece of the one file.
type target struct {
	partFile
	name   string
	offset int64
	size   int // of a record
	keyer  *format.Keyer
	order  format.OrderCheck
	failed atomic.Bool // to be written

	mu  sync.Mutex
	sum format.Checksum
}

type partFile interface {
	io.WriterAt
	Commit(size int64) error
	Abort() error
}

func (p *Plan) openPart(ctx context.Context, k int) (*target, error) {
	to := &target{size: p.RecordBytes, keyer: p.keyer}
	to.name, to.offset = p.partFile(k)
	if !p.OneFile {
		file, err := output.Open(ctx, to.name, nil)
		to.partFile = file
		return to, err
	}
	file, err := os.OpenFile(to.name, os.O_RDWR, 0)
	if err != nil {
		return nil, fmt.Errorf("%s: %w (the same extsort dist plan makes it, and has all parts merged)", to.name,
			device.WithoutPath(err))
	}
	to.partFile = piece{file}
	return to, nil
}

// piece is a piece of a file that others write, too. What a killed attempt has written the next one writes again.
type piece struct{ file *os.File }

// WriteAt implements io.WriterAt.
func (f piece) WriteAt(b []byte, offset int64) (int, error) { return f.file.WriteAt(b, offset) }

// Commit makes durable what was written.
func (f piece) Commit(int64) error {
	err := f.file.Sync()
	return errors.Join(err, f.file.Close())
}

// Abort leaves what was written to the next attempt.
func (f piece) Abort() error { return f.file.Close() }

// WriteBlock implements device.BlockWriter.
func (t *target) WriteBlock(_ context.Context, first int64, recs []byte) error {
	t.order.Add(format.CheckBlock(t.keyer, first, recs))
	var sum format.Checksum
	sum.Add(recs, t.size)
	t.mu.Lock()
	t.sum.Merge(sum)
	t.mu.Unlock()
	_, err := t.WriteAt(recs, t.offset+first*int64(t.size))
	if err != nil {
		t.failed.Store(true)
	}
	return err
}

// record is what has been written.
func (t *target) record(records int64) (*Record, error) {
	order, err := t.order.Result()
	switch {
	case err != nil:
		return nil, err
	case order.Records != records || order.FirstDisorder >= 0:
		return nil, fmt.Errorf("%s: %d records were written, and %d are due, in order", t.name, order.Records, records)
	}
	r := &Record{File: t.name, Offset: t.offset, Records: records, Bytes: records * int64(t.size), Checksum: t.sum}
	r.FirstKey, r.LastKey = order.Ends()
	return r, nil
}
