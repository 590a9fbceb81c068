//go:build opencl && cgo && linux

package algo

import "github.com/extsort/extsort/device/opencl/cl"

// tail ends a sort of keys with values after some stable passes over their leading bits: what is left are buckets that fit
// local memory, where hybrid_finish.cl sorts them stably. It stands for the other passes, or for some and the repair.
//
// On an H200, 2^28 pairs: u32 + u32 37.8 G/s (all passes 32.3, CUB 31.4), u64 + u32 28.5 (leading passes and repair 21.0,
// CUB 13.3).
type tail struct {
	geometry       geometry
	passBits       int // of the passes before it
	from           int64
	starts, finish *cl.Kernel
}

const (
	tailFill  = 0.75 // of a tile is the most that an even bucket holds, so that others fit too
	tailSaves = 2    // passes that it must save to pay: it takes about as long as one
)

// tailShape: 4096 keys must fit, so that 2^28 keys need two passes only.
func tailShape(dev *cl.Device) geometry {
	g := geometry{groupSize: min(512, dev.MaxGroup), items: 11, digitBits: 11}
	for g.items > 1 && tailBytes(g) > dev.LocalBytes {
		g.items--
	}
	return g
}

// tailBytes is the local memory that the finish takes: 4 bytes of each key, and where it was.
func tailBytes(g geometry) int64 { return hybridGeometry{finish: g}.finishBytes(4 + 2) }

// buildTail returns nil where the device has too little local memory.
func buildTail(b *builder, p Params, passBits int) *tail {
	dev := b.ctx.Device()
	g := tailShape(dev)
	if tailBytes(g) > dev.LocalBytes {
		return nil
	}
	t := &tail{geometry: g, passBits: passBits, from: hybridFrom}
	if p.LeadingKeys > 0 {
		t.from = p.LeadingKeys
	}
	made := b.program(g, nil, "hybrid_finish")
	t.starts, t.finish = made.kernel("hybrid_starts"), made.kernel("hybrid_finish")
	return t
}

// plan says by how many leading bits the buckets are told apart, and the passes that these take, or reports false where
// another sort is to be used.
func (t *tail) plan(d *Data, seen *sampled, fromBit, toBit int) (p hybridPlan, passes int, ok bool) {
	if t == nil || d.N < t.from || len(seen.keys) == 0 || fromBit > 0 || toBit < d.KeyBits || seen.top() < toBit {
		return p, 0, false
	}
	bits := 2
	for float64(d.N>>bits) > tailFill*float64(t.geometry.tile()) {
		bits++
	}
	passes = (bits + t.passBits - 1) / t.passBits
	if passes+tailSaves > len(digitsOf(fromBit, toBit, t.passBits)) {
		return p, 0, false
	}
	p = hybridPlan{top: toBit, first: bits / 2, second: bits - bits/2, bins: min(t.geometry.digitBits, toBit-bits)}
	p.room = float64(t.geometry.tile()) * float64(int64(1)<<bits) / float64(d.N)
	return p, passes, seen.spread(p)
}

// sort sorts by the leading bits and finishes. It reports false when that was not possible: what is there then is a
// permutation in which equal keys have kept their order.
func (t *tail) sort(x *radix, e *engine, r *run, seen *sampled, fromBit, toBit int) bool {
	p, passes, ok := t.plan(r.d, seen, fromBit, toBit)
	if !ok {
		return false
	}
	x.digits(r, e, seen, fromBit, toBit-passes*t.passBits, toBit)
	bits := p.first + p.second
	parts := int64(1) << bits
	starts, state := r.buffer("tail starts", 4*(parts+1)), r.buffer("tail state", 4)
	r.fill(state, 0)
	r.launch(t.starts, parts/int64(t.geometry.groupSize)+1, t.geometry.groupSize, r.d.Keys, starts, uint32(r.d.N),
		uint32(p.shift(1)), uint32(parts-1))
	r.move(t.finish, parts, t.geometry.groupSize, r.d.Keys, r.d.KeysTmp, starts, state, uint32(p.binShift()), uint32(1)<<p.bins-1,
		uint32(max(0, p.shift(1)-32)))
	if r.words(state, 1)[0] != 0 && r.err == nil {
		return false
	}
	r.swap()
	r.d.Passes++
	return true
}
