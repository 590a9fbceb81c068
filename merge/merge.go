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

// Merge writes the records of all runs to w in order. Records with equal keys keep the order of
// their runs. Every block of every run is read at most once. The runs stay open.
func Merge(
	ctx context.Context,
	opt Options,
	runs []*spill.Run,
	w device.BlockWriter,
) error {
	m, err := newMerging(opt.inWholeRecords(), runs)
	if err != nil {
		return err
	}
	buffers, memory, err := newBuffers(
		m.opt.Keyer,
		cap(m.free),
		largestBlock(runs),
	)
	if err != nil {
		return err
	}
	for _, b := range buffers {
		m.free <- b
	}
	return errors.Join(m.run(ctx, w), memory.Free())
}

// merging is one merge of runs. Loaders read blocks in the order of the forecast, the dispatcher
// cuts the blocks in memory into spans, and workers merge the spans.
type merging struct {
	opt        *Options
	runs       []*spill.Run
	forecast   *forecast
	spanBlocks int // number of blocks that begin in one span

	free chan []byte // buffers for blocks
	// a ring; the block of rank r in the forecast is sent to index r modulo the length
	loaded      []chan *block
	enough      chan struct{} // closed when no more blocks are needed
	claims      atomic.Int64  // number of ranks that loaders have claimed
	takenBlocks int           // number of ranks whose blocks the cutter has received
}

func newMerging(opt *Options, runs []*spill.Run) (*merging, error) {
	buffers, spanBlocks, err := opt.divide(len(runs), largestBlock(runs))
	if err != nil {
		return nil, err
	}
	m := &merging{
		opt:        opt,
		runs:       runs,
		spanBlocks: spanBlocks,
		enough:     make(chan struct{}),
	}
	blocks := 0
	for _, run := range runs {
		blocks += run.Blocks()
	}
	buffers = min(buffers, blocks)
	// The loaders can be up to len(buffers) places ahead of the one that the cutter requests.
	if m.forecast, err = newForecast(runs, buffers+2); err != nil {
		return nil, err
	}
	m.free = make(chan []byte, buffers)
	m.loaded = make([]chan *block, buffers)
	for i := range m.loaded {
		m.loaded[i] = make(chan *block, 1)
	}
	return m, nil
}

func (m *merging) run(ctx context.Context, w device.BlockWriter) error {
	group, ctx := safely.WithContext(ctx)
	for range min(m.opt.Workers+1, m.forecast.blocks) {
		group.Go(func() error { return m.load(ctx) })
	}
	runWorkers(ctx, group, m.opt, len(m.runs), m.advance, m.enough, w)
	return group.Wait()
}

// load reads blocks while there are buffers for them. A loader claims a block only when it has a
// buffer. So the block that is needed next always has a buffer, and at most len(m.loaded) blocks
// wait for the dispatcher.
func (m *merging) load(ctx context.Context) error {
	for {
		buf, err := takeBuffer(ctx, m.free, m.enough)
		if buf == nil {
			return err
		}
		rank := int(m.claims.Add(1)) - 1
		if rank >= m.forecast.blocks {
			return nil
		}
		p, err := m.forecast.place(rank)
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
	recs, err := m.runs[p.run].Take(
		p.index,
		at,
		buf[:at.Records*m.opt.recordSize()],
	)
	if err != nil {
		return nil, err // the error names the place
	}
	b := newBlock(m.opt.Keyer, p.run, at.First, recs, buf, m.free)
	if m.opt.CheckOrder || p.isUnsorted() {
		err = m.checkBlock(p, b)
	}
	return b, err
}

// checkBlock returns an error if the records of b are out of order, or if the next block of the run
// begins with a smaller key than the last key of b.
func (m *merging) checkBlock(p *place, b *block) error {
	if err := b.checkOrder(m.opt.Keyer); err != nil {
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

// advance adds the blocks of one span. It cuts at every spanBlocks-th block of the forecast, as
// soon as all blocks before the cut are in memory.
func (m *merging) advance(
	ctx context.Context, c *cutter,
) (key []byte, input int, err error) {
	for range min(m.spanBlocks, m.forecast.blocks-m.takenBlocks) {
		select {
		case b := <-m.loaded[m.takenBlocks%len(m.loaded)]:
			c.addBlock(b)
			m.takenBlocks++
		case <-ctx.Done():
			return nil, 0, context.Cause(ctx)
		}
	}

	if m.takenBlocks == m.forecast.blocks {
		return nil, -1, nil
	}
	p, err := m.forecast.place(m.takenBlocks)
	if err != nil {
		return nil, 0, err
	}
	return p.block.Key, p.run, nil
}

// takeBuffer waits for a free buffer. It returns nil if no more buffers are needed.
func takeBuffer(
	ctx context.Context,
	free <-chan []byte,
	enough <-chan struct{},
) ([]byte, error) {
	select {
	case buf := <-free:
		return buf, nil
	case <-enough:
		return nil, nil
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}
