//go:build opencl && cgo && linux

package algo

import "github.com/extsort/extsort/device/opencl/cl"

// tail ends a sort of keys with values after some stable passes over their leading bits: what is left are buckets that
// fit local memory, where hybrid_finish.cl sorts them stably. It stands for the other passes, or for some and the
// repair.
type tail struct {
	geometry       geometry
	passBits       int // of the passes before it
	from           int64
	starts, finish *cl.Kernel
}

const (
	tailFill  = 0.75  // of a tile is the most that an even bucket holds, so that others fit too
	tailSaves = 2     // passes that it must save to pay: it takes about as long as one
	tailBytes = 4 + 2 // of local memory for each key: its low word, and where it was
)

// buildTail returns nil where the device has too little local memory.
func buildTail(b *builder, p Params, passBits int) *tail {
	dev := b.device()
	g := geometry{groupSize: min(512, dev.MaxGroup), items: 11, digitBits: 11}
	for g.items > 0 && finishBytes(g, tailBytes) > dev.LocalBytes {
		g.items--
	}
	if g.items == 0 {
		return nil
	}
	kernel := b.program(g, nil, "hybrid_finish")
	return &tail{geometry: g, passBits: passBits, from: p.least(hybridFrom),
		starts: kernel("hybrid_starts"), finish: kernel("hybrid_finish")}
}

// plan says by how many leading bits the buckets are told apart, and the passes that these take, or reports false where
// another sort is to be used.
func (t *tail) plan(d *Data, seen *sampled, fromBit, toBit int) (p hybridPlan, passes int, ok bool) {
	if t == nil || d.N < t.from || fromBit > 0 || toBit < d.KeyBits || seen.top() < toBit {
		return p, 0, false
	}
	p = evenPlan(d.N, toBit, t.geometry, tailFill)
	passes = (p.first + p.second + t.passBits - 1) / t.passBits
	if passes+tailSaves > len(digitsOf(fromBit, toBit, t.passBits)) {
		return p, 0, false
	}
	return p, passes, seen.spread(p)
}

// sort sorts by the leading bits and finishes. It reports false when that was not possible: what is there then is a
// permutation in which equal keys have kept their order.
func (t *tail) sort(x *radix, r *run, seen *sampled, fromBit, toBit int) bool {
	p, passes, ok := t.plan(r.d, seen, fromBit, toBit)
	if !ok {
		return false
	}
	x.digits(r, seen, fromBit, toBit-passes*t.passBits, toBit)
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
