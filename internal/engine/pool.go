package engine

import (
	"context"
	"errors"
	"fmt"

	"github.com/extsort/extsort/chunker/plan"
	"github.com/extsort/extsort/device"
)

// A pool holds the chunks of all devices. Every user takes the next free chunk, so several
// devices share one sort. Chunks are created on first use.
type pool struct {
	options device.ChunkOptions
	free    chan *slot
	open    []*slot
}

// A slot holds one chunk.
type slot struct {
	device.Chunk // nil if not created yet
	device       device.Device
}

func newPool(r *Run, c *plan.Candidate) *pool {
	p := &pool{options: r.chunkOptions(c)}
	for i, d := range r.Devices {
		for range max(r.Plan.Sizes.SlotsOf(&r.Facts.Devices[i]), c.InFlight) {
			p.open = append(p.open, &slot{device: d})
		}
	}

	p.free = make(chan *slot, len(p.open))
	for _, s := range p.open {
		p.free <- s
	}
	return p
}

// chunkOptions returns the options for a candidate's chunks, which are no larger than the data
// require.
func (r *Run) chunkOptions(c *plan.Candidate) device.ChunkOptions {
	opt := device.ChunkOptions{
		Keyer:       r.Input.Keyer,
		BlockBytes:  r.Plan.Sizes.BlockBytes,
		Workers:     r.Plan.Sizes.Workers,
		Algorithm:   r.Facts.Request.Algorithm,
		Sample:      r.Facts.Sample.Prefixes,
		MemoryBytes: r.Plan.Sizes.ChunkBytes / int64(max(c.InFlight, 1)),
		Records:     c.ChunkRecords,
	}
	if n := r.Facts.Records; n >= 0 {
		opt.Records = min(opt.Records, n)
		if c.Strategy.Properties().Rereads || c.SelectedShare > 0 {
			opt.SourceRecords = n
		}
	}

	return opt
}

func (p *pool) get(ctx context.Context) (device.Chunk, error) {
	select {
	case s := <-p.free:
		if s.Chunk == nil {
			var err error
			if s.Chunk, err = s.device.NewChunk(ctx, p.options); err != nil {
				p.free <- s
				return nil, err
			}
		}
		return s, nil
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

func (p *pool) load(ctx context.Context, src device.Source) (device.Chunk, error) {
	chunk, err := p.get(ctx)
	if err != nil {
		return nil, err
	}
	n, err := chunk.Load(ctx, src)
	if due := src.Records(); err == nil && due >= 0 && n != due {
		err = fmt.Errorf("%d of the %d records of a chunk were loaded", n, due)
	}
	if err != nil {
		p.put(chunk)
		return nil, err
	}

	return chunk, nil
}

func (p *pool) put(c device.Chunk) { p.free <- c.(*slot) }

// closeFree frees the memory of the unused chunks; the next get creates them again. REQUIRES: no
// chunk is taken or returned in the meantime
func (p *pool) closeFree() error {
	var err error
	for range len(p.free) {
		s := <-p.free
		err = errors.Join(err, s.close())
		p.free <- s
	}
	return err
}

// close frees the memory of all chunks. REQUIRES: no chunk is in use
func (p *pool) close() error {
	var err error
	for _, s := range p.open {
		err = errors.Join(err, s.close())
	}
	return err
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
