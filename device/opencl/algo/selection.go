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

func buildSelection(b *builder, p Params) kernelSet {
	return selectionOf(b, p, "selection", 0)
}

func buildSelectionBlocks(b *builder, p Params) kernelSet {
	factor := cmp.Or(p.BlockFactor, 8)
	if factor < 1 || factor > 32 {
		b.fail(fmt.Errorf("block factor %d: use 1 to 32", factor))
	}
	return selectionOf(b, p, "selection_blocks", factor)
}

// selectionOf builds the only kernel of a file, which has the name of the file, with blocks of
// factor keys per work-item.
func selectionOf(b *builder, p Params, file string, factor int) *selection {
	g := geometry{
		groupSize: cmp.Or(p.GroupSize, min(64, b.device().MaxGroup)),
		items:     1,
		digitBits: 1,
	}
	b.check(g, limits{
		digitBits:     1,
		groupMultiple: 1,
		localBytes:    int64(8 * g.groupSize * factor),
	})
	return &selection{g, b.program(
		g,
		cl.Defines{"BLOCK_FACTOR": factor},
		file,
	)(file)}
}

// sort compares every key with every other key.
func (s *selection) sort(r *run, fromBit, toBit int) {
	mask := ^uint64(0) >> (64 - (toBit - fromBit))
	r.launchAndSwap(
		s.kernel,
		s.geometry.groupsFor(r.d.N),
		s.geometry.groupSize,
		r.keyCount(),
		uint32(fromBit),
		mask,
	)
	r.d.Passes++
}
