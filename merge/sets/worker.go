package sets

import (
	"context"

	"github.com/extsort/extsort/device/arena"
	"github.com/extsort/extsort/merge"
	"github.com/extsort/extsort/merge/match"
)

// A worker handles spans, one after another.
type worker struct {
	op     *operation
	counts Counts
	tile   *merge.Tile // for a union; otherwise nil

	ofA, ofB, more marks
	refsA, refsB   []uint32 // indexes of records, for a join

	buffers [outputs]buffer

	number   int64 // number of the current span
	isMyTurn bool  // all spans before it have been placed
}

// A buffer collects the records that a worker writes to an output.
type buffer struct {
	sink *sink
	recs []byte

	// tile contains the records of the whole span, in memory of the tile, so that they need not be
	// copied to recs; nil if recs contains them.
	tile []byte
}

// content returns the records of the buffer.
func (b *buffer) content() []byte {
	if b.tile != nil {
		return b.tile
	}
	return b.recs
}

// outputBlocks is the size of a buffer in blocks. This is enough for the result of a span of two
// inputs.
const outputBlocks = 2

func newWorker(op *operation) *worker {
	w := &worker{op: op}
	keyer := op.opt.Inputs[0].Keyer
	if op.opt.Operation == Union {
		w.tile = merge.NewTile(keyer, len(op.opt.Inputs)*op.opt.BlockRecords)
	}
	for i, s := range op.sinks {
		w.buffers[i].sink = s
		if s != nil {
			words := make([]uint64, (outputBlocks*op.opt.BlockRecords*s.size+prefixBytes-1)/prefixBytes)
			w.buffers[i].recs = arena.ByteView(words)[: 0 : outputBlocks*op.opt.BlockRecords*s.size]
		}
	}
	return w
}

func (w *worker) run(ctx context.Context, spans <-chan *span) error {
	for s := range spans {
		w.number = s.number
		w.isMyTurn = false
		if err := w.handle(ctx, s.parts); err != nil {
			return err
		}
		s.release()
		if err := w.finish(ctx); err != nil {
			return err
		}
	}
	return nil
}

// handle runs the operation on a span.
func (w *worker) handle(ctx context.Context, parts []part) error {
	switch w.op.opt.Operation {
	case Union:
		return w.unite(ctx, parts)
	case Intersect, Subtract:
		return w.filter(ctx, parts)
	case Compare:
		return w.compare(ctx, &parts[0], &parts[1])
	}
	return w.join(ctx, &parts[0], &parts[1])
}

// unite merges all parts.
func (w *worker) unite(ctx context.Context, parts []part) error {
	w.tile.Reset()
	for i := range parts {
		w.tile.Add(parts[i].keys, parts[i].recs)
	}
	n := w.tile.Merge(!w.op.opt.All)
	if recs := w.tile.Bytes(); recs != nil {
		w.buffers[result].tile = recs
		return nil
	}
	for at := 0; at < n; {
		dst, err := w.room(ctx, &w.buffers[result], n-at)
		if err != nil {
			return err
		}
		w.tile.Copy(dst, at)
		at += len(dst) / w.buffers[result].sink.size
	}
	return nil
}

// filter writes the records of the first part that remain after a comparison with each other part.
func (w *worker) filter(ctx context.Context, parts []part) error {
	a := &parts[0].stretch
	all := w.op.opt.All
	if w.op.opt.Operation == Subtract {
		found := w.ofA.none(a)
		for i := range parts[1:] {
			w.addMarks(found, a, &parts[i+1].stretch, all)
		}
		return w.addMarked(ctx, &w.buffers[result], a, found, 0)
	}

	found := w.ofA.none(a)
	w.addMarks(found, a, &parts[1].stretch, all)
	for i := range parts[2:] {
		more := w.more.none(a)
		w.addMarks(more, a, &parts[i+2].stretch, all)
		for k, mark := range more {
			found[k] &= mark
		}
	}
	return w.addMarked(ctx, &w.buffers[result], a, found, 1)
}

// addMarks marks the records of a whose keys are in b. If once is set, each record of b marks at
// most one record, which had no mark before.
func (w *worker) addMarks(ofA []byte, a, b *stretch, once bool) {
	switch {
	case a.isWide():
		markWide(ofA, a, b, once)
	case once:
		match.MarkOnce(ofA, a.keys, b.keys)
	default:
		match.Mark(ofA, w.ofB.none(b), a.keys, b.keys)
	}
}

// markBoth returns the marks of the records of two parts whose keys are in the other part.
func (w *worker) markBoth(a, b *part) (ofA, ofB []byte) {
	ofA = w.ofA.none(&a.stretch)
	ofB = w.ofB.none(&b.stretch)
	switch {
	case a.isWide():
		markWide(ofA, &a.stretch, &b.stretch, false)
		markWide(ofB, &b.stretch, &a.stretch, false)
	case b.isDistinct():
		match.Mark(ofA, ofB, a.keys, b.keys)
	case a.isDistinct():
		match.Mark(ofB, ofA, b.keys, a.keys)
	default:
		match.Mark(ofA, w.more.none(&b.stretch), a.keys, b.keys)
		match.Mark(ofB, w.more.none(&a.stretch), b.keys, a.keys)
	}
	return ofA, ofB
}

// compare counts the keys of two parts and separates their records.
func (w *worker) compare(ctx context.Context, a, b *part) error {
	ofA, ofB := w.markBoth(a, b)
	keysA, keysBoth := a.countKeys(ofA)
	keysB, _ := b.countKeys(ofB)
	recordsA := int64(match.Count(ofA))
	recordsB := int64(match.Count(ofB))
	w.counts.add(&Counts{
		KeysA:       keysA - keysBoth,
		RecordsA:    int64(len(ofA)) - recordsA,
		KeysB:       keysB - keysBoth,
		RecordsB:    int64(len(ofB)) - recordsB,
		KeysBoth:    keysBoth,
		RecordsBoth: recordsA,
		OtherBoth:   recordsB,
	})

	if err := w.addMarked(ctx, &w.buffers[both], &a.stretch, ofA, 1); err != nil {
		return err
	}
	if err := w.addMarked(ctx, &w.buffers[onlyA], &a.stretch, ofA, 0); err != nil {
		return err
	}
	return w.addMarked(ctx, &w.buffers[onlyB], &b.stretch, ofB, 0)
}

// countKeys returns the number of different keys, and how many of them are marked. Records with the
// same key have the same mark.
func (p *part) countKeys(marks []byte) (all, marked int64) {
	if p.isDistinct() {
		return int64(len(marks)), int64(match.Count(marks))
	}
	for i, mark := range marks {
		if i > 0 && p.keys[i] == p.keys[i-1] && (!p.isWide() || p.compareRest(i-1, &p.stretch, i) == 0) {
			continue
		}
		all++
		marked += int64(mark)
	}
	return all, marked
}

// isDistinct reports whether the records of the part are known to have different keys.
func (p *part) isDistinct() bool { return p.block == nil || p.block.distinct }

// addMarked adds the records whose mark is want to an output.
func (w *worker) addMarked(ctx context.Context, to *buffer, s *stretch, marks []byte, want byte) error {
	if to.sink == nil {
		return nil
	}
	if s.isWord() {
		return w.addWords(ctx, to, arena.View[uint64](s.recs), marks, want)
	}
	for at := 0; at < len(marks); {
		from, end := match.Stretch(marks[at:], want)
		if err := w.addRecords(ctx, to, s.recs[(at+from)*s.size:(at+end)*s.size]); err != nil {
			return err
		}
		at += end
	}
	return nil
}

// addRecords adds records to an output.
func (w *worker) addRecords(ctx context.Context, to *buffer, recs []byte) error {
	for len(recs) > 0 {
		dst, err := w.room(ctx, to, len(recs)/to.sink.size)
		if err != nil {
			return err
		}
		recs = recs[copy(dst, recs):]
	}
	return nil
}

// addWords is addMarked for records that are words. It copies them piece by piece, because each
// piece needs room for all of its records.
func (w *worker) addWords(ctx context.Context, to *buffer, words []uint64, marks []byte, want byte) error {
	for len(words) > 0 {
		dst, err := w.room(ctx, to, len(words))
		if err != nil {
			return err
		}
		n := len(dst) / prefixBytes
		kept := match.Keep(arena.View[uint64](dst), words[:n], marks[:n], want)
		to.recs = to.recs[:len(to.recs)-(n-kept)*prefixBytes]
		words = words[n:]
		marks = marks[n:]
	}
	return nil
}

// room adds space for up to n records to a buffer, which the caller must fill or give back. If the
// buffer is full, room writes the records in it first.
func (w *worker) room(ctx context.Context, b *buffer, n int) ([]byte, error) {
	size := b.sink.size
	left := (cap(b.recs) - len(b.recs)) / size
	if left == 0 {
		if err := w.flush(ctx, b); err != nil {
			return nil, err
		}
		left = cap(b.recs) / size
	}
	from := len(b.recs)
	b.recs = b.recs[:from+min(n, left)*size]
	return b.recs[from:], nil
}

// flush writes the records of a buffer before the end of the span.
func (w *worker) flush(ctx context.Context, b *buffer) error {
	if err := w.takeTurn(ctx); err != nil {
		return err
	}
	err := b.sink.add(ctx, b.recs)
	b.recs = b.recs[:0]
	return err
}

// takeTurn waits until all spans before the current one have been placed.
func (w *worker) takeTurn(ctx context.Context) error {
	if w.isMyTurn {
		return nil
	}
	w.isMyTurn = true
	return w.op.turns.Wait(ctx, w.number)
}

// finish writes the results of the span. Only the positions are determined in turn; the records are
// written concurrently.
func (w *worker) finish(ctx context.Context) error {
	if err := w.takeTurn(ctx); err != nil {
		return err
	}
	var firsts [outputs]int64
	for i := range w.buffers {
		b := &w.buffers[i]
		var err error
		firsts[i], err = b.sink.place(ctx, b.content())
		if err != nil {
			w.op.turns.Pass(0, err)
			return err
		}
	}
	w.op.turns.Pass(w.number+1, nil)

	for i := range w.buffers {
		b := &w.buffers[i]
		if firsts[i] >= 0 {
			if err := b.sink.write(ctx, firsts[i], b.content()); err != nil {
				return err
			}
		}
		b.recs = b.recs[:0]
		b.tile = nil
	}
	return nil
}
