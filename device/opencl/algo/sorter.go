//go:build opencl && cgo && linux

package algo

import (
	"sync"

	"github.com/extsort/extsort/device/opencl/cl"
)

// Sorter is one algorithm on one device. Its methods may be called by several goroutines; the commands go to the
// queue given.
type Sorter struct {
	ctx   *cl.Context
	p     Params
	build func(b *builder, p Params) engine
	trace func(kernel string, e *cl.Event)

	mu      sync.Mutex
	engines map[variant]built
	spaces  map[*cl.Queue]*space
}

// engine is an algorithm's kernels for one variant.
type engine interface {
	// sort queues the commands that sort r.d; errors stick to r.
	sort(r *run, fromBit, toBit int)
}

type built struct {
	engine
	builder *builder
}

// Build builds the kernels for such data, which Sort else does at its first use.
func (s *Sorter) Build(d *Data) error {
	_, err := s.engine(variantOf(d, s.p.Wide))
	return err
}

// Sort orders d stably by the bits fromBit ≤ b < toBit of the key, all others ignored. It may return before the
// device is done: q's next command sees the result.
func (s *Sorter) Sort(q *cl.Queue, d *Data, fromBit, toBit int) error {
	if err := d.check(fromBit, toBit); err != nil {
		return err
	}
	if d.N < 2 || fromBit == toBit {
		return nil
	}
	v := variantOf(d, s.p.Wide)
	e, err := s.engine(v)
	if err != nil {
		return err
	}
	r := &run{ctx: s.ctx, q: q, d: d, v: v, space: s.space(q), trace: s.trace}
	r.space.mu.Lock()
	defer r.space.mu.Unlock()
	e.sort(r, fromBit, toBit)
	return r.err
}

// engine builds the kernels for a variant at its first use.
func (s *Sorter) engine(v variant) (engine, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if e, ok := s.engines[v]; ok {
		return e.engine, nil
	}
	b := &builder{ctx: s.ctx, v: v}
	e := s.build(b, s.p)
	if b.err != nil {
		b.release()
		return nil, b.err
	}
	s.engines[v] = built{e, b}
	return e, nil
}

// space is the scratch memory for a queue.
func (s *Sorter) space(q *cl.Queue) *space {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.spaces[q] == nil {
		s.spaces[q] = &space{buffers: map[string]*cl.Buffer{}}
	}
	return s.spaces[q]
}

// Trace has f told of every kernel that is launched from now on, by name and event, so that a sort can be timed by the
// device's clock; nil ends that. REQUIRES: s is not sorting.
func (s *Sorter) Trace(f func(kernel string, e *cl.Event)) { s.trace = f }

// Close gives kernels and scratch memory back.
func (s *Sorter) Close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, e := range s.engines {
		e.builder.release()
	}
	for _, space := range s.spaces {
		for _, b := range space.buffers {
			b.Release()
		}
	}
	clear(s.engines)
	clear(s.spaces)
}
