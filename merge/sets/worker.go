package sets

import (
	"context"
	"encoding/binary"

	"github.com/extsort/extsort/merge"
)

// A worker handles spans, one after another.
type worker struct {
	op     *operation
	counts Counts
	ofA    matcher
	ofB    matcher
	tile   *merge.Tile // for a union; otherwise nil

	buffers [outputs]buffer

	number   int64 // number of the current span
	isMyTurn bool  // all spans before it have been placed
}

// A buffer collects the records that a worker writes to an output.
type buffer struct {
	sink *sink
	recs []byte
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
			w.buffers[i].recs = make([]byte, 0, outputBlocks*op.opt.BlockRecords*s.size)
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
	case Intersect:
		return w.filter(ctx, parts, choice{shared: true, oneForOne: w.op.opt.All})
	case Subtract:
		return w.filter(ctx, parts, choice{oneForOne: w.op.opt.All})
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
func (w *worker) filter(ctx context.Context, parts []part, c choice) error {
	remaining := parts[0].all()
	for i := range parts[1:] {
		remaining = w.ofA.choose(remaining, &parts[i+1].stretch, c)
	}
	return w.addSelected(ctx, &w.buffers[result], remaining)
}

// compare counts the keys of two parts and separates their records.
func (w *worker) compare(ctx context.Context, a, b *part) error {
	shared := choice{shared: true}
	bothA := w.ofA.choose(a.all(), &b.stretch, shared)
	if err := w.addSelected(ctx, &w.buffers[both], bothA); err != nil {
		return err
	}
	keysBoth := a.countKeys(bothA)
	allA := a.all()
	w.counts.KeysBoth += keysBoth
	w.counts.RecordsBoth += int64(len(bothA.keys))
	w.counts.KeysA += a.countKeys(allA) - keysBoth
	w.counts.RecordsA += int64(len(a.keys) - len(bothA.keys))

	recordsBothB := keysBoth
	if !b.isDistinct() {
		bothB := w.ofB.choose(b.all(), &a.stretch, shared)
		recordsBothB = int64(len(bothB.keys))
	}
	w.counts.OtherBoth += recordsBothB
	w.counts.KeysB += b.countKeys(b.all()) - keysBoth
	w.counts.RecordsB += int64(len(b.keys)) - recordsBothB

	if w.buffers[onlyA].sink != nil {
		rest := w.ofA.choose(a.all(), &b.stretch, choice{})
		if err := w.addSelected(ctx, &w.buffers[onlyA], rest); err != nil {
			return err
		}
	}
	if w.buffers[onlyB].sink == nil {
		return nil
	}
	rest := w.ofB.choose(b.all(), &a.stretch, choice{})
	return w.addSelected(ctx, &w.buffers[onlyB], rest)
}

// countKeys returns the number of different keys of selected records.
func (p *part) countKeys(s selection) int64 {
	if p.isDistinct() {
		return int64(len(s.keys))
	}
	return s.countKeys()
}

// isDistinct reports whether the records of the part are known to have different keys.
func (p *part) isDistinct() bool { return p.block == nil || p.block.distinct }

// addSelected adds the selected records to an output.
func (w *worker) addSelected(ctx context.Context, to *buffer, s selection) error {
	if to.sink == nil {
		return nil
	}
	for k := 0; k < len(s.keys); {
		dst, err := w.room(ctx, to, len(s.keys)-k)
		if err != nil {
			return err
		}
		n := len(dst) / s.of.size
		s.copyRecords(dst, k)
		k += n
	}
	return nil
}

// copyRecords fills dst with selected records, starting with the k-th.
func (s *selection) copyRecords(dst []byte, k int) {
	size := s.of.size
	n := len(dst) / size
	if s.refs == nil {
		copy(dst, s.of.recs[k*size:])
		return
	}
	refs := s.refs[k : k+n]
	recs := s.of.recs
	if size == prefixBytes {
		for i, ref := range refs {
			word := binary.NativeEndian.Uint64(recs[int(ref)*prefixBytes:])
			binary.NativeEndian.PutUint64(dst[i*prefixBytes:], word)
		}
		return
	}
	for i, ref := range refs {
		copy(dst[i*size:(i+1)*size], recs[int(ref)*size:])
	}
}

// room adds space for up to n records to a buffer. The caller must fill all of it. If the buffer is
// full, it writes the records in it first.
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
		firsts[i], err = b.sink.place(ctx, b.recs)
		if err != nil {
			w.op.turns.Pass(0, err)
			return err
		}
	}
	w.op.turns.Pass(w.number+1, nil)

	for i := range w.buffers {
		b := &w.buffers[i]
		if firsts[i] >= 0 {
			if err := b.sink.write(ctx, firsts[i], b.recs); err != nil {
				return err
			}
		}
		b.recs = b.recs[:0]
	}
	return nil
}
