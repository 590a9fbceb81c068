//go:build opencl && cgo && linux

package algo

import (
	"fmt"
	"sync"

	"github.com/extsort/extsort/device/opencl/cl"
)

// selection is Bainville's sort in one launch, selection.cl or selection_blocks.cl.
type selection struct {
	ctx      *cl.Context
	file     string
	geometry geometry
	defines  cl.Defines
	wide     bool
	trace    func(kernel string, e *cl.Event)

	mu      sync.Mutex
	engines map[variant]*selectionEngine
}

// selectionEngine is the kernel for one variant.
type selectionEngine struct {
	builder *builder
	kernel  *cl.Kernel
}

func newSelection(ctx *cl.Context, dev *cl.Device, p Params) (Sorter, error) {
	return makeSelection(ctx, dev, p, "selection", nil)
}

func newSelectionBlocks(ctx *cl.Context, dev *cl.Device, p Params) (Sorter, error) {
	factor := 8
	override(&factor, p.BlockFactor)
	if factor < 1 || factor > 32 {
		return nil, fmt.Errorf("selection-blocks: block factor %d: use 1 to 32", factor)
	}
	return makeSelection(ctx, dev, p, "selection_blocks", cl.Defines{"BLOCK_FACTOR": factor})
}

func makeSelection(ctx *cl.Context, dev *cl.Device, p Params, file string, defines cl.Defines) (Sorter, error) {
	g := geometry{groupSize: min(64, dev.MaxGroup), items: 1, digitBits: 1}
	override(&g.groupSize, p.GroupSize)
	if g.groupSize < 1 || g.groupSize > dev.MaxGroup || int64(8*g.groupSize*defines["BLOCK_FACTOR"]) > dev.LocalBytes {
		return nil, fmt.Errorf("%s: work-groups of %d are too large for this device", file, g.groupSize)
	}
	return &selection{ctx: ctx, file: file, geometry: g, defines: defines, wide: p.Wide,
		engines: map[variant]*selectionEngine{}}, nil
}

func (s *selection) engine(v variant) (*cl.Kernel, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if e := s.engines[v]; e != nil {
		return e.kernel, nil
	}
	b := &builder{ctx: s.ctx, v: v}
	k := b.program(s.geometry, s.defines, s.file).kernel(s.file)
	if b.err != nil {
		b.release()
		return nil, b.err
	}
	s.engines[v] = &selectionEngine{b, k}
	return k, nil
}

// Sort compares every key with every other.
func (s *selection) Sort(q *cl.Queue, d *Data, fromBit, toBit int) error {
	if err := d.check(fromBit, toBit); err != nil {
		return err
	}
	if d.N < 2 || fromBit == toBit {
		return nil
	}
	v := variantOf(d, s.wide)
	k, err := s.engine(v)
	if err != nil {
		return err
	}
	r := &run{ctx: s.ctx, q: q, d: d, v: v, trace: s.trace}
	mask := ^uint64(0) >> (64 - (toBit - fromBit))
	r.move(k, s.geometry.groupsFor(d.N), s.geometry.groupSize, d.Keys, d.KeysTmp, r.n(), uint32(fromBit), mask)
	r.swap()
	d.Passes++
	return r.err
}

// Close gives the kernels back.
func (s *selection) Close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, e := range s.engines {
		e.builder.release()
	}
	clear(s.engines)
}
