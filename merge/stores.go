package merge

import (
	"context"
	"errors"
	"fmt"

	"github.com/extsort/extsort/device"
	"github.com/extsort/extsort/device/arena"
	"github.com/extsort/extsort/merge/output"
	"golang.org/x/sync/errgroup"
)

// Stored is a sorted input that writes itself, such as a sorted chunk in the memory of a device.
type Stored struct {
	Records    int64
	BlockBytes int // of the largest block that Store writes
	Store      func(ctx context.Context, w device.BlockWriter) error
}

// Stores merges inputs that write themselves. All Store at the same time, and each block is merged from where it
// lies: WriteBlock returns when nobody needs it any more. So the memory of the blocks is their writers', whose number
// decides how far ahead of the merge an input can be. Spans are cut as Streams cuts them. When a limit is reached,
// WriteBlock and what passes its error on end early.
func Stores(ctx context.Context, opt Options, inputs []Stored, w device.BlockWriter) error {
	opt, err := opt.withDefaults()
	if err != nil {
		return err
	}
	keys := 0 // in a buffer
	for _, in := range inputs {
		if !isNative(opt.Keyer) {
			keys = max(keys, in.BlockBytes/opt.recordSize())
		}
	}
	each, err := opt.keyBuffers(len(inputs), 8*int64(keys))
	if err != nil {
		return err
	}
	memory, err := arena.Alloc(len(inputs) * each * 8 * keys)
	if err != nil {
		return fmt.Errorf("merge: %w", err)
	}
	m := &storing{streaming: newStreaming(&opt), settled: make(chan struct{})}
	buffers := make([]*buffer, len(inputs)*each)
	for i := range buffers {
		buffers[i] = &buffer{keys: words(memory.Bytes())[i*keys : (i+1)*keys]}
	}
	for i := range inputs {
		m.inputs = append(m.inputs, newFeed(i, buffers[i*each:(i+1)*each]))
	}
	return errors.Join(m.run(ctx, inputs, w), memory.Free())
}

// storing is a merge of inputs that write themselves.
type storing struct {
	streaming
	settled chan struct{} // closed when nobody reads blocks any more
}

// errEnough ends the writing of an input of which no more is needed.
var errEnough = errors.New("no more records are needed")

func (m *storing) run(ctx context.Context, inputs []Stored, w device.BlockWriter) error {
	group, groupCtx := errgroup.WithContext(ctx)
	for i, in := range inputs {
		to := &inlet{feed: m.inputs[i], merge: m, records: in.Records}
		group.Go(func() error { return m.store(groupCtx, in, to) })
	}
	group.Go(func() error {
		defer close(m.settled)
		merging, mergeCtx := errgroup.WithContext(groupCtx)
		start(mergeCtx, merging, m.opt, m.dispatch, m.enough, w)
		return merging.Wait()
	})
	return group.Wait()
}

// store lets an input write itself.
func (m *storing) store(ctx context.Context, in Stored, to *inlet) error {
	if in.Records == 0 {
		close(to.blocks)
		return nil
	}
	err := in.Store(ctx, to)
	switch {
	case errors.Is(err, errEnough):
		return nil
	case err != nil:
		return err
	case to.sent < in.Records:
		return fmt.Errorf("merge: input %d ended at record %d of %d", to.input+1, to.sent, in.Records)
	}
	return nil
}

// inlet is the BlockWriter that an input writes itself to: the end of a feed that is open to the outside.
type inlet struct {
	*feed
	merge   *storing
	records int64        // that are to come
	turns   output.Turns // of blocks, in the order of the input
}

// WriteBlock has a block merged.
func (in *inlet) WriteBlock(ctx context.Context, first int64, recs []byte) error {
	done := make(chan *buffer, 1)
	b := newBlock(in.input, first, nil, done)
	b.filled = make(chan struct{})
	if err := in.turns.Wait(ctx, first); err != nil {
		return err
	}
	err := in.send(ctx, b, recs)
	in.turns.Pass(in.sent, err)
	if err != nil {
		return err
	}
	b.fill(in.merge.opt.Keyer, recs)
	close(b.filled)
	select { // not ctx.Done: some worker may still be reading the block
	case buf := <-done:
		in.free <- buf
		return nil
	case <-in.merge.settled:
		return errEnough
	}
}

// send announces a block, in its turn, as soon as there is memory for its keys.
func (in *inlet) send(ctx context.Context, b *block, recs []byte) (err error) {
	n := int64(len(recs) / in.merge.opt.recordSize())
	if in.sent+n > in.records {
		return fmt.Errorf("merge: input %d has more than the %d records it was said to have", in.input+1, in.records)
	}
	if b.buf, err = takeBuffer(ctx, in.free, in.merge.settled); err != nil {
		return err
	}
	if b.buf == nil {
		return errEnough
	}
	in.blocks <- b // has room for as many as there are buffers
	if in.sent += n; in.sent == in.records {
		close(in.blocks)
	}
	return nil
}
