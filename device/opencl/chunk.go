//go:build opencl && cgo && linux

package opencl

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/extsort/extsort/device"
	"github.com/extsort/extsort/device/arena"
	"github.com/extsort/extsort/device/opencl/algo"
	"github.com/extsort/extsort/device/opencl/cl"
)

// chunk is the memory of one chunk and its queues. All is allocated when the chunk is first loaded.
type chunk struct {
	engine *engine
	opt    device.ChunkOptions
	shape  shape

	session              *session
	upload, gather, down *cl.Queue // to the device, kernels of Store, from the device; Sort uses the session's
	ring                 *ring
	memory               deviceMemory
	host                 *arena.Memory // records, where only keys travel

	starting chan struct{} // closed when the device is open, or cannot be opened
	kernels  chan built    // what prepare sends once
	ready    *built        // received from kernels

	records int64
	out     *cl.Buffer // bare: the sorted records
	stats   device.Stats
}

// built is the kernels that a chunk needs.
type built struct {
	program *program
	sorter  chooser
	err     error
}

var errClosed = errors.New("OpenCL chunk: used after Close")

func newChunk(e *engine, opt device.ChunkOptions) *chunk {
	c := &chunk{engine: e, opt: opt, shape: shapeFor(e.opt, opt, opt.Records, opt.MemoryBytes), starting: make(chan struct{})}
	go func() {
		defer close(c.starting)
		_, _ = e.start() // the driver takes 0.2 s: let the caller look for its files meanwhile
	}()
	return c
}

// begin makes the chunk's queues and memory at the first Load, and sets the building of kernels going.
func (c *chunk) begin() error {
	if c.session != nil {
		return nil
	}
	s, err := c.engine.start()
	if err != nil {
		return err
	}
	if err := c.allocate(s); err != nil {
		c.release()
		return err
	}
	c.session = s
	c.kernels = make(chan built, 1)
	go func() { c.kernels <- c.prepare(s) }()
	return nil
}

func (c *chunk) allocate(s *session) (err error) {
	for _, q := range []**cl.Queue{&c.upload, &c.gather, &c.down} {
		if *q, err = s.ctx.NewQueue(); err != nil {
			return err
		}
	}
	plan := stagingFor(c.shape, c.opt.MemoryBytes, workersOf(c.opt))
	c.ring = newRing(s.ctx, s.admin, plan)
	if c.host, err = arena.Alloc(int(c.opt.Records * c.shape.hostBytes())); err != nil {
		return err
	}
	dev, opt := c.engine.dev, c.engine.opt
	return c.memory.allocate(s, c.shape, c.opt.Records, allocFor(dev, opt), c.shape.stageBytes(memoryFor(dev, opt)))
}

// prepare builds the kernels while the first records are read.
func (c *chunk) prepare(s *session) built {
	var b built
	if c.shape.bare {
		b.program, b.err = s.bareProgram(c.shape.keyBytes)
	} else {
		b.program, b.err = s.recordsProgram(len(c.memory.segments), c.memory.shift)
	}
	if b.err != nil {
		return b
	}
	if c.opt.Algorithm != "" {
		_, b.err = s.sorter(c.opt.Algorithm, algo.Params{})
	}
	if b.sorter = (chooser{s, c.opt.Algorithm}); b.err == nil {
		b.err = s.warm(b.sorter, KeyKind{WordBytes: c.shape.wordWidth(), Values: !c.shape.bare}, c.opt.Records)
	}
	return b
}

// built waits for prepare.
func (c *chunk) built() (*built, error) {
	if c.ready == nil {
		b := <-c.kernels
		c.ready = &b
	}
	return c.ready, c.ready.err
}

// Sort implements device.Chunk.
func (c *chunk) Sort(ctx context.Context) error {
	if c.session == nil {
		return errClosed
	}
	started := time.Now()
	err := c.sortRecords(ctx)
	c.stats.Sort = time.Since(started).Seconds()
	if err != nil {
		return fmt.Errorf("sort %d records on %s: %w", c.records, c.engine.dev.Name, err)
	}
	return nil
}

func (c *chunk) sortRecords(ctx context.Context) error {
	b, err := c.built()
	if err != nil {
		return err
	}
	if c.records == 0 {
		return ctx.Err()
	}
	c.session.sorting.Lock()
	defer c.session.sorting.Unlock()
	if err := ctx.Err(); err != nil {
		return err
	}
	if err := c.timedSort(b); err != nil {
		_ = c.session.kernels.Finish() // before the buffers go
		return err
	}
	return nil
}

func (c *chunk) timedSort(b *built) error {
	timed, err := startTimer(c.session.kernels)
	if err != nil {
		return err
	}
	if c.shape.bare {
		err = c.sortBare(b)
	} else {
		err = c.sortByIndex(b)
	}
	if err != nil {
		return err
	}
	c.stats.Kernel, err = timed.stop()
	c.engine.noteSort(c, c.stats.Kernel)
	return err
}

// settle waits until the device has done with the chunk's memory, after an error: what it says is of no interest.
func (c *chunk) settle() {
	for _, q := range []*cl.Queue{c.upload, c.gather, c.down} {
		if q != nil {
			_ = q.Finish()
		}
	}
}

// Stats implements device.Chunk.
func (c *chunk) Stats() device.Stats { return c.stats }

// Close implements device.Chunk.
func (c *chunk) Close() error {
	<-c.starting
	if c.session != nil {
		_, _ = c.built()
		c.settle()
	}
	c.session = nil
	return c.release()
}

// release gives back what there is, in whatever state the chunk is.
func (c *chunk) release() error {
	c.memory.release()
	if c.ring != nil {
		c.ring.release()
		c.ring = nil
	}
	for _, q := range []**cl.Queue{&c.upload, &c.gather, &c.down} {
		if *q != nil {
			(*q).Release()
			*q = nil
		}
	}
	host := c.host
	c.host = nil
	return host.Free()
}

// timer measures the device's time between two points of a queue.
type timer struct {
	queue *cl.Queue
	from  *cl.Event
}

func startTimer(q *cl.Queue) (timer, error) {
	from, err := q.Marker()
	return timer{q, from}, err
}

// stop waits for the queue and returns the seconds since start.
func (t timer) stop() (float64, error) {
	to, err := t.queue.Marker()
	if err != nil {
		return 0, err
	}
	if err := cl.Wait(t.from, to); err != nil {
		return 0, err
	}
	_, start, err1 := t.from.Times()
	_, end, err2 := to.Times()
	if err1 != nil || err2 != nil {
		return 0, nil // a driver that does not time markers: no reason to fail
	}
	return (end - start).Seconds(), nil
}
