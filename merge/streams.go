package merge

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/extsort/extsort/chunker/input"
	"github.com/extsort/extsort/device"
	"github.com/extsort/extsort/internal/safely"
	"github.com/extsort/extsort/merge/output"
)

// Streams merges inputs that can only be read sequentially, such as pipes and compressed files.
// Each input consists of records without separators.
//
// Streams cuts spans as Merge does, but at other splitters. It does not know where the blocks of
// an input begin. It knows only the last record in memory of each input, and the smallest of
// these is as far as the merge can go. If Streams succeeds without reaching a limit, it has read
// all inputs to their ends. Cancelling ctx does not interrupt a Read that blocks; Streams then
// returns only after that Read does. Options.Interrupt can end it; it is also called when the limit
// has been reached, because an input may wait for records that are no longer needed.
func Streams(
	ctx context.Context,
	opt Options,
	inputs []io.Reader,
	w device.BlockWriter,
) error {
	o := opt.inWholeRecords()
	blockRecords, err := o.streamBlock(len(inputs))
	if err != nil {
		return err
	}
	buffers, memory, err := newBuffers(
		o.Keyer,
		len(inputs)*streamBuffers,
		blockRecords,
	)
	if err != nil {
		return err
	}
	m := &streaming{
		opt:        o,
		blockBytes: blockRecords * o.recordSize(),
		enough:     make(chan struct{}),
	}
	group, ctx := safely.WithContext(ctx)
	defer safely.OnFailure(ctx, opt.Interrupt)()
	for i, r := range inputs {
		f := newFeed(i, buffers[i*streamBuffers:(i+1)*streamBuffers])
		m.inputs = append(m.inputs, f)
		group.Go(func() error {
			defer close(f.blocks)
			f.failed = safely.Call(func() error { return m.read(ctx, f, r) })
			return f.failed
		})
	}

	runWorkers(ctx, group, m.opt, len(inputs), m.advance, m.enough, w)
	if o.isLimited() && opt.Interrupt != nil {
		group.Go(func() error {
			select {
			case <-m.enough:
				opt.Interrupt(errEnough)
			case <-ctx.Done():
			}
			return nil
		})
	}
	return errors.Join(group.Wait(), memory.Free())
}

// streaming is a merge of inputs that deliver their blocks sequentially.
type streaming struct {
	opt        *Options
	inputs     []*feed
	blockBytes int
	enough     chan struct{} // closed when no more blocks are needed
}

// A feed is one input of a streaming merge with its buffers.
type feed struct {
	input       int
	free        chan []byte
	blocks      chan *block // in the order of the input
	sentRecords int64       // number of records sent in blocks
	failed      error       // why the input was not read to its end; set before blocks is closed
	ended       bool        // whether all blocks have been received
}

func newFeed(input int, buffers [][]byte) *feed {
	f := &feed{
		input:  input,
		free:   make(chan []byte, len(buffers)),
		blocks: make(chan *block, len(buffers)),
	}
	for _, b := range buffers {
		f.free <- b
	}
	return f
}

// read reads r to its end. It reads ahead as far as f has buffers.
func (m *streaming) read(ctx context.Context, f *feed, r io.Reader) error {
	last := make(
		[]byte,
		0,
		m.opt.recordSize(),
	) // the last record of the previous block
	for {
		buf, err := takeBuffer(ctx, f.free, m.enough)
		if buf == nil {
			return err
		}
		b, err := m.readBlock(f, r, buf)
		if errors.Is(err, errEnough) {
			return nil
		}
		if b == nil || err != nil {
			return err
		}
		if m.opt.CheckOrder {
			k := m.opt.Keyer
			if len(last) > 0 &&
				k.Compare(last, b.recs[:len(last)]) > 0 {
				return &DisorderError{b.input, b.first, k.Append(nil, b.recs), k.Append(nil, last)}
			}
			if err := b.checkOrder(m.opt.Keyer); err != nil {
				return err
			}
			last = append(last[:0], b.recs[len(b.recs)-m.opt.recordSize():]...)
		}

		f.sentRecords += int64(len(b.keys))
		f.blocks <- b
	}
}

// readBlock reads the next block of f. It returns nil at the end of the input.
func (m *streaming) readBlock(
	f *feed,
	r io.Reader,
	buf []byte,
) (*block, error) {
	size := m.opt.recordSize()
	n, err := input.ReadFull(r, buf[:m.blockBytes])
	switch {
	case err == io.EOF && n == 0:
		return nil, nil
	case err != nil && err != io.EOF:
		return nil, err // the error names the place
	case n%size != 0:
		return nil, fmt.Errorf(
			"merge: input %d ends at byte %d with %d bytes of a record of %d bytes", f.input+1,
			f.sentRecords*int64(size)+int64(n), n%size, size,
		)
	case m.opt.Seen != nil:
		m.opt.Seen(buf[:n])
	}

	return newBlock(m.opt.Keyer, f.input, f.sentRecords, buf[:n], buf, f.free), nil
}

// advance receives a block of every input that has none in memory and has not ended. The cutter
// can then cut at the lowest end.
func (m *streaming) advance(
	ctx context.Context, c *cutter,
) (key []byte, input int, err error) {
	for i, f := range m.inputs {
		if f.ended || len(c.queues[i]) > 0 {
			continue
		}
		b, err := f.receive(ctx)
		if err != nil {
			return nil, 0, err
		}
		if b != nil {
			c.addBlock(b)
		}
	}

	key, input = m.lowestEnd(c)
	return key, input, context.Cause(ctx)
}

// receive returns the next block of f. It returns nil at the end of the input.
func (f *feed) receive(ctx context.Context) (*block, error) {
	select {
	case b, ok := <-f.blocks:
		if ok {
			return b, nil
		}
		f.ended = true
		return nil, f.failed
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

// lowestEnd compares the last records in memory of all inputs that have not ended. It returns the
// smallest key and its input. If all inputs have ended, input is negative.
func (m *streaming) lowestEnd(c *cutter) (key []byte, input int) {
	input = -1
	size := m.opt.recordSize()
	var stack [64]byte

	for i, f := range m.inputs {
		if f.ended {
			continue
		}
		recs := c.queues[i][0].recs
		end := m.opt.Keyer.Append(stack[:0], recs[len(recs)-size:])
		if input < 0 || bytes.Compare(end, key) < 0 {
			input = i
			key = append(key[:0], end...)
		}
	}

	return key, input
}

// A Stored is a sorted input that writes itself, such as a sorted chunk in the memory of a
// device.
type Stored func(ctx context.Context, w device.BlockWriter) error

// errEnough ends the writing of an input when no more of its records are needed.
var errEnough = errors.New("no more records are needed")

// Stores merges inputs that write themselves. All of them write concurrently, each to its own
// pipe. When the merge reaches a limit, further writes fail with an error; an input that returns
// this error ends without failing the merge.
func Stores(
	ctx context.Context,
	opt Options,
	inputs []Stored,
	w device.BlockWriter,
) error {
	group, ctx := safely.WithContext(ctx)
	readers := make([]io.Reader, len(inputs))
	for i, store := range inputs {
		from, to := io.Pipe()
		readers[i] = from
		group.Go(func() error {
			// A panic must close the pipe as well: Streams would wait for the input for ever.
			err := safely.Call(func() error {
				return store(ctx, output.NewStreamSink(to, opt.Keyer.Layout().RecordSize))
			})
			to.CloseWithError(err) // nil signals the end of the input
			if errors.Is(err, errEnough) {
				return nil
			}
			return err
		})
	}

	group.Go(func() error {
		err := safely.Call(func() error { return Streams(ctx, opt, readers, w) })
		for _, r := range readers {
			r.(*io.PipeReader).CloseWithError(errEnough)
		}
		return err
	})
	return group.Wait()
}
