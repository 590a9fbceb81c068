//go:build opencl && cgo && linux

package algo

import (
	"cmp"

	"github.com/extsort/extsort/device/opencl/cl"
)

// buildShortcuts builds onesweep with the shortcuts for data that the sample shows to be spread evenly: keys alone are
// partitioned from the most significant bits on and finished in local memory (hybrid.cl), pairs end as tail says.
func buildShortcuts(b *builder, p Params) engine {
	x := buildRadix(b, p, buildOnesweep(b, Params{}))
	x.shortFrom = p.least(shortcutFrom)
	x.window = buildWindow(b, p, x.passes.bits())
	switch {
	case b.v.wide:
	case b.v.values:
		x.tail = buildTail(b, x.passes.bits())
	default:
		x.hybrid = buildHybrid(b, p)
	}
	return x
}

// hybridGeometry is the shape of the partitions and that of the finish, whose digit is the bin.
type hybridGeometry struct{ partition, finish geometry }

// hybridItems is the fastest keys per work-item of a partition, by bytes of the key. That and the shapes of the
// default: measured on an NVIDIA H200, driver 580, 2^28 random keys, by BenchmarkSweep.
var hybridItems = map[int]int{4: 22, 8: 11}

func hybridShape(dev *cl.Device, p Params, wordBytes int) hybridGeometry {
	g := geometry{groupSize: cmp.Or(p.GroupSize, min(512, dev.MaxGroup)), digitBits: 9}
	g.items = cmp.Or(p.Items, hybridItems[wordBytes])
	for g.digitBits > 1 && 1<<g.digitBits > g.groupSize {
		g.digitBits--
	}
	g.digitBits = cmp.Or(p.DigitBits, g.digitBits)
	h := hybridGeometry{partition: g, finish: geometry{groupSize: min(256, dev.MaxGroup), items: 12, digitBits: 11}}
	for p.Items == 0 && h.partition.items > 1 && h.partitionBytes(wordBytes) > dev.LocalBytes {
		h.partition.items--
	}
	for h.finish.items > 1 && finishBytes(h.finish, wordBytes) > dev.LocalBytes {
		h.finish.items--
	}
	return h
}

func (h hybridGeometry) partitionBytes(wordBytes int) int64 {
	return max(int64(wordBytes)*h.partition.tile(), 8*h.partition.radix()) + 8*h.partition.radix()
}

// finishBytes is the local memory of a bucket's finish, of which each key takes keyBytes.
func finishBytes(g geometry, keyBytes int) int64 {
	return int64(keyBytes)*g.tile() + 4*(g.radix()+4) + 8*int64(g.groupSize) + 8
}

func (h hybridGeometry) check(dev *cl.Device, wordBytes int) error {
	return h.partition.check(dev, limits{digitBits: 10, groupUnit: 1, leastGroup: h.partition.radix(),
		localBytes: max(h.partitionBytes(wordBytes), finishBytes(h.finish, wordBytes))})
}

// hybrid are the kernels for one variant.
type hybrid struct {
	hybridGeometry
	clear, count, tiles, move *cl.Kernel
	scanSections, scanBuckets *cl.Kernel
	finishing                 *cl.Kernel
}

const (
	hybridCountTiles = 8
	hybridSections   = 16  // at level 0
	hybridFill       = 0.7 // of a tile of the finish is the most that an even bucket holds, so that others fit too
)

func buildHybrid(b *builder, p Params) *hybrid {
	h := &hybrid{hybridGeometry: hybridShape(b.device(), p, b.v.wordBytes)}
	b.fail(h.check(b.device(), b.v.wordBytes))
	kernel := b.program(h.partition, cl.Defines{"COUNT_TILES": hybridCountTiles}, "hybrid")
	h.clear, h.count = kernel("hybrid_clear"), kernel("hybrid_count")
	h.scanSections, h.scanBuckets = kernel("hybrid_scan_sections"), kernel("hybrid_scan_buckets")
	h.tiles, h.move = kernel("hybrid_tiles"), kernel("hybrid_move")
	h.finishing = b.program(h.finish, nil, "hybrid_finish")("hybrid_finish")
	return h
}

// evenPlan cuts the leading bits by which n keys below bit top fall into buckets that fill a tile to at most fill.
// Where the bits are odd the second level has one more, which is faster.
func evenPlan(n int64, top int, finish geometry, fill float64) hybridPlan {
	bits := 2
	for float64(n>>bits) > fill*float64(finish.tile()) {
		bits++
	}
	return hybridPlan{top: top, first: bits / 2, second: bits - bits/2, bins: min(finish.digitBits, top-bits),
		room: float64(finish.tile()) * float64(int64(1)<<bits) / float64(n)}
}

// hybridRun is a sort under way.
type hybridRun struct {
	*hybrid
	*run
	hybridPlan
	sections       int64
	sectionTiles   [2]int64 // of the two levels: at level 1 a section is a bucket of level 0, of any length
	bits           [2]int
	counts, starts [2]*cl.Buffer
	tileStarts     *cl.Buffer
	state          *cl.Buffer
}

// sort partitions twice and finishes. It reports false when that was not possible: what is there then is a permutation
// of the keys. While the host looks at the sample, the device counts what will most likely be needed.
func (h *hybrid) sort(r *run, seen *sampled, toBit int) bool {
	if h == nil || len(seen.keys) == 0 {
		return false
	}
	p := evenPlan(r.d.N, seen.top(), h.finish, hybridFill)
	if p.second > h.partition.digitBits || p.bins <= 0 || p.top < toBit && !seen.spread(p) {
		return false
	}
	s := h.begin(r, p)
	if p.top == toBit && !seen.spread(p) {
		return false
	}
	s.twoLevels()
	s.launch(h.finishing, p.parts(), h.finish.groupSize, r.d.Keys, r.d.Keys, s.starts[1], s.state,
		uint32(p.binShift()), uint32(1)<<p.bins-1, uint32(0))
	r.d.Passes += 3
	return r.flag(s.state) == 0 || r.err != nil
}

// begin counts the digits of level 0.
func (h *hybrid) begin(r *run, p hybridPlan) *hybridRun {
	g, tiles := h.partition, h.partition.groupsFor(r.d.N)
	s := &hybridRun{hybrid: h, run: r, hybridPlan: p, bits: [2]int{p.first, p.second}}
	s.state = r.buffer("hybrid state", 4)
	s.sectionTiles[0] = (tiles/hybridSections/hybridCountTiles + 1) * hybridCountTiles
	s.sections = (tiles + s.sectionTiles[0] - 1) / s.sectionTiles[0]
	words := [2]int64{s.sections << p.first, p.parts()}
	for level, name := range []string{"0", "1"} {
		s.counts[level] = r.buffer("hybrid counts "+name, 4*words[level])
		s.starts[level] = r.buffer("hybrid starts "+name, 4*(int64(1)<<(p.first+level*p.second)+1))
	}
	s.tileStarts = r.buffer("hybrid tile starts", 4*(int64(1)<<p.first+1))
	r.launch(h.clear, min(256, max(words[0], words[1])/int64(g.groupSize)+1), g.groupSize,
		s.counts[0], s.counts[1], s.state, uint32(words[0]), uint32(words[1]))
	s.countDigits(0, nil, tiles)
	return s
}

// countDigits counts at a level, whose first tiles stand in a list at level 1.
func (s *hybridRun) countDigits(level int, list *cl.Buffer, tiles int64) {
	s.launch(s.count, (tiles+hybridCountTiles-1)/hybridCountTiles, s.partition.groupSize,
		s.d.Keys, s.counts[level], list, s.state, uint32(s.d.N), uint32(s.sectionTiles[level]), uint32(tiles),
		uint32(s.shift(level)), uint32(s.bits[level]), uint32(s.top))
}

func (s *hybridRun) moveKeys(level int, list *cl.Buffer, tiles int64) {
	s.run.move(s.hybrid.move, tiles, s.partition.groupSize, s.counts[level], list, uint32(s.d.N),
		uint32(s.sectionTiles[level]), uint32(s.shift(level)), uint32(s.bits[level]))
}

// twoLevels goes on where begin ended, and leaves the buckets in the data.
func (s *hybridRun) twoLevels() {
	g, n, buckets := s.partition, uint32(s.d.N), int64(1)<<s.first
	tiles := g.groupsFor(s.d.N)
	s.launch(s.scanSections, 1, g.groupSize, s.counts[0], s.starts[0], s.tileStarts, n, uint32(s.sections),
		uint32(s.first))
	s.moveKeys(0, nil, tiles)

	tiles += buckets // each may end with one that is not full
	list := s.buffer("hybrid tiles", 16*tiles)
	s.launch(s.tiles, buckets+1, g.groupSize, list, s.starts[0], s.tileStarts, uint32(tiles))
	s.countDigits(1, list, tiles)
	s.launch(s.scanBuckets, buckets, g.groupSize, s.counts[1], s.starts[0], s.starts[1], n, uint32(s.second))
	s.moveKeys(1, list, tiles)
}

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
