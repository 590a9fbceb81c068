//go:build opencl && cgo && linux

package algo

import "github.com/extsort/extsort/device/opencl/cl"

// tail ends a sort of keys with values after some stable passes over their leading bits: what is left are buckets that
// fit local memory, where hybrid_finish.cl sorts them stably. It stands for the other passes, or for some and the
// repair.
type tail struct {
	geometry       geometry
	passBits       int // of the passes before it
	starts, finish *cl.Kernel
}

const (
	tailFill  = 0.75  // of a tile is the most that an even bucket holds, so that others fit too
	tailSaves = 2     // passes that it must save to pay: it takes about as long as one
	tailBytes = 4 + 2 // of local memory for each key: its low word, and where it was
)

// buildTail returns nil where the device has too little local memory.
func buildTail(b *builder, passBits int) *tail {
	dev := b.device()
	g := geometry{groupSize: min(512, dev.MaxGroup), items: 11, digitBits: 11}
	for g.items > 0 && finishBytes(g, tailBytes) > dev.LocalBytes {
		g.items--
	}
	if g.items == 0 {
		return nil
	}
	kernel := b.program(g, nil, "hybrid_finish")
	return &tail{geometry: g, passBits: passBits,
		starts: kernel("hybrid_starts"), finish: kernel("hybrid_finish")}
}

// sort sorts by the leading bits and finishes. It reports false when that was not possible: what is there then is a
// permutation in which equal keys have kept their order.
func (t *tail) sort(x *radix, r *run, seen *sampled, toBit int) bool {
	if t == nil || seen.top() < toBit {
		return false
	}
	p := evenPlan(r.d.N, toBit, t.geometry, tailFill)
	passes := (p.first + p.second + t.passBits - 1) / t.passBits
	if passes+tailSaves > (toBit+t.passBits-1)/t.passBits || !seen.spread(p) {
		return false
	}
	x.digits(r, seen, 0, toBit-passes*t.passBits, toBit)
	parts, size := p.parts(), t.geometry.groupSize
	starts, state := r.buffer("tail starts", 4*(parts+1)), r.buffer("tail state", 4)
	r.fill(state, 0)
	r.launch(t.starts, parts/int64(size)+1, size, r.d.Keys, starts, uint32(r.d.N), uint32(p.shift(1)), uint32(parts-1))
	r.move(t.finish, parts, size, starts, state, uint32(p.binShift()), uint32(1)<<p.bins-1,
		uint32(max(0, p.shift(1)-32)))
	if r.flag(state) != 0 && r.err == nil {
		r.swap() // back: not all was written
		return false
	}
	r.d.Passes++
	return true
}
