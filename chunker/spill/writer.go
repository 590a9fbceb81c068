package spill

import (
	"bytes"
	"cmp"
	"context"
	"slices"
	"sync"

	"github.com/extsort/extsort/chunker/plan"
	"github.com/extsort/extsort/internal/blockio"
)

// A RunWriter receives the blocks of one run, in any order and from several goroutines. It is a
// device.BlockWriter.
type RunWriter struct {
	spill    *Spill
	origin   Origin
	replaces []*Run // released when the run is finished
	written  blockio.Batch

	mu sync.Mutex // protects the fields below
	// The tail of index holds the blocks after the stored ones, in the order in which they
	// arrived.
	index    index
	unstored int   // number of entries of the tail that could not be stored at the last attempt
	next     int64 // index of the record after the stored entries
	run      *Run  // totals of the run so far
}

// NewRun begins a run. A checkpoint keeps the run if its origin is known.
func (s *Spill) NewRun(o Origin) *RunWriter {
	return &RunWriter{
		spill:  s,
		origin: o,
		index:  index{in: &s.index},
		run:    s.newRun(o),
	}
}

// NewMerged begins a run that replaces others, which are neighbors, when it is finished.
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
	if err := context.Cause(ctx); err != nil || len(recs) == 0 {
		return err
	}
	b, err := w.spill.storeBlock(recs, new(extent), 0, &w.written)
	if err != nil {
		return err
	}
	b.First = first
	w.mu.Lock()
	defer w.mu.Unlock()
	w.run.addToTotals(&b)
	w.index.tail = append(w.index.tail, b)
	if !w.index.in.noteHeld(1) || len(w.index.tail) < 2*(w.unstored+plan.LeastStored) {
		return nil
	}
	return w.storeIndex()
}

// storeIndex stores the leading entries of the tail that have no gap before them. Blocks that
// fill the gaps may arrive later. REQUIRES: w.mu is held
func (w *RunWriter) storeIndex() error {
	tail := w.index.tail
	slices.SortFunc(tail, func(a, b Block) int { return cmp.Compare(a.First, b.First) })
	n := 0
	for n < len(tail) && tail[n].First == w.next {
		w.next += int64(tail[n].Records)
		n++
	}
	w.unstored = len(tail) - n // the next attempt waits until the tail has doubled
	return w.index.store(n)
}

// Finish completes the run. All blocks must have been written. After an error, Finish releases
// the written data.
func (w *RunWriter) Finish() (*Run, error) {
	tail := w.index.tail
	slices.SortFunc(tail, func(a, b Block) int { return cmp.Compare(a.First, b.First) })
	err := w.written.Wait()
	if err == nil {
		err = checkIndex(w.next, tail)
	}
	// a manifest requires an index that is stored completely
	if err == nil && (w.index.stored > 0 || w.index.in.isFull()) {
		err = w.index.store(len(tail))
	}
	if err != nil {
		w.Abort()
		return nil, err
	}

	run := w.complete()
	if c := w.spill.opt.Checkpoint; c != nil && w.origin.Records > 0 {
		return run, c.keepRun(run, w.replaces, w.spill)
	}
	return run, nil
}

// complete adds the index to the run.
func (w *RunWriter) complete() *Run {
	records := w.run.records
	w.run.records = 0
	w.run.add(indexPiece{entries: &w.index, n: w.index.entryCount()}, records)
	w.run.indexes = []*index{&w.index}
	return w.run
}

// Abort releases the written data.
func (w *RunWriter) Abort() { _ = w.spill.release(w.complete()) }

// CheckpointRuns returns the runs of the checkpoint, in the order of their origins.
func (s *Spill) CheckpointRuns() (runs []*Run) {
	for _, kept := range s.opt.Checkpoint.manifest.Runs {
		runs = append(runs, s.keptRun(kept))
	}
	return runs
}

// newRun returns an empty run. In a checkpoint, the storage of a run stays until another run
// replaces it.
func (s *Spill) newRun(o Origin) *Run {
	run := &Run{
		Origin: o,
		keyer:  s.opt.Keyer,
		read:   s.readBlock,
		close:  func() error { return nil },
	}
	if s.writer != nil {
		run.parallelReads = readsAtOnce
		run.directFrom = s
	}

	if s.opt.Checkpoint == nil {
		run.drop = s.releaseBlock
		run.close = func() error { return s.release(run) }
	}

	return run
}

// addToTotals adds a block to the totals of the run.
func (r *Run) addToTotals(b *Block) {
	r.records += int64(b.Records)
	r.largest = max(r.largest, b.Records)
	r.stored += aligned(b.Bytes)
	r.ends = endAt(r.ends, b.Volume, b.Offset+aligned(b.Bytes))
}

// endAt extends ends so that the end of the given volume is at least end.
func endAt(ends []int64, volume int, end int64) []int64 {
	for len(ends) <= volume {
		ends = append(ends, 0)
	}
	ends[volume] = max(ends[volume], end)
	return ends
}

// An Appender receives the blocks of sections of one run in order, and keeps them together on
// disk. Only one goroutine may use it at a time.
type Appender struct {
	index    *index
	sections []appended
	largest  int    // number of records in the largest block
	stored   int64  // size of the blocks in bytes
	key      []byte // key of the first block
	differs  bool   // another block begins with a different key
	extent   extent
	written  blockio.Batch
}

// extentPart is the divisor for the size of an extent whose space is reserved: the extent has
// 1/extentPart of the bytes that its Appender has stored so far.
const extentPart = 4

// extentBytes returns the size of the next extent of an Appender. Usually this is the minimum
// size of a hole. If extents are reserved, it grows with the stored data, so that the unused ends
// of all extents take little space.
func (s *Spill) extentBytes(a *Appender) int64 {
	if s.writer == nil || !s.roomy {
		return punchBytes
	}
	return min(punchBytes, a.stored/extentPart)
}

// appended describes the blocks of one section.
type appended struct {
	section int64
	from    int // number of the first entry
	n       int
	records int64
}

// Append stores records as the next block of a section of the run. All blocks of a section must
// go to the same Appender.
func (s *Spill) Append(a *Appender, section int64, recs []byte) error {
	b, err := s.storeBlock(recs, &a.extent, s.extentBytes(a), &a.written)
	if err != nil {
		return err
	}
	if a.index == nil {
		a.index = &index{in: &s.index}
		a.key = b.Key
	}

	last := len(a.sections) - 1
	if last < 0 || a.sections[last].section != section {
		a.sections = append(a.sections, appended{section: section, from: a.index.entryCount()})
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

// Join returns the run of all appended blocks, in the order of the sections. It also reports
// whether the first records of all blocks have the same key.
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
		run.add(indexPiece{
			entries: p.index,
			from:    p.from,
			n:       p.n,
			shift:   run.records,
		}, p.records)
	}

	return run, sameKeys, nil
}
