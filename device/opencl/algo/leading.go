//go:build opencl && cgo && linux

package algo

import (
	"math"
	"slices"

	"github.com/extsort/extsort/device/opencl/cl"
)

// leading sorts 64-bit keys by their leading bits only, and repairs the neighbours that tie: repair.cl. With random
// keys half of the passes or more are saved. A sample decides, and what it missed is noticed while repairing.
type leading struct {
	geometry          geometry
	groups            int64
	clear, find, sort *cl.Kernel
}

func buildLeading(b *builder) *leading {
	g := geometry{groupSize: min(256, b.ctx.Device().MaxGroup), items: 8, digitBits: 8}
	p := b.program(g, nil, "repair")
	return &leading{geometry: g, groups: sections(b.ctx.Device(), 8), clear: p.kernel("repair_clear"),
		find: p.kernel("repair_find"), sort: p.kernel("repair_sort")}
}

// tieBit is the lowest bit that need be sorted by passes; fromBit or less when that is all of them.
func (l *leading) tieBit(seen *sampled, n int64, fromBit, toBit int) int {
	width := toBit - fromBit
	if l == nil || len(seen.keys) == 0 || width <= 32 {
		return fromBit
	}
	bits := leadingBits(slices.Clone(seen.keys), width, n)
	return toBit - min(width, (bits+7)/8*8)
}

// repair orders the neighbours that tie in the bits from tieBit on. It reports false when groups were too long: then
// all passes must run over what is there, which is a permutation that kept the order of equal keys.
func (l *leading) repair(r *run, fromBit, tieBit, toBit int) bool {
	heads, capacity := r.d.KeysTmp, min(r.d.N, math.MaxUint32) // the other keys are not needed any more
	state := r.buffer("repair", 8)
	args := []any{uint32(capacity), uint32(fromBit), uint32(tieBit), uint32(64 - toBit)}
	r.launch(l.clear, 1, 2, state)
	r.launch(l.find, min(l.groups, l.geometry.groupsFor(r.d.N)), l.geometry.groupSize,
		append([]any{r.d.Keys, heads, state, r.n()}, args...)...)
	sorting := append([]any{r.d.Keys, heads, state, r.n()}, args...)
	r.launch(l.sort, l.groups, l.geometry.groupSize, append(sorting, r.d.Values)...)
	result := r.words(state, 2)
	return r.err != nil || int64(result[0]) <= capacity && result[1] == 0
}
