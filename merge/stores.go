package merge

import (
	"context"
	"errors"
	"fmt"
	"time"

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
func Stores(ctx context.Context, opt Options, inputs []Stored, w device.BlockWriter) (Stats, error) {
	opt, err := opt.withDefaults()
	if err != nil {
		return Stats{}, err
	}
	words := 0 // of the keys of a block
	for _, in := range inputs {
		if !isNative(opt.Keyer) {
			words = max(words, in.BlockBytes/opt.recordSize())
		}
	}
	each, err := opt.keyBuffers(len(inputs), 8*int64(words))
	if err != nil {
		return Stats{}, err
	}
	memory, err := arena.Alloc(len(inputs) * each * 8 * words)
	if err != nil {
		return Stats{}, fmt.Errorf("merge: %w", err)
	}
	m := &storing{
		streaming: streaming{opt: &opt, meter: &meters{began: time.Now()}, enough: make(chan struct{})},
		settled:   make(chan struct{}),
	}
	for i, in := range inputs {
		own := memory.Bytes()[i*each*8*words : (i+1)*each*8*words]
		m.inlets = append(m.inlets, m.newInlet(i, in.Records, cutKeys(own, each, words)))
	}
	err = m.run(ctx, inputs, w)
	return m.meter.stats(), errors.Join(err, memory.Free())
}

// keyBuffers is how many buffers for the keys of a block, of so many bytes, each input gets: what the workers can put
// to use. Workers are given up before an input has fewer than one of Streams has.
func (o *Options) keyBuffers(inputs int, bytes int64) (int, error) {
	want := streamBuffers + 2*o.Workers/max(inputs, 1)
	if o.MemoryBytes == 0 || inputs == 0 {
		return want, nil
	}
	fits := func() int64 {
		return (o.MemoryBytes - int64(o.Workers)*o.workerBytes()) / (int64(inputs) * max(bytes, 1))
	}
	for o.Workers > 1 && fits() < streamBuffers {
		o.Workers--
	}
	if fits() < 1 {
		return 0, fmt.Errorf("merge: %d inputs with blocks of %d keys need %d bytes of memory, there are %d",
			inputs, bytes/8, int64(inputs)*bytes+o.workerBytes(), o.MemoryBytes)
	}
	return int(min(int64(want), fits())), nil
}

// cutKeys makes n buffers of so many keys each.
func cutKeys(memory []byte, n, keys int) []*buffer {
	list := make([]*buffer, n)
	for i := range list {
		list[i] = &buffer{keys: words(memory)[i*keys : (i+1)*keys]}
	}
	return list
}

// storing is a merge of inputs that write themselves.
type storing struct {
	streaming
	inlets  []*inlet
	settled chan struct{} // closed when nobody reads blocks any more
}

// inlet is the BlockWriter that an input writes itself to: the end of a feed that is open to the outside.
type inlet struct {
	*feed
	merge   *storing
	records int64        // that are to come
	turns   output.Turns // of blocks, in the order of the input
}

func (m *storing) newInlet(input int, records int64, buffers []*buffer) *inlet {
	in := &inlet{feed: newFeed(input, nil, buffers), merge: m, records: records}
	m.inputs = append(m.inputs, in.feed)
	if records == 0 {
		close(in.blocks)
	}
	return in
}

// errEnough ends the writing of an input of which no more is needed.
var errEnough = errors.New("no more records are needed")

func (m *storing) run(ctx context.Context, inputs []Stored, w device.BlockWriter) error {
	group, groupCtx := errgroup.WithContext(ctx)
	for i, in := range inputs {
		group.Go(func() error { return m.store(groupCtx, in, m.inlets[i]) })
	}
	group.Go(func() error {
		defer close(m.settled)
		merging, mergeCtx := errgroup.WithContext(groupCtx)
		m.start(mergeCtx, merging, w)
		return merging.Wait()
	})
	return group.Wait()
}

// store lets an input write itself.
func (m *storing) store(ctx context.Context, in Stored, to *inlet) error {
	if in.Records == 0 {
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

// WriteBlock has a block merged.
func (in *inlet) WriteBlock(ctx context.Context, first int64, recs []byte) error {
	m := in.merge
	done := make(chan *buffer, 1)
	b := coming{newBlock(in.input, first, nil, done), make(chan struct{})}
	if err := in.turns.Wait(ctx, first); err != nil {
		return err
	}
	err := in.send(ctx, b, recs)
	in.turns.Pass(in.sent, err)
	if err != nil {
		return err
	}
	b.fill(m.opt.Keyer, recs)
	close(b.filled)
	m.meter.bytes.Add(int64(len(recs)))
	return in.await(done)
}

// await waits until a block has been merged and frees the memory of its keys. It does not end with a context: some
// worker may still be reading the block.
func (in *inlet) await(done <-chan *buffer) error {
	select {
	case buf := <-done:
		in.free <- buf
		return nil
	case <-in.merge.settled:
		return errEnough
	}
}

// send announces a block, in its turn, as soon as there is memory for its keys.
func (in *inlet) send(ctx context.Context, b coming, recs []byte) error {
	n := int64(len(recs) / in.merge.opt.recordSize())
	if in.sent+n > in.records {
		return fmt.Errorf("merge: input %d has more than the %d records it was said to have", in.input+1, in.records)
	}
	select {
	case b.buf = <-in.free:
	case <-in.merge.settled:
		return errEnough
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	in.blocks <- b // has room for as many as there are buffers
	if in.sent += n; in.sent == in.records {
		close(in.blocks)
	}
	return nil
}
