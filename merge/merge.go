package merge

import (
	"bytes"
	"context"
	"errors"
	"slices"
	"sync/atomic"

	"github.com/extsort/extsort/chunker/spill"
	"github.com/extsort/extsort/device"
	"github.com/extsort/extsort/internal/safely"
)

// Merge writes the records of all runs to w in order: of records with equal keys, those of earlier runs first.
// Every block of every run is read once at most. The runs stay open.
func Merge(ctx context.Context, opt Options, runs []*spill.Run, w device.BlockWriter) error {
	m, err := newMerging(opt.inWholeRecords(), runs)
	if err != nil {
		return err
	}
	buffers, memory, err := newBuffers(m.opt.Keyer, cap(m.free), largestBlock(runs))
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
	order      *forecast
	spanBlocks int // blocks that begin in one span

	free   chan []byte   // memory for blocks
	loaded []chan *block // a ring: of rank r in the forecast at r modulo its length
	enough chan struct{} // closed when no more blocks are needed
	claims atomic.Int64  // places in order that loaders have claimed
	taken  int           // of which the cutter has the blocks
}

func newMerging(opt *Options, runs []*spill.Run) (*merging, error) {
	buffers, spanBlocks, err := opt.divide(len(runs), largestBlock(runs))
	if err != nil {
		return nil, err
	}
	m := &merging{opt: opt, runs: runs, spanBlocks: spanBlocks, enough: make(chan struct{})}
	blocks := 0
	for _, run := range runs {
		blocks += run.Blocks()
	}
	buffers = min(buffers, blocks)
	// Loaders ask for as many places as there are buffers beyond the one that the cutter asks for.
	if m.order, err = newForecast(runs, buffers+2); err != nil {
		return nil, err
	}
	m.free, m.loaded = make(chan []byte, buffers), make([]chan *block, buffers)
	for i := range m.loaded {
		m.loaded[i] = make(chan *block, 1)
	}
	return m, nil
}

func (m *merging) run(ctx context.Context, w device.BlockWriter) error {
	group, ctx := safely.WithContext(ctx)
	for range min(m.opt.Workers+1, m.order.blocks) {
		group.Go(func() error { return m.load(ctx) })
	}
	start(ctx, group, m.opt, len(m.runs), m.advance, m.enough, w)
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
		if rank >= m.order.blocks {
			return nil
		}
		p, err := m.order.at(rank)
		if err != nil {
			return err
		}
		b, err := m.read(p, buf)
		if err != nil {
			return err
		}
		m.loaded[rank%len(m.loaded)] <- b
	}
}

func (m *merging) read(p *place, buf []byte) (*block, error) {
	at := &p.block
	recs, err := m.runs[p.run].Take(p.index, at, buf[:at.Records*m.opt.recordSize()])
	if err != nil {
		return nil, err // which says where
	}
	b := newBlock(m.opt.Keyer, p.run, at.First, recs, buf, m.free)
	if m.opt.CheckOrder || p.falls() {
		err = m.check(p, b)
	}
	return b, err
}

// check makes sure that the records of b are in order, and that the next block of the run continues it.
func (m *merging) check(p *place, b *block) error {
	if err := b.disorder(m.opt.Keyer); err != nil {
		return err
	}
	if p.last {
		return nil
	}
	last := m.opt.Keyer.Append(nil, b.recs[len(b.recs)-m.opt.recordSize():])
	if bytes.Compare(last, p.nextKey) > 0 {
		return &DisorderError{b.input, p.next, slices.Clone(p.nextKey), last}
	}
	return nil
}

// advance adds the blocks of one span: it is cut at every spanBlocks-th block of the forecast, as soon as the blocks
// before the cut are in memory.
func (m *merging) advance(ctx context.Context, c *cutter) (key []byte, input int, err error) {
	for range min(m.spanBlocks, m.order.blocks-m.taken) {
		select {
		case b := <-m.loaded[m.taken%len(m.loaded)]:
			c.add(b)
			m.taken++
		case <-ctx.Done():
			return nil, 0, context.Cause(ctx)
		}
	}
	if m.taken == m.order.blocks {
		return nil, -1, nil
	}
	p, err := m.order.at(m.taken)
	if err != nil {
		return nil, 0, err
	}
	return p.block.Key, p.run, nil
}

// takeBuffer waits for a free buffer; nil: none is needed any more.
func takeBuffer(ctx context.Context, free <-chan []byte, enough <-chan struct{}) ([]byte, error) {
	select {
	case buf := <-free:
		return buf, nil
	case <-enough:
		return nil, nil
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}
