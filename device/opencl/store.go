//go:build opencl && cgo && linux

package opencl

import (
	"context"
	"fmt"
	"math/bits"

	"github.com/extsort/extsort/device"
	"github.com/extsort/extsort/device/opencl/cl"
	"github.com/extsort/extsort/internal/safely"
)

func (c *chunk) Store(
	ctx context.Context,
	limit int64,
	_ bool,
	w device.BlockWriter,
) error {
	if c.session == nil {
		return errClosed
	}
	total := c.records
	if limit >= 0 {
		total = min(total, limit)
	}
	s := &storer{
		chunk:  c,
		writer: w,
		pieces: make(chan piece, cap(c.ring.free)),
	}
	if err := s.run(ctx, total); err != nil {
		return fmt.Errorf(
			"store %d records from %s: %w", total, c.device.dev.Name, err,
		)
	}
	return nil
}

// A piece consists of consecutive sorted records on their way to the host, in a slot.
type piece struct {
	first int64
	n     int
	slot  *slot
}

// storer is the state that the issuer and the writers of one Store share. The issuer queues
// downloads in order, as far ahead as there are slots. Each writer takes the next piece, waits
// for its download and passes it to the BlockWriter. Downloads end in order, so all earlier
// pieces have arrived, too.
type storer struct {
	chunk  *chunk
	writer device.BlockWriter
	pieces chan piece

	gathered      int               // number of pieces
	lastDownloads [stages]*cl.Event // the last download from each stage
}

func (s *storer) run(ctx context.Context, total int64) error {
	group, ctx := safely.WithContext(ctx)
	group.Go(func() error {
		defer close(s.pieces)
		return s.queueDownloads(ctx, total)
	})
	for range s.chunk.opt.Workers {
		group.Go(func() error { return s.write(ctx) })
	}
	err := group.Wait()
	if err != nil {
		s.chunk.waitUntilIdle()
	}
	for p := range s.pieces { // that remain after an error
		s.chunk.ring.returnSlot(p.slot)
	}
	return err
}

func (s *storer) queueDownloads(ctx context.Context, total int64) error {
	c := s.chunk
	step := s.recordsPerBlock()
	for first := int64(0); first < total; first += int64(step) {
		slot, err := c.ring.takeSlot(ctx)
		if err != nil {
			return err
		}
		p := piece{
			first: first,
			n:     int(min(int64(step), total-first)),
			slot:  slot,
		}
		if slot.lastTransfer, err = s.download(p); err != nil {
			c.ring.returnSlot(slot)
			return err
		}
		s.pieces <- p // never blocks, because the channel has room for all slots
	}
	return nil
}

func (s *storer) write(ctx context.Context) error {
	for p := range s.pieces {
		err := cl.Wait(p.slot.lastTransfer)
		p.slot.lastTransfer = nil
		if err == nil {
			err = s.writer.WriteBlock(
				ctx,
				p.first,
				p.slot.Bytes[:p.n*s.chunk.shape.recordBytes],
			)
		}
		s.chunk.ring.returnSlot(p.slot)
		if err != nil {
			return err
		}
	}
	return nil
}

// recordsPerBlock returns how many records fit a slot, a stage and a block.
func (s *storer) recordsPerBlock() int {
	c := s.chunk
	bytes := c.ring.slotBytes
	if !c.shape.isBare {
		bytes = min(bytes, int(c.memory.stage[0].Bytes))
	}
	if c.opt.BlockBytes > 0 {
		bytes = min(bytes, c.opt.BlockBytes)
	}
	return max(bytes/c.shape.recordBytes, 1)
}

func (s *storer) download(p piece) (ready *cl.Event, err error) {
	c := s.chunk
	size := c.shape.recordBytes
	if c.shape.isBare {
		ready, err = c.session.download.Read(
			p.slot.Pinned,
			c.out,
			p.first*int64(size),
			p.n*size,
		)
	} else {
		ready, err = s.gather(p, size)
	}
	if err != nil {
		return nil, err
	}
	return ready, c.session.download.Flush()
}

// gather starts to gather the records of a piece into a stage on the device. The stage can be
// reused after its download.
func (s *storer) gather(p piece, size int) (*cl.Event, error) {
	c := s.chunk
	at := s.gathered % stages
	// Bytes of the largest vector that divides a record.
	unit := min(16, 1<<bits.TrailingZeros(uint(size)))
	s.gathered++
	args := c.memory.pointers(
		uint32(size/unit),
		c.memory.data.Values,
		uint64(p.first),
		uint32(p.n),
		c.memory.stage[at],
	)
	gathered, err := c.launchOver(
		c.session.gather,
		fmt.Sprint("gather", unit),
		p.n*size/unit,
		args,
		s.lastDownloads[at],
	)
	if err == nil {
		err = c.session.gather.Flush()
	}
	if err != nil {
		return nil, err
	}
	s.lastDownloads[at], err = c.session.download.Read(
		p.slot.Pinned,
		c.memory.stage[at],
		0,
		p.n*size,
		gathered,
	)
	return s.lastDownloads[at], err
}
