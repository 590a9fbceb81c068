package merge

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/extsort/extsort/chunker/input"
	"github.com/extsort/extsort/chunker/plan"
	"github.com/extsort/extsort/device"
)

// streamBuffers is how many buffers each input of Streams has: one that is merged, one to go on with, one that is
// read into.
const streamBuffers = 3

// Streams merges inputs that can only be read from beginning to end: pipes, and compressed files. Each delivers
// records without anything between them. It cuts spans as Merge does, only at other places: what is known of an
// input is not where its blocks begin but where the last one in memory ends, and the lowest of these ends is as
// far as the merge can go. All readers have been read to their ends when it succeeds without reaching a limit.
// A Read that is blocked is not interrupted by ctx; Streams then returns only when it ends.
func Streams(ctx context.Context, opt Options, inputs []io.Reader, w device.BlockWriter) (Stats, error) {
	opt, err := opt.withDefaults()
	if err != nil {
		return Stats{}, err
	}
	blockRecords, err := opt.streamBlock(len(inputs))
	if err != nil {
		return Stats{}, err
	}
	m := &streaming{opt: &opt, meter: &meters{began: time.Now()}, enough: make(chan struct{})}
	buffers, memory, err := newBuffers(opt.Keyer, len(inputs)*streamBuffers, blockRecords)
	if err != nil {
		return Stats{}, err
	}
	for i, r := range inputs {
		m.inputs = append(m.inputs, newFeed(i, r, buffers[i*streamBuffers:(i+1)*streamBuffers]))
	}
	err = m.run(ctx, w)
	return m.meter.stats(), errors.Join(err, memory.Free())
}

// streamBlock is how many records a block of an input can have, so that all buffers fit. Workers are given up
// before blocks become smaller than a few pages.
func (o *Options) streamBlock(inputs int) (int, error) {
	perRecord := plan.MergeBuffer(o.Keyer, 1)
	records := max(o.BlockBytes/o.recordSize(), 1)
	if o.MemoryBytes == 0 || inputs == 0 {
		return records, nil
	}
	fits := func() int64 {
		return (o.MemoryBytes - int64(o.Workers)*o.workerBytes()) / int64(inputs*streamBuffers) / perRecord
	}
	for o.Workers > 1 && fits()*perRecord < 64<<10 {
		o.Workers--
	}
	if fits() < 1 {
		return 0, fmt.Errorf("merge: %d inputs with records of %d bytes need %d bytes of memory, there are %d",
			inputs, o.recordSize(), int64(inputs*streamBuffers)*perRecord+o.workerBytes(), o.MemoryBytes)
	}
	return int(min(int64(records), fits())), nil
}

type streaming struct {
	opt    *Options
	inputs []*feed
	enough chan struct{} // closed when no more blocks are needed
	meter  *meters
}

// feed is one input and what is in memory of it that has not been merged.
type feed struct {
	input  int
	r      io.Reader
	free   chan *buffer
	blocks chan coming // in the order of the input
	sent   int64       // records that went into blocks
	ended  bool        // all of it is in memory or merged
}

// coming is a block whose keys may be on their way to it yet.
type coming struct {
	*block
	filled chan struct{} // closed when they are there; nil: they are
}

func (c coming) wait() {
	if c.filled != nil {
		<-c.filled
	}
}

func newFeed(input int, r io.Reader, buffers []*buffer) *feed {
	f := &feed{input: input, r: r, free: make(chan *buffer, len(buffers)), blocks: make(chan coming, len(buffers))}
	for _, b := range buffers {
		f.free <- b
	}
	return f
}

func (m *streaming) run(ctx context.Context, w device.BlockWriter) error {
	group, ctx := errgroup.WithContext(ctx)
	for _, f := range m.inputs {
		group.Go(func() error {
			defer close(f.blocks)
			return m.read(ctx, f)
		})
	}
	m.start(ctx, group, w)
	return group.Wait()
}

// start lets the dispatcher and the workers merge what comes.
func (m *streaming) start(ctx context.Context, group *errgroup.Group, w device.BlockWriter) {
	spans := make(chan *span)
	group.Go(func() error {
		defer close(spans)
		defer close(m.enough)
		return m.dispatch(ctx, spans)
	})
	startWorkers(ctx, group, m.opt.Workers, m.opt, spans, w, m.meter)
}

// read reads f to its end, as far ahead as it has buffers.
func (m *streaming) read(ctx context.Context, f *feed) error {
	last := make([]byte, 0, m.opt.recordSize()) // the record before the block
	for {
		var buf *buffer
		select {
		case buf = <-f.free:
		case <-m.enough:
			return nil
		case <-ctx.Done():
			return context.Cause(ctx)
		}
		b, err := m.readBlock(f, buf)
		if b == nil || err != nil {
			return err
		}
		if m.opt.CheckOrder {
			if err := m.check(b, last); err != nil {
				return err
			}
			last = append(last[:0], b.recs[len(b.recs)-m.opt.recordSize():]...)
		}
		f.sent += int64(len(b.keys))
		f.blocks <- coming{block: b}
	}
}

// readBlock reads the next block of f, nil at its end.
func (m *streaming) readBlock(f *feed, buf *buffer) (*block, error) {
	size := m.opt.recordSize()
	began := time.Now()
	n, err := input.ReadFull(f.r, buf.recs)
	m.meter.read.Add(int64(time.Since(began)))
	m.meter.bytes.Add(int64(n))
	switch {
	case err == io.EOF && n == 0:
		return nil, nil
	case err != nil && err != io.EOF:
		return nil, err // which says where
	case n%size != 0:
		return nil, fmt.Errorf("merge: input %d ends at byte %d with %d bytes of a record of %d bytes",
			f.input+1, f.sent*int64(size)+int64(n), n%size, size)
	}
	b := newBlock(f.input, f.sent, buf, f.free)
	b.fill(m.opt.Keyer, buf.recs[:n])
	return b, nil
}

// check makes sure that b is in order and follows last, if there is a record before it.
func (m *streaming) check(b *block, last []byte) error {
	if len(last) > 0 && m.opt.Keyer.Compare(last, b.recs[:len(last)]) > 0 {
		return &DisorderError{Input: b.input, Record: b.first}
	}
	if i := disorder(m.opt.Keyer, b.keys, b.recs); i >= 0 {
		return &DisorderError{Input: b.input, Record: b.first + int64(i)}
	}
	return nil
}

// dispatch cuts a span whenever a block of every input that has not ended is in memory.
func (m *streaming) dispatch(ctx context.Context, spans chan<- *span) error {
	cutter, workers := newCutter(m.opt.Keyer, len(m.inputs)), newSender(m.opt, spans)
	for {
		if err := m.await(ctx, cutter); err != nil {
			return err
		}
		input, key := m.lowestEnd(cutter)
		if input < 0 {
			return workers.send(ctx, cutter.rest())
		}
		if err := workers.send(ctx, cutter.cut(key, input)); err != nil {
			return err
		}
		if m.opt.Limit >= 0 && cutter.records >= m.opt.Limit {
			return nil
		}
	}
}

// await gets a block of every input that has none in memory and has not ended.
func (m *streaming) await(ctx context.Context, c *cutter) error {
	for i, f := range m.inputs {
		if f.ended || len(c.queues[i].blocks) > 0 {
			continue
		}
		select {
		case b, ok := <-f.blocks:
			if f.ended = !ok; ok {
				b.wait()
				c.add(b.block)
			}
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
	return context.Cause(ctx) // an input that failed has closed its channel too
}

// lowestEnd finds, among the inputs that have not ended, the one whose last record in memory is the first in the
// order, and the key of that record. Without such an input, input is negative.
func (m *streaming) lowestEnd(c *cutter) (input int, key []byte) {
	input = -1
	size := m.opt.recordSize()
	var stack [64]byte
	for i, f := range m.inputs {
		if f.ended {
			continue
		}
		recs := c.queues[i].blocks[0].recs
		end := m.opt.Keyer.Append(stack[:0], recs[len(recs)-size:])
		if input < 0 || bytes.Compare(end, key) < 0 {
			input, key = i, append(key[:0], end...)
		}
	}
	return input, key
}
