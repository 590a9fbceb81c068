//go:build opencl && cgo && linux

package opencl

import (
	"cmp"
	"context"
	"fmt"
	"sync"

	"github.com/extsort/extsort/device"
	"github.com/extsort/extsort/device/opencl/algo"
	"github.com/extsort/extsort/device/opencl/cl"
)

func (c *chunk) Load(ctx context.Context, src device.Source) (int64, error) {
	if err := c.prepareMemory(); err != nil {
		return 0, fmt.Errorf(
			"load a chunk of %d records to %s: %w",
			c.opt.Records,
			c.device.dev.Name,
			err,
		)
	}
	c.records, c.stats = 0, device.Stats{Algorithm: cmp.Or(
		c.opt.Algorithm, algo.Names()[0],
	)}
	l := &loader{
		chunk:     c,
		src:       src,
		unclaimed: c.opt.Records,
	}
	if err := l.run(ctx); err != nil {
		c.waitUntilIdle()
		return 0, fmt.Errorf("load a chunk to %s: %w", c.device.dev.Name, err)
	}
	c.records = l.loaded
	c.stats.Records = l.loaded
	return l.loaded, nil
}

// loader is the state that the readers of one Load share.
type loader struct {
	chunk *chunk
	src   device.Source

	mu                   sync.Mutex
	unclaimed            int64 // free room in the chunk, in records, not claimed by any reader
	loaded               int64
	firstIndex, endIndex int64     // source indexes of the chunk's first record and after the last one seen
	lastUpload           *cl.Event // last upload
}

// run loads one slot first, to learn the source index of the chunk's first record. Then all
// readers load concurrently.
func (l *loader) run(ctx context.Context) error {
	if n, err := l.loadSlot(ctx); n == 0 || err != nil {
		return err
	}
	err := device.Each(ctx, min(
		l.chunk.opt.Workers, cap(l.chunk.ring.free),
	), func(ctx context.Context, _ int) error {
		for {
			if n, err := l.loadSlot(ctx); n == 0 || err != nil {
				return err
			}
		}
	})
	if err != nil {
		return err
	}
	if l.loaded != l.endIndex-l.firstIndex {
		return fmt.Errorf(
			"the source left out records: %d came, numbered %d to %d",
			l.loaded,
			l.firstIndex,
			l.endIndex-1,
		)
	}
	return cl.Wait(l.lastUpload)
}

// loadSlot moves the records of one slot from the source to the device and returns their number.
func (l *loader) loadSlot(ctx context.Context) (int, error) {
	s, err := l.chunk.ring.takeSlot(ctx)
	if err != nil {
		return 0, err
	}
	defer l.chunk.ring.returnSlot(s)
	size := l.chunk.shape.recordBytes
	most := l.claimRoom(len(s.Bytes) / size)
	if most == 0 {
		return 0, nil
	}
	first, n, err := l.src.Next(most, func(_ int64, n int) []byte {
		return s.Bytes[:n*size]
	})
	l.claimRoom(n - most)
	if n == 0 || err != nil {
		return 0, err
	}
	return n, l.upload(s, first, n)
}

// claimRoom reserves room for up to most records and returns how many. A negative number frees
// room again.
func (l *loader) claimRoom(most int) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	n := min(int64(most), l.unclaimed)
	l.unclaimed -= n
	return int(n)
}

func (l *loader) upload(s *slot, first int64, n int) error {
	l.mu.Lock() // serializes uploads, so that last really is the last one
	defer l.mu.Unlock()
	if l.loaded == 0 {
		l.firstIndex = first
	}
	l.loaded = l.loaded + int64(n)
	l.endIndex = max(l.endIndex, first+int64(n))
	sent, err := l.chunk.queueUpload(s, first-l.firstIndex, n)
	s.lastTransfer = sent
	l.lastUpload = sent
	return err
}

// queueUpload starts the transfer of n records from a slot to their place, which may span
// segments. It returns the event of the last part.
func (c *chunk) queueUpload(
	s *slot,
	first int64,
	n int,
) (sent *cl.Event, err error) {
	m := &c.memory
	size := c.shape.recordBytes
	if c.shape.isBare {
		sent, err = c.session.upload.Write(
			c.rawKeys(),
			first*int64(size),
			s.Pinned,
			0,
			n*size,
		)
		n = 0
	}
	for from := 0; from < n && err == nil; {
		segment := first >> m.shift
		at := first & (1<<m.shift - 1)
		part := int(min(int64(n-from), 1<<m.shift-at))
		sent, err = c.session.upload.Write(
			m.segments[segment],
			at*int64(size),
			s.Pinned,
			from*size,
			part*size,
		)
		from += part
		first += int64(part)
	}
	if err != nil {
		return sent, err
	}
	return sent, c.session.upload.Flush()
}
