package spill

import (
	"cmp"
	"context"
	"slices"
	"sync"

	"golang.org/x/sync/errgroup"
)

// RunWriter takes the blocks of one run in any order and from several goroutines. It is a device.BlockWriter.
type RunWriter struct {
	spill    *Spill
	origin   Origin
	replaces []*Run // when it is finished
	written  errgroup.Group
	mu       sync.Mutex
	blocks   []Block
}

// NewRun begins a run of records from there, which a checkpoint keeps if that is known.
func (s *Spill) NewRun(o Origin) *RunWriter { return &RunWriter{spill: s, origin: o} }

// NewMerged begins a run of the records of others, which are neighbours and will not be needed when it is finished.
func (s *Spill) NewMerged(others []*Run) *RunWriter {
	o := Origin{First: others[0].Origin.First}
	for _, run := range others {
		o.Records += run.Origin.Records
		o.Sum.Merge(run.Origin.Sum)
	}
	return &RunWriter{spill: s, origin: o, replaces: others}
}

// WriteBlock stores records as one block.
func (w *RunWriter) WriteBlock(ctx context.Context, first int64, recs []byte) error {
	if err := ctx.Err(); err != nil || len(recs) == 0 {
		return err
	}
	b, err := w.spill.put(recs, new(extent), 0, &w.written)
	if err != nil {
		return err
	}
	b.First = first
	w.mu.Lock()
	w.blocks = append(w.blocks, b)
	w.mu.Unlock()
	return nil
}

// Finish ends the run. All blocks must have been written; after an error what was written is given back.
func (w *RunWriter) Finish() (*Run, error) {
	slices.SortFunc(w.blocks, func(a, b Block) int { return cmp.Compare(a.First, b.First) })
	err := w.written.Wait()
	if err == nil {
		err = checkIndex(w.blocks)
	}
	if err != nil {
		w.Abort()
		return nil, err
	}
	run := w.spill.run(w.origin, w.blocks)
	if c := w.spill.opt.Checkpoint; c != nil && w.origin.Records > 0 {
		return run, c.keep(run, w.replaces, w.spill)
	}
	return run, nil
}

// Abort gives back what was written.
func (w *RunWriter) Abort() { w.spill.release(w.blocks) }

// Kept is the runs that a checkpoint has, in the order of their origins.
func (s *Spill) Kept() (runs []*Run) {
	for _, kept := range s.opt.Checkpoint.kept.Runs {
		runs = append(runs, s.run(kept.Origin, kept.Blocks))
	}
	return runs
}

// run is the run of blocks, of records from there. In a checkpoint they stay until another run replaces them.
func (s *Spill) run(o Origin, blocks []Block) *Run {
	run := &Run{Origin: o, keyer: s.opt.Keyer, blocks: blocks, read: s.get, close: func() error { return nil }}
	if s.behind != nil {
		run.atOnce, run.from = readsAtOnce, s
	}
	if s.opt.Checkpoint == nil {
		run.drop, run.close = s.drop, func() error { s.release(blocks); return nil }
	}
	return run
}

// Appender takes blocks of sections of one run in order, and keeps them together on disk. It is for one goroutine at a
// time.
type Appender struct {
	blocks  []Block
	extent  extent
	written errgroup.Group
}

// Append stores records as the next block of a section of the run: one section is appended to one Appender.
func (s *Spill) Append(a *Appender, section int64, recs []byte) error {
	b, err := s.put(recs, &a.extent, punchBytes, &a.written)
	if err == nil {
		b.First = section // until Join
		a.blocks = append(a.blocks, b)
	}
	return err
}

// Join is the run of what was appended to all, in the order of the sections.
func (s *Spill) Join(all []*Appender) (*Run, error) {
	count := 0
	for _, a := range all {
		if err := a.written.Wait(); err != nil {
			return nil, err
		}
		count += len(a.blocks)
	}
	blocks, first := make([]Block, 0, count), int64(0)
	for _, a := range all {
		blocks, a.blocks = append(blocks, a.blocks...), nil
	}
	slices.SortStableFunc(blocks, func(a, b Block) int { return cmp.Compare(a.First, b.First) })
	for i := range blocks {
		blocks[i].First, first = first, first+int64(blocks[i].Records)
	}
	return s.run(Origin{}, blocks), nil
}
