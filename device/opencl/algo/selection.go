//go:build opencl && cgo && linux

package algo

import (
	"cmp"
	"fmt"

	"github.com/extsort/extsort/device/opencl/cl"
)

// selection is Bainville's sort in one launch, selection.cl or selection_blocks.cl.
type selection struct {
	geometry geometry
	kernel   *cl.Kernel
}

func newSelection(ctx *cl.Context, p Params) (*Sorter, error) {
	return makeSelection(ctx, p, "selection", 0)
}

func newSelectionBlocks(ctx *cl.Context, p Params) (*Sorter, error) {
	factor := cmp.Or(p.BlockFactor, 8)
	if factor < 1 || factor > 32 {
		return nil, fmt.Errorf("block factor %d: use 1 to 32", factor)
	}
	return makeSelection(ctx, p, "selection_blocks", factor)
}

// makeSelection makes the sort of a file whose only kernel has its name, with blocks of factor keys per work-item.
func makeSelection(ctx *cl.Context, p Params, file string, factor int) (*Sorter, error) {
	dev := ctx.Device()
	g := geometry{groupSize: cmp.Or(p.GroupSize, min(64, dev.MaxGroup)), items: 1, digitBits: 1}
	l := limits{digitBits: 1, groupUnit: 1, localBytes: int64(8 * g.groupSize * factor)}
	if err := g.check(dev, l); err != nil {
		return nil, err
	}
	return makeSorter(ctx, p, func(b *builder) engine {
		return &selection{g, b.program(g, cl.Defines{"BLOCK_FACTOR": factor}, file)(file)}
	}), nil
}

// sort compares every key with every other.
func (s *selection) sort(r *run, fromBit, toBit int) {
	mask := ^uint64(0) >> (64 - (toBit - fromBit))
	r.move(s.kernel, s.geometry.groupsFor(r.d.N), s.geometry.groupSize, r.n(), uint32(fromBit), mask)
	r.d.Passes++
}
