package spill

import (
	"bytes"
	"cmp"
	"context"
	"slices"
	"sync"

	"github.com/extsort/extsort/chunker/plan"
	"github.com/extsort/extsort/internal/safely"
)

// RunWriter takes the blocks of one run in any order and from several goroutines. It is a device.BlockWriter.
type RunWriter struct {
	spill    *Spill
	origin   Origin
	replaces []*Run // when it is finished
	written  safely.Group

	mu     sync.Mutex // protects the following
	index  index      // its tail holds the blocks behind those that are stored, in the order in which they came
	sorted int        // entries of the tail that are in order, without a gap
	next   int64      // the record after the last of those
	run    *Run       // what is known of the run so far
}

// NewRun begins a run of records from there, which a checkpoint keeps if that is known.
func (s *Spill) NewRun(o Origin) *RunWriter {
	return &RunWriter{spill: s, origin: o, index: index{in: &s.index}, run: s.newRun(o)}
}

// NewMerged begins a run of the records of others, which are neighbours and will not be needed when it is finished.
func (s *Spill) NewMerged(others []*Run) *RunWriter {
	o := Origin{First: others[0].Origin.First}
	for _, run := range others {
		o.Records += run.Origin.Records
		o.Sum.Merge(run.Origin.Sum)
	}
	w := s.NewRun(o)
	w.replaces = others
	return w
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
	defer w.mu.Unlock()
	w.run.count(&b)
	w.index.tail = append(w.index.tail, b)
	if !w.index.in.grow(1) || len(w.index.tail) < 2*(w.sorted+plan.LeastStored) {
		return nil
	}
	return w.storeIndex()
}

// storeIndex stores the entries that follow the stored ones without a gap: others may still come before the rest.
// REQUIRES: w.mu is held.
func (w *RunWriter) storeIndex() error {
	tail := w.index.tail
	slices.SortFunc(tail, func(a, b Block) int { return cmp.Compare(a.First, b.First) })
	n := 0
	for n < len(tail) && tail[n].First == w.next {
		w.next += int64(tail[n].Records)
		n++
	}
	w.sorted = len(tail) - n // wait, before the next try, for as many as could not be stored
	return w.index.store(n)
}

// Finish ends the run. All blocks must have been written; after an error what was written is given back.
func (w *RunWriter) Finish() (*Run, error) {
	tail := w.index.tail
	slices.SortFunc(tail, func(a, b Block) int { return cmp.Compare(a.First, b.First) })
	err := w.written.Wait()
	if err == nil {
		err = checkIndex(w.next, tail)
	}
	if err == nil && (w.index.stored > 0 || w.index.in.full()) { // a manifest has an index as a whole
		err = w.index.store(len(tail))
	}
	if err != nil {
		w.Abort()
		return nil, err
	}
	run := w.complete()
	if c := w.spill.opt.Checkpoint; c != nil && w.origin.Records > 0 {
		return run, c.keep(run, w.replaces, w.spill)
	}
	return run, nil
}

// complete gives the run its index.
func (w *RunWriter) complete() *Run {
	records := w.run.records
	w.run.records = 0
	w.run.add(indexPiece{entries: &w.index, n: w.index.count()}, records)
	w.run.indexes = []*index{&w.index}
	return w.run
}

// Abort gives back what was written.
func (w *RunWriter) Abort() { _ = w.spill.release(w.complete()) }

// Kept is the runs that a checkpoint has, in the order of their origins.
func (s *Spill) Kept() (runs []*Run) {
	for _, kept := range s.opt.Checkpoint.kept.Runs {
		runs = append(runs, s.keptRun(kept))
	}
	return runs
}

// newRun is a run of records from there that has no blocks yet. In a checkpoint they stay until another run replaces
// them.
func (s *Spill) newRun(o Origin) *Run {
	run := &Run{Origin: o, keyer: s.opt.Keyer, read: s.get, close: func() error { return nil }}
	if s.behind != nil {
		run.atOnce, run.from = readsAtOnce, s
	}
	if s.opt.Checkpoint == nil {
		run.drop = s.drop
		run.close = func() error { return s.release(run) }
	}
	return run
}

// count adds a block to the totals of the run.
func (r *Run) count(b *Block) {
	r.records += int64(b.Records)
	r.largest = max(r.largest, b.Records)
	r.stored += aligned(b.Bytes)
	r.ends = endAt(r.ends, b.Volume, b.Offset+aligned(b.Bytes))
}

// endAt is ends where a file of spill ends no sooner than there.
func endAt(ends []int64, volume int, end int64) []int64 {
	for len(ends) <= volume {
		ends = append(ends, 0)
	}
	ends[volume] = max(ends[volume], end)
	return ends
}

// Appender takes blocks of sections of one run in order, and keeps them together on disk. It is for one goroutine at a
// time.
type Appender struct {
	index    *index
	sections []appended
	largest  int    // records in the largest block
	stored   int64  // bytes of the blocks
	key      []byte // of the first block
	differs  bool   // another block begins with another key
	extent   extent
	written  safely.Group
}

// extentPart is the part of what an Appender has stored that its next extent adds where extents are reserved.
const extentPart = 4

// extentBytes is the size of the next extent of an Appender: as long as is worth a hole. Where extents are reserved it
// grows with what is stored, so that the unused ends of all extents take little room.
func (s *Spill) extentBytes(a *Appender) int64 {
	if s.behind == nil || !s.roomy {
		return punchBytes
	}
	return min(punchBytes, a.stored/extentPart) &^ (plan.SpillAlign - 1)
}

// appended is the blocks of one section.
type appended struct {
	section int64
	from    int // number of the first entry
	n       int
	records int64
}

// Append stores records as the next block of a section of the run: one section is appended to one Appender.
func (s *Spill) Append(a *Appender, section int64, recs []byte) error {
	b, err := s.put(recs, &a.extent, s.extentBytes(a), &a.written)
	if err != nil {
		return err
	}
	if a.index == nil {
		a.index, a.key = &index{in: &s.index}, b.Key
	}
	last := len(a.sections) - 1
	if last < 0 || a.sections[last].section != section {
		a.sections = append(a.sections, appended{section: section, from: a.index.count()})
		last++
	}
	to := &a.sections[last]
	b.First = to.records
	to.records += int64(b.Records)
	to.n++
	a.largest = max(a.largest, b.Records)
	a.stored += aligned(b.Bytes)
	a.differs = a.differs || !bytes.Equal(a.key, b.Key)
	return a.index.add(b)
}

// Join is the run of what was appended to all, in the order of the sections, and whether the first records of all its
// blocks have the same key.
func (s *Spill) Join(all []*Appender) (run *Run, sameKeys bool, err error) {
	type part struct {
		appended
		*Appender
	}
	var parts []part
	var key []byte
	sameKeys = true
	run = s.newRun(Origin{})
	for _, a := range all {
		if err := a.written.Wait(); err != nil {
			return nil, false, err
		}
		if a.index == nil {
			continue
		}
		if key == nil {
			key = a.key
		}
		sameKeys = sameKeys && !a.differs && bytes.Equal(key, a.key)
		run.indexes = append(run.indexes, a.index)
		run.largest = max(run.largest, a.largest)
		for _, one := range a.sections {
			parts = append(parts, part{one, a})
		}
	}
	slices.SortStableFunc(parts, func(a, b part) int { return cmp.Compare(a.section, b.section) })
	for _, p := range parts {
		run.add(indexPiece{entries: p.index, from: p.from, n: p.n, shift: run.records}, p.records)
	}
	return run, sameKeys, nil
}
