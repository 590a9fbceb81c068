//go:build opencl && cgo && linux

package algo

import (
	"math"
	"slices"

	"github.com/extsort/extsort/device/opencl/cl"
)

// A sampler reads some keys of the data back, so that the sort can be planned: sample.cl.
type sampler struct {
	geometry geometry
	from     int64
	sections int64
	kernel   *cl.Kernel
	ordered  *cl.Kernel
	reverse  *cl.Kernel
}

const (
	sampleKeys = 2048
	sampleFrom = 1 << 20 // with fewer keys, the sort is faster than reading the sample
)

func buildSampler(b *builder, from int64) *sampler {
	g := geometry{
		groupSize: min(256, b.device().MaxGroup),
		items:     1,
		digitBits: 8,
	}
	kernel := b.program(g, nil, "sample")
	return &sampler{geometry: g, from: from, sections: sections(b.device(), 8), kernel: kernel("sample"),
		ordered: kernel("in_order"), reverse: kernel("reverse")}
}

// takeSample returns a sample, which is empty if there are too few keys for it to pay off. It
// waits for the device.
func (s *sampler) takeSample(r *run, fromBit, toBit int) *sampled {
	if r.d.N < s.from {
		return &sampled{}
	}
	size := int(min(r.d.N, sampleKeys))
	buffer := r.buffer("sample", 2*sampleKeys*int64(r.v.wordBytes))
	r.launch(
		s.kernel,
		s.geometry.groupsFor(int64(size)),
		s.geometry.groupSize,
		r.d.Keys,
		buffer,
		r.keyCount(),
		uint32(size),
	)
	words := r.readWords(buffer, 2*size, r.v.wordBytes)
	if r.err != nil {
		return &sampled{}
	}
	seen := &sampled{keys: words[:size], nextKeys: words[size:]}
	for i, key := range words {
		words[i] = key << (64 - toBit) >> (64 - toBit) >> fromBit
		if i < size {
			seen.differingBits |= words[i] ^ words[0]
		}
	}
	return seen
}

// inOrder reports whether the keys are already in order. It examines all keys only if the sample
// is in order.
func (s *sampler) inOrder(r *run, seen *sampled, fromBit, toBit int) bool {
	if len(seen.keys) == 0 || !slices.IsSorted(seen.keys) {
		return false
	}
	state := r.buffer("order", 4)
	r.fill(state, 0)
	r.launch(s.ordered, min(
		s.sections, s.geometry.groupsFor(r.d.N),
	), s.geometry.groupSize, r.d.Keys, state, r.keyCount(),
		uint32(fromBit), uint32(toBit))
	return r.readFlag(state) == 0
}

// reversed reports whether the keys were in reverse order and are sorted now. It examines all keys
// only if the sample is in reverse order. A single kernel copies the keys in reverse and checks
// them. If the check fails, the keys stay as they were.
func (s *sampler) reversed(r *run, seen *sampled, fromBit, toBit int) bool {
	strict := r.v.values || fromBit > 0 || toBit < r.d.KeyBits
	if !seen.isDescending(strict) {
		return false
	}
	state := r.buffer("order", 4)
	r.fill(state, 0)
	equalIsWrong := uint32(0)
	if strict {
		equalIsWrong = 1
	}
	r.launchAndSwap(s.reverse, min(
		s.sections, s.geometry.groupsFor(r.d.N),
	), s.geometry.groupSize, state, r.keyCount(), uint32(fromBit), uint32(toBit), equalIsWrong)
	if r.readFlag(state) == 0 {
		return true
	}
	r.swap()
	return false
}

// leading sorts 64-bit keys by their leading bits only and then repairs neighbors with equal
// leading bits: repair.cl. With random keys, this saves at least half of the passes. A sample
// decides; the repair detects if the sample was misleading.
type leading struct {
	geometry          geometry
	sections          int64
	clear, find, sort *cl.Kernel
}

func buildLeading(b *builder) *leading {
	g := geometry{
		groupSize: min(256, b.device().MaxGroup),
		items:     8,
		digitBits: 8,
	}
	kernel := b.program(g, nil, "repair")
	return &leading{geometry: g, sections: sections(b.device(), 8),
		clear: kernel("repair_clear"), find: kernel("repair_find"), sort: kernel("repair_sort")}
}

// tieBit returns the lowest bit by which passes must sort. If it is at most fromBit, they must
// sort by all bits.
func (l *leading) tieBit(seen *sampled, n int64, fromBit, toBit int) int {
	width := toBit - fromBit
	if l == nil || len(seen.keys) == 0 || width <= 32 {
		return fromBit
	}
	bits := leadingBits(slices.Clone(seen.keys), width, n)
	return toBit - min(width, (bits+7)/8*8)
}

// repair orders neighbors with equal bits from tieBit on. If there are too many of them in one
// place, it returns false, and all passes must run. The data is then a permutation in which equal
// keys have kept their order.
func (l *leading) repair(r *run, fromBit, tieBit, toBit int) bool {
	heads := r.d.KeysTmp
	capacity := min(r.d.N, math.MaxUint32) // holds no keys at this point
	state := r.buffer("repair", 8)
	args := []any{r.d.Keys, heads, state, r.keyCount(),
		uint32(capacity), uint32(fromBit), uint32(tieBit), uint32(64 - toBit)}
	size := l.geometry.groupSize
	r.launch(l.clear, 1, 2, state)
	r.launch(
		l.find,
		min(l.sections, l.geometry.groupsFor(r.d.N)),
		size,
		args...,
	)
	r.launch(l.sort, l.sections, size, append(args, r.d.Values)...)
	result := r.readWords(state, 2, 4)
	return r.err != nil || int64(result[0]) <= capacity && result[1] == 0
}
