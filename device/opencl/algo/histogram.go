//go:build opencl && cgo && linux

package algo

import "github.com/extsort/extsort/device/opencl/cl"

// histogram counts all digits of the keys at once, see histogram.cl.
type histogram struct {
	geometry           geometry
	groups             int64
	clear, count, scan *cl.Kernel
}

const (
	histogramGroup  = 256
	histogramUnroll = 8
)

func buildHistogram(b *builder, digitBits int) *histogram {
	g := geometry{groupSize: min(histogramGroup, b.ctx.Device().MaxGroup), items: histogramUnroll, digitBits: digitBits}
	places := (8*b.v.wordBytes + digitBits - 1) / digitBits
	p := b.program(g, cl.Defines{"HIST_UNROLL": histogramUnroll, "HIST_PLACES": places}, "histogram")
	return &histogram{
		geometry: g, groups: sections(b.ctx.Device(), 8),
		clear: p.kernel("histogram_clear"), count: p.kernel("histogram_count"), scan: p.kernel("histogram_scan"),
	}
}

// run tells where the keys of each digit value begin, and which places vary, both in memory of the device.
func (h *histogram) run(r *run, fromBit, toBit, places int) (bases, varies *cl.Buffer) {
	words := int64(8*r.v.wordBytes+h.geometry.digitBits) * h.geometry.radix()
	counts := r.buffer("counts", 8*words)
	bases = r.buffer("bases", r.v.offsetBytes()*words)
	varies = r.buffer("varies", 4*64)
	r.launch(h.clear, 1, h.geometry.groupSize, counts, uint32(2*words))
	r.launch(h.count, min(h.groups, h.geometry.groupsFor(r.d.N)), h.geometry.groupSize,
		r.d.Keys, counts, r.n(), uint32(fromBit), uint32(toBit))
	r.launch(h.scan, int64(places), int(h.geometry.radix()), counts, bases, varies, r.n())
	return bases, varies
}

// sections is how many work-groups keep the device busy: some for each compute unit, so that while one waits the
// others work ("usually a factor of 4 to 8", Harada & Howes).
func sections(d *cl.Device, perUnit int) int64 { return int64(max(1, d.Units) * perUnit) }
