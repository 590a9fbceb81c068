package merge

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/extsort/extsort/chunker/spill"
	"github.com/extsort/extsort/device"
	"github.com/extsort/extsort/device/arena"
	"golang.org/x/sync/errgroup"
)

// Merge writes the records of all runs to w in order: of records with equal keys, those of earlier runs first.
// Every block of every run is read once at most. The runs stay open.
func Merge(ctx context.Context, opt Options, runs []*spill.Run, w device.BlockWriter) (Stats, error) {
	opt, err := opt.withDefaults()
	if err != nil {
		return Stats{}, err
	}
	if err := checkIndexes(opt.Keyer, runs); err != nil {
		return Stats{}, err
	}
	blockRecords := largestBlock(runs)
	share, err := opt.divide(len(runs), blockRecords)
	if err != nil {
		return Stats{}, err
	}
	order := forecast(runs)
	buffers, memory, err := newBuffers(opt.Keyer, min(share.buffers, len(order)), blockRecords)
	if err != nil {
		return Stats{}, err
	}
	m := &merging{
		opt: &opt, runs: runs, order: order, share: share,
		free: make(chan *buffer, len(buffers)), loaded: make(chan arrival, len(buffers)),
		enough: make(chan struct{}), meter: &meters{began: time.Now()},
	}
	for _, b := range buffers {
		m.free <- b
	}
	err = m.run(ctx, w)
	return m.meter.stats(), errors.Join(err, memory.Free())
}

// merging is one merge of runs: loaders read blocks in the order of the forecast, the dispatcher cuts what is in
// memory into spans, workers merge the spans.
type merging struct {
	opt   *Options
	runs  []*spill.Run
	order []place
	share share

	free   chan *buffer  // memory for blocks
	loaded chan arrival  // what loaders have read
	enough chan struct{} // closed when no more blocks are needed
	claims atomic.Int64  // places in order that loaders have claimed
	meter  *meters
}

// arrival is a block that has been read, with its rank in the forecast.
type arrival struct {
	rank  int
	block *block
}

func (m *merging) run(ctx context.Context, w device.BlockWriter) error {
	group, ctx := errgroup.WithContext(ctx)
	for range min(m.share.workers+1, len(m.order)) {
		group.Go(func() error { return m.load(ctx) })
	}
	spans := make(chan *span)
	group.Go(func() error {
		defer close(spans)
		defer close(m.enough)
		return m.dispatch(ctx, spans)
	})
	startWorkers(ctx, group, m.share.workers, m.opt, spans, w, m.meter)
	return group.Wait()
}

// startWorkers lets n workers merge the spans that come.
func startWorkers(ctx context.Context, group *errgroup.Group, n int, opt *Options, spans <-chan *span,
	w device.BlockWriter, m *meters) {
	for range n {
		group.Go(func() error {
			memory, err := arena.Alloc(int(opt.workerBytes()))
			if err != nil {
				return fmt.Errorf("merge: %w", err)
			}
			err = newWorker(opt, memory, w, m).mergeAll(ctx, spans)
			return errors.Join(err, memory.Free())
		})
	}
}

// load reads blocks as long as there is memory for them. A loader claims its block only when it has memory, so
// that the block needed next is never without.
func (m *merging) load(ctx context.Context) error {
	for {
		var buf *buffer
		select {
		case buf = <-m.free:
		case <-m.enough:
			return nil
		case <-ctx.Done():
			return context.Cause(ctx)
		}
		rank := int(m.claims.Add(1)) - 1
		if rank >= len(m.order) {
			return nil
		}
		b, err := m.read(m.order[rank], buf)
		if err != nil {
			return err
		}
		m.loaded <- arrival{rank, b}
	}
}

func (m *merging) read(p place, buf *buffer) (*block, error) {
	began := time.Now()
	run, k := m.runs[p.run], m.opt.Keyer
	at := &run.Blocks()[p.block]
	recs, err := run.Take(int(p.block), buf.recs[:at.Records*m.opt.recordSize()])
	m.meter.read.Add(int64(time.Since(began)))
	if err != nil {
		return nil, err // which says where
	}
	if len(recs) != at.Records*m.opt.recordSize() {
		return nil, fmt.Errorf("merge: input %d, record %d: a block of %d bytes where the index has %d records",
			p.run+1, at.First, len(recs), at.Records)
	}
	m.meter.bytes.Add(int64(len(recs)))
	b := newBlock(int(p.run), at.First, buf, m.free)
	b.fill(k, recs)
	if m.opt.CheckOrder {
		return b, m.check(p, b)
	}
	return b, nil
}

// check makes sure that the records of b are in order, and that the next block of the run continues it.
func (m *merging) check(p place, b *block) error {
	if i := disorder(m.opt.Keyer, b.keys, b.recs); i >= 0 {
		return &DisorderError{Input: b.input, Record: b.first + int64(i)}
	}
	blocks := m.runs[p.run].Blocks()
	if int(p.block)+1 == len(blocks) {
		return nil
	}
	next := &blocks[p.block+1]
	last := b.recs[len(b.recs)-m.opt.recordSize():]
	if keyAbove(m.opt.Keyer, last, next.Key) {
		return &DisorderError{Input: b.input, Record: next.First}
	}
	return nil
}

// dispatch cuts spans at every spanBlocks-th block of the forecast, each as soon as the blocks before the cut
// are in memory.
func (m *merging) dispatch(ctx context.Context, spans chan<- *span) error {
	early := map[int]*block{} // arrived before one of lower rank
	cutter, workers := newCutter(m.opt.Keyer, len(m.runs)), newSender(m.opt, spans)
	for rank := 0; rank < len(m.order); rank++ {
		if m.opt.Limit >= 0 && cutter.records >= m.opt.Limit {
			return nil
		}
		if rank > 0 && rank%m.share.spanBlocks == 0 {
			p := m.order[rank]
			if err := workers.send(ctx, cutter.cut(keyOf(m.runs, p), int(p.run))); err != nil {
				return err
			}
		}
		b, err := m.await(ctx, rank, early)
		if err != nil {
			return err
		}
		cutter.add(b)
	}
	return workers.send(ctx, cutter.rest())
}

// await returns the block of that rank.
func (m *merging) await(ctx context.Context, rank int, early map[int]*block) (*block, error) {
	for early[rank] == nil {
		select {
		case a := <-m.loaded:
			early[a.rank] = a.block
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
	b := early[rank]
	delete(early, rank)
	return b, nil
}
