//go:build opencl && cgo && linux

package algo

import (
	"encoding/binary"
	"math"

	"github.com/extsort/extsort/device/opencl/cl"
)

// leading sorts 64-bit keys by their leading bits only, and repairs the neighbours that tie: repair.cl. With random
// keys half of the passes or more are saved. A sample decides, and what it missed is noticed while repairing.
type leading struct {
	geometry                  geometry
	groups                    int64
	from                      int64
	sample, clear, find, sort *cl.Kernel
}

const (
	sampleKeys  = 2048
	leadingFrom = 1 << 20 // fewer keys are sorted before the sample is back
)

// buildLeading returns nil when from rules it out.
func buildLeading(b *builder, from int64) *leading {
	if from < 0 {
		return nil
	}
	if from == 0 {
		from = leadingFrom
	}
	g := geometry{groupSize: min(256, b.ctx.Device().MaxGroup), items: 8, digitBits: 8}
	p := b.program(g, nil, "repair")
	return &leading{geometry: g, groups: sections(b.ctx.Device(), 8), from: from, sample: p.kernel("repair_sample"),
		clear: p.kernel("repair_clear"), find: p.kernel("repair_find"), sort: p.kernel("repair_sort")}
}

// tieBit is the lowest bit that need be sorted by passes; fromBit or less when that is all of them.
func (l *leading) tieBit(r *run, fromBit, toBit int) int {
	if l == nil || r.d.N < l.from || toBit-fromBit <= 32 {
		return fromBit
	}
	size := min(r.d.N, sampleKeys)
	sample := r.buffer("sample", 8*sampleKeys)
	r.launch(l.sample, (size+int64(l.geometry.groupSize)-1)/int64(l.geometry.groupSize), l.geometry.groupSize,
		r.d.Keys, sample, r.n(), uint32(size))
	words := r.words(sample, 2*int(size))
	if r.err != nil {
		return fromBit
	}
	keys := make([]uint64, size)
	for i := range keys {
		keys[i] = joinWords(words[2*i], words[2*i+1]) << (64 - toBit) >> (64 - toBit) >> fromBit
	}
	width := toBit - fromBit
	bits := leadingBits(keys, width, r.d.N)
	return toBit - min(width, (bits+7)/8*8)
}

// joinWords makes a key of two words as they lie in memory.
func joinWords(first, second uint32) uint64 {
	var b [8]byte
	binary.NativeEndian.PutUint32(b[:4], first)
	binary.NativeEndian.PutUint32(b[4:], second)
	return binary.NativeEndian.Uint64(b[:])
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
