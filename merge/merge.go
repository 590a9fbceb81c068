package merge

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"

	"github.com/extsort/extsort/chunker/spill"
	"github.com/extsort/extsort/device"
	"golang.org/x/sync/errgroup"
)

// Merge writes the records of all runs to w in order: of records with equal keys, those of earlier runs first.
// Every block of every run is read once at most. The runs stay open.
func Merge(ctx context.Context, opt Options, runs []*spill.Run, w device.BlockWriter) error {
	opt = opt.withDefaults()
	if err := checkIndexes(opt.Keyer, runs); err != nil {
		return err
	}
	m, err := newMerging(&opt, runs)
	if err != nil {
		return err
	}
	buffers, memory, err := newBuffers(opt.Keyer, cap(m.free), largestBlock(runs))
	if err != nil {
		return err
	}
	for _, b := range buffers {
		m.free <- b
	}
	return errors.Join(m.run(ctx, w), memory.Free())
}

// merging is one merge of runs: loaders read blocks in the order of the forecast, the dispatcher cuts what is in
// memory into spans, workers merge the spans.
type merging struct {
	opt        *Options
	runs       []*spill.Run
	order      []place
	spanBlocks int // blocks that begin in one span

	free   chan *buffer  // memory for blocks
	loaded []chan *block // a ring: of rank r in the forecast at r modulo its length
	enough chan struct{} // closed when no more blocks are needed
	claims atomic.Int64  // places in order that loaders have claimed
}

func newMerging(opt *Options, runs []*spill.Run) (*merging, error) {
	buffers, spanBlocks, err := opt.divide(len(runs), largestBlock(runs))
	if err != nil {
		return nil, err
	}
	m := &merging{opt: opt, runs: runs, order: forecast(runs), spanBlocks: spanBlocks, enough: make(chan struct{})}
	buffers = min(buffers, len(m.order))
	m.free, m.loaded = make(chan *buffer, buffers), make([]chan *block, buffers)
	for i := range m.loaded {
		m.loaded[i] = make(chan *block, 1)
	}
	return m, nil
}

func (m *merging) run(ctx context.Context, w device.BlockWriter) error {
	group, ctx := errgroup.WithContext(ctx)
	for range min(m.opt.Workers+1, len(m.order)) {
		group.Go(func() error { return m.load(ctx) })
	}
	start(ctx, group, m.opt, m.dispatch, m.enough, w)
	return group.Wait()
}

// load reads blocks as long as there is memory for them. A loader claims its block only when it has memory, so
// that the block needed next is never without, and no more blocks than there are buffers wait for the dispatcher.
func (m *merging) load(ctx context.Context) error {
	for {
		buf, err := takeBuffer(ctx, m.free, m.enough)
		if buf == nil {
			return err
		}
		rank := int(m.claims.Add(1)) - 1
		if rank >= len(m.order) {
			return nil
		}
		b, err := m.read(m.order[rank], buf)
		if err != nil {
			return err
		}
		m.loaded[rank%len(m.loaded)] <- b
	}
}

func (m *merging) read(p place, buf *buffer) (*block, error) {
	at := &m.runs[p.run].Blocks()[p.block]
	size := at.Records * m.opt.recordSize()
	recs, err := m.runs[p.run].Take(int(p.block), buf.recs[:size])
	if err != nil {
		return nil, err // which says where
	}
	if len(recs) != size {
		return nil, fmt.Errorf("merge: input %d, record %d: a block of %d bytes where the index has %d records",
			p.run+1, at.First, len(recs), at.Records)
	}
	b := newBlock(int(p.run), at.First, buf, m.free)
	b.fill(m.opt.Keyer, recs)
	return b, m.check(p, b)
}

// check makes sure that the records of b are in order, and that the next block of the run continues it.
func (m *merging) check(p place, b *block) error {
	if !m.opt.CheckOrder {
		return nil
	}
	if err := b.disorder(m.opt.Keyer); err != nil {
		return err
	}
	blocks := m.runs[p.run].Blocks()
	if int(p.block)+1 == len(blocks) {
		return nil
	}
	next := &blocks[p.block+1]
	if keyAbove(m.opt.Keyer, b.recs[len(b.recs)-m.opt.recordSize():], next.Key) {
		return &DisorderError{Input: b.input, Record: next.First}
	}
	return nil
}

// dispatch cuts spans at every spanBlocks-th block of the forecast, each as soon as the blocks before the cut
// are in memory.
func (m *merging) dispatch(ctx context.Context, to *sender) error {
	cutter := newCutter(m.opt.Keyer, len(m.runs))
	for rank := 0; rank < len(m.order); rank++ {
		if m.opt.Limit >= 0 && cutter.records >= m.opt.Limit {
			return nil
		}
		if rank > 0 && rank%m.spanBlocks == 0 {
			p := m.order[rank]
			if err := to.send(ctx, cutter.cut(keyOf(m.runs, p), int(p.run))); err != nil {
				return err
			}
		}
		select {
		case b := <-m.loaded[rank%len(m.loaded)]:
			cutter.add(b)
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
	return to.send(ctx, cutter.rest())
}
