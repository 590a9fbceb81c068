//go:build opencl && cgo && linux

package algo

import (
	"encoding/binary"

	"github.com/extsort/extsort/device/opencl/cl"
)

// sampler reads some keys of the data back, from which the sort is planned: sample.cl.
type sampler struct {
	geometry geometry
	from     int64
	kernel   *cl.Kernel
}

const (
	sampleKeys = 2048
	sampleFrom = 1 << 20 // fewer keys are sorted before the sample is back
)

func buildSampler(b *builder, from int64) *sampler {
	if from <= 0 {
		from = sampleFrom
	}
	g := geometry{groupSize: min(256, b.ctx.Device().MaxGroup), items: 1, digitBits: 8}
	return &sampler{geometry: g, from: from, kernel: b.program(g, nil, "sample").kernel("sample")}
}

// look takes a sample, or returns none where there are too few keys for it to pay. It waits for the device.
func (s *sampler) look(r *run, fromBit, toBit int) *sampled {
	if r.d.N < s.from {
		return &sampled{}
	}
	size := int(min(r.d.N, sampleKeys))
	buffer := r.buffer("sample", 2*sampleKeys*int64(r.v.wordBytes))
	r.launch(s.kernel, s.geometry.groupsFor(int64(size)), s.geometry.groupSize, r.d.Keys, buffer, r.n(), uint32(size))
	words := r.keyWords(buffer, 2*size)
	if r.err != nil {
		return &sampled{}
	}
	for i, key := range words {
		words[i] = key << (64 - toBit) >> (64 - toBit) >> fromBit
	}
	return &sampled{keys: words[:size], after: words[size:]}
}

// keyWords reads n keys back, waiting for all that was queued before.
func (r *run) keyWords(b *cl.Buffer, n int) []uint64 {
	keys := make([]uint64, n)
	if r.err != nil {
		return keys
	}
	size := r.v.wordBytes
	raw := make([]byte, size*n)
	r.err = r.q.Download(raw, b, 0)
	for i := range keys {
		if size == 8 {
			keys[i] = binary.NativeEndian.Uint64(raw[8*i:])
		} else {
			keys[i] = uint64(binary.NativeEndian.Uint32(raw[4*i:]))
		}
	}
	return keys
}
