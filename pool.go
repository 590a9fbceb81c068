package extsort

import (
	"context"
	"errors"

	"github.com/extsort/extsort/device"
)

// pool holds the chunks of all devices: whoever needs one takes the next that is free, so that several devices
// share one sort. Chunks are made at their first use.
type pool struct {
	job  *job
	free chan *slot
	open []*slot
}

// slot is the place of one chunk.
type slot struct {
	device.Chunk // nil: not made yet
	device       device.Device
}

func newPool(j *job) *pool {
	p := &pool{job: j}
	for _, d := range j.devices {
		for range slotsOf(d, j.slots) {
			p.open = append(p.open, &slot{device: d})
		}
	}
	p.free = make(chan *slot, len(p.open))
	for _, s := range p.open {
		p.free <- s
	}
	return p
}

// get waits for a free chunk.
func (p *pool) get(ctx context.Context) (device.Chunk, error) {
	select {
	case s := <-p.free:
		if s.Chunk == nil {
			if err := p.make(ctx, s); err != nil {
				p.free <- s
				return nil, err
			}
		}
		return s, nil
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

// make allocates the chunk of a slot, as large as the data need it.
func (p *pool) make(ctx context.Context, s *slot) (err error) {
	j := p.job
	opt := j.chunkOptions()
	opt.MemoryBytes, opt.Records = j.slotBytes(j.slots), j.capacity
	if n := j.data.Records(); n >= 0 {
		opt.Records = min(opt.Records, n)
	}
	s.Chunk, err = s.device.NewChunk(ctx, opt)
	return err
}

// put gives a chunk back.
func (p *pool) put(c device.Chunk) { p.free <- c.(*slot) }

// closeFree frees the memory of the chunks that nobody uses; the next get makes them anew. REQUIRES: nobody gets or puts
// a chunk meanwhile.
func (p *pool) closeFree() error {
	var errs []error
	for range len(p.free) {
		s := <-p.free
		errs = append(errs, s.close())
		p.free <- s
	}
	return errors.Join(errs...)
}

// close frees the memory of all chunks. REQUIRES: no chunk is used any more.
func (p *pool) close() error {
	var errs []error
	for _, s := range p.open {
		errs = append(errs, s.close())
	}
	return errors.Join(errs...)
}

// close frees the memory of the chunk, if there is one.
func (s *slot) close() error {
	if s.Chunk == nil {
		return nil
	}
	err := s.Chunk.Close()
	s.Chunk = nil
	return err
}
