//go:build opencl && cgo && linux

package opencl

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/extsort/extsort/device"
	"github.com/extsort/extsort/device/opencl/cl"
	"github.com/extsort/extsort/internal/safely"
)

// chunk is the memory of one chunk. The first Load allocates it.
type chunk struct {
	device.Plain
	device *openDevice
	opt    device.ChunkOptions
	shape  shape

	session *session
	ring    *ring
	memory  deviceMemory
	program func() (*cl.Program, error)

	records int64
	out     *cl.Buffer // for bare keys, the sorted records
	stats   device.Stats
}

var errClosed = errors.New("OpenCL chunk: used after Close")

// prepareMemory allocates the chunk's memory at the first Load and starts building kernels.
func (c *chunk) prepareMemory() error {
	if c.session != nil {
		return nil
	}
	s, err := c.device.start()
	if err == nil {
		err = c.allocate(s)
	}
	if err != nil {
		c.release()
		return err
	}
	c.session = s
	c.program = sync.OnceValues(c.prepare)
	go func() { // concurrently with reading the first records
		_ = safely.Call(func() error {
			_, err := c.program()
			return err // everything that needs the kernels returns the same error
		})
	}()
	return nil
}

func (c *chunk) allocate(s *session) error {
	slotSize, slots := stagingFor(
		c.shape,
		c.device.stagingBytes(c.opt.MemoryBytes),
		c.opt.Workers,
	)
	c.ring = newRing(s, slotSize, slots)
	stage := c.shape.stageBytes(c.device.usableBytes(c.opt.MemoryBytes))
	return c.memory.allocate(
		s,
		c.shape,
		c.opt.Records,
		c.device.dev.MaxAllocBytes,
		stage,
	)
}

func (c *chunk) Sort(ctx context.Context) error {
	if c.session == nil {
		return errClosed
	}
	if err := c.sortRecords(ctx); err != nil {
		return fmt.Errorf(
			"sort %d records on %s: %w", c.records, c.device.dev.Name, err,
		)
	}
	return nil
}

func (c *chunk) sortRecords(ctx context.Context) error {
	if _, err := c.program(); err != nil || c.records == 0 {
		return errors.Join(err, context.Cause(ctx))
	}
	c.session.sorting.Lock()
	defer c.session.sorting.Unlock()
	if err := context.Cause(ctx); err != nil {
		return err
	}
	sort := c.sortByIndex
	if c.shape.isBare {
		sort = c.sortBare
	}
	err := sort()
	if err == nil {
		err = c.session.kernels.Wait()
	}
	if err != nil {
		_ = c.session.kernels.Finish() // the device must not use the buffers any more
	}
	return err
}

// waitUntilIdle waits after an error until the device no longer uses the chunk's memory. It ignores
// further errors.
func (c *chunk) waitUntilIdle() {
	for _, q := range []*cl.Queue{c.session.upload, c.session.gather, c.session.download} {
		_ = q.Finish()
	}
}

func (c *chunk) Stats() device.Stats { return c.stats }

func (c *chunk) Close() error {
	_, _ = c.device.start()
	if c.session != nil {
		_, _ = c.program()
		c.waitUntilIdle()
	}
	c.session = nil
	c.release()
	return nil
}

// release frees the memory of the chunk, in any state.
func (c *chunk) release() {
	c.memory.release()
	c.memory = deviceMemory{}
	c.ring.release()
	c.ring = nil
}
