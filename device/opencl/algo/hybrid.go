//go:build opencl && cgo && linux

package algo

import (
	"cmp"

	"github.com/extsort/extsort/device/opencl/cl"
)

// buildShortcuts builds onesweep with shortcuts for data that is spread evenly according to the
// sample. Keys alone are partitioned by their most significant bits and finished in local memory
// (hybrid.cl). Pairs end as described at tail.
func buildShortcuts(b *builder, p Params) kernelSet {
	x := buildRadix(b, p, buildOnesweep(b, Params{}))
	x.shortFrom = p.minKeys(shortcutFrom)
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

// hybridGeometry contains the shapes of the partitions and of the finish, whose digit is the bin.
type hybridGeometry struct{ partition, finish geometry }

// hybridItems is the fastest number of keys per work-item of a partition, by bytes of the key. It
// and the default shapes were measured on an NVIDIA H200, driver 580, with 2^28 random keys. The
// command "extsort tune" measures them on other devices.
var hybridItems = map[int]int{4: 22, 8: 11}

func hybridShape(dev *cl.Device, p Params, wordBytes int) hybridGeometry {
	g := geometry{
		groupSize: cmp.Or(p.GroupSize, min(512, dev.MaxGroup)),
		digitBits: 9,
	}
	g.items = cmp.Or(p.Items, hybridItems[wordBytes])
	for g.digitBits > 1 && 1<<g.digitBits > g.groupSize {
		g.digitBits--
	}
	g.digitBits = cmp.Or(p.DigitBits, g.digitBits)
	h := hybridGeometry{
		partition: g,
		finish: geometry{
			groupSize: min(256, dev.MaxGroup),
			items:     12,
			digitBits: 11,
		},
	}
	for p.Items == 0 && h.partition.items > 1 &&
		h.partitionBytes(wordBytes) > dev.LocalBytes {
		h.partition.items--
	}
	for h.finish.items > 1 &&
		finishBytes(h.finish, wordBytes) > dev.LocalBytes {
		h.finish.items--
	}
	return h
}

func (h hybridGeometry) partitionBytes(wordBytes int) int64 {
	return max(
		int64(wordBytes)*h.partition.tile(), 8*h.partition.radix(),
	) + 8*h.partition.radix()
}

// finishBytes returns the local memory that the finish of a bucket uses, with keyBytes per key.
func finishBytes(g geometry, keyBytes int) int64 {
	return int64(keyBytes)*g.tile() + 4*(g.radix()+4) + 8*int64(g.groupSize) + 8
}

func (h hybridGeometry) check(dev *cl.Device, wordBytes int) error {
	return h.partition.checkDevice(dev, limits{digitBits: 10, groupMultiple: 1, minGroupSize: h.partition.radix(),
		localBytes: max(
			h.partitionBytes(wordBytes), finishBytes(h.finish, wordBytes),
		)})
}

// hybrid contains the kernels for one variant.
type hybrid struct {
	hybridGeometry
	clear, count, tiles, move *cl.Kernel
	scanSections, scanBuckets *cl.Kernel
	finishing                 *cl.Kernel
}

const (
	hybridCountTiles = 8
	hybridSections   = 16 // at level 0
	// Expected size of a bucket as a fraction of a tile of the finish. The rest is for larger
	// buckets.
	hybridFill = 0.7
)

func buildHybrid(b *builder, p Params) *hybrid {
	h := &hybrid{hybridGeometry: hybridShape(b.device(), p, b.v.wordBytes)}
	b.fail(h.check(b.device(), b.v.wordBytes))
	kernel := b.program(
		h.partition,
		cl.Defines{"COUNT_TILES": hybridCountTiles},
		"hybrid",
	)
	h.clear, h.count = kernel("hybrid_clear"), kernel("hybrid_count")
	h.scanSections, h.scanBuckets = kernel("hybrid_scan_sections"), kernel("hybrid_scan_buckets")
	h.tiles, h.move = kernel("hybrid_tiles"), kernel("hybrid_move")
	h.finishing = b.program(h.finish, nil, "hybrid_finish")("hybrid_finish")
	return h
}

// evenPlan returns the numbers of leading bits by which n keys below bit top fall into buckets
// that fill at most the given share of a tile. If the total is odd, the second level has one bit
// more, which is faster.
func evenPlan(n int64, top int, finish geometry, fill float64) hybridPlan {
	bits := 2
	for float64(n>>bits) > fill*float64(finish.tile()) {
		bits++
	}
	return hybridPlan{top: top, first: bits / 2, second: bits - bits/2, bins: min(
		finish.digitBits, top-bits,
	),
		room: float64(finish.tile()) * float64(int64(1)<<bits) / float64(n)}
}

// hybridRun is one sort in progress.
type hybridRun struct {
	*hybrid
	*run
	hybridPlan
	sections int64
	// For both levels; a section of level 1 is a bucket of level 0, of any length.
	sectionTiles   [2]int64
	bits           [2]int
	counts, starts [2]*cl.Buffer
	tileStarts     *cl.Buffer
	state          *cl.Buffer
}

// sort partitions twice and finishes. If that is impossible, it returns false, and the data is a
// permutation of the keys. While the host evaluates the sample, the device already counts the
// digits that will most likely be needed.
func (h *hybrid) sort(r *run, seen *sampled, toBit int) bool {
	if h == nil || len(seen.keys) == 0 {
		return false
	}
	p := evenPlan(r.d.N, seen.topBit(), h.finish, hybridFill)
	if p.second > h.partition.digitBits || p.bins <= 0 ||
		p.top < toBit && !seen.isSpread(p) {
		return false
	}
	s := h.countFirstLevel(r, p)
	if p.top == toBit && !seen.isSpread(p) {
		return false
	}
	s.partitionTwice()
	s.launch(h.finishing, p.parts(), h.finish.groupSize, r.d.Keys, r.d.Keys, s.starts[1], s.state,
		uint32(p.binShift()), uint32(1)<<p.bins-1, uint32(0))
	r.d.Passes += 3
	return r.readFlag(s.state) == 0 || r.err != nil
}

// countFirstLevel counts the digits of level 0.
func (h *hybrid) countFirstLevel(r *run, p hybridPlan) *hybridRun {
	g := h.partition
	tiles := h.partition.groupsFor(r.d.N)
	s := &hybridRun{
		hybrid:     h,
		run:        r,
		hybridPlan: p,
		bits:       [2]int{p.first, p.second},
	}
	s.state = r.buffer("hybrid state", 4)
	s.sectionTiles[0] = (tiles/hybridSections/hybridCountTiles + 1) * hybridCountTiles
	s.sections = (tiles + s.sectionTiles[0] - 1) / s.sectionTiles[0]
	words := [2]int64{s.sections << p.first, p.parts()}
	for level, name := range []string{"0", "1"} {
		s.counts[level] = r.buffer("hybrid counts "+name, 4*words[level])
		s.starts[level] = r.buffer(
			"hybrid starts "+name, 4*(int64(1)<<(p.first+level*p.second)+1),
		)
	}
	s.tileStarts = r.buffer("hybrid tile starts", 4*(int64(1)<<p.first+1))
	r.launch(h.clear, min(
		256, max(words[0], words[1])/int64(g.groupSize)+1,
	), g.groupSize,
		s.counts[0], s.counts[1], s.state, uint32(words[0]), uint32(words[1]))
	s.countDigits(0, nil, tiles)
	return s
}

// countDigits counts the digits of a level. For level 1, list contains the first tile of each
// bucket.
func (s *hybridRun) countDigits(level int, list *cl.Buffer, tiles int64) {
	s.launch(s.count, (tiles+hybridCountTiles-1)/hybridCountTiles, s.partition.groupSize,
		s.d.Keys, s.counts[level], list, s.state, uint32(s.d.N), uint32(s.sectionTiles[level]), uint32(tiles),
		uint32(s.shift(level)), uint32(s.bits[level]), uint32(s.top))
}

func (s *hybridRun) moveKeys(level int, list *cl.Buffer, tiles int64) {
	s.run.launchAndSwap(s.hybrid.move, tiles, s.partition.groupSize, s.counts[level], list, uint32(s.d.N),
		uint32(s.sectionTiles[level]), uint32(s.shift(level)), uint32(s.bits[level]))
}

// partitionTwice partitions twice after begin, and leaves the buckets in the data.
func (s *hybridRun) partitionTwice() {
	g := s.partition
	n := uint32(s.d.N)
	buckets := int64(1) << s.first
	tiles := g.groupsFor(s.d.N)
	s.launch(s.scanSections, 1, g.groupSize, s.counts[0], s.starts[0], s.tileStarts, n, uint32(s.sections),
		uint32(s.first))
	s.moveKeys(0, nil, tiles)

	tiles += buckets // the last tile of each bucket may be partial
	list := s.buffer("hybrid tiles", 16*tiles)
	s.launch(
		s.tiles,
		buckets+1,
		g.groupSize,
		list,
		s.starts[0],
		s.tileStarts,
		uint32(tiles),
	)
	s.countDigits(1, list, tiles)
	s.launch(
		s.scanBuckets,
		buckets,
		g.groupSize,
		s.counts[1],
		s.starts[0],
		s.starts[1],
		n,
		uint32(s.second),
	)
	s.moveKeys(1, list, tiles)
}

// tail ends a sort of keys with values. After some stable passes over the leading bits, the
// buckets fit local memory, where hybrid_finish.cl sorts them stably. It replaces the remaining
// passes, or some passes and the repair.
type tail struct {
	geometry       geometry
	passBits       int // bits per pass
	starts, finish *cl.Kernel
}

const (
	tailFill  = 0.75  // expected size of a bucket as a fraction of a tile; the rest is for larger buckets
	tailSaves = 2     // minimum number of saved passes: it takes about as long as one
	tailBytes = 4 + 2 // local memory per key: its low word and its position
)

// buildTail returns nil if the device has too little local memory.
func buildTail(b *builder, passBits int) *tail {
	dev := b.device()
	g := geometry{
		groupSize: min(512, dev.MaxGroup),
		items:     11,
		digitBits: 11,
	}
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

// sort sorts by the leading bits and finishes. If that is impossible, it returns false, and the
// data is a permutation in which equal keys have kept their order.
func (t *tail) sort(x *radix, r *run, seen *sampled, toBit int) bool {
	if t == nil || seen.topBit() < toBit {
		return false
	}
	p := evenPlan(r.d.N, toBit, t.geometry, tailFill)
	passes := (p.first + p.second + t.passBits - 1) / t.passBits
	if passes+tailSaves > (toBit+t.passBits-1)/t.passBits || !seen.isSpread(p) {
		return false
	}
	x.sortDigits(r, seen, 0, toBit-passes*t.passBits, toBit)
	parts := p.parts()
	size := t.geometry.groupSize
	starts := r.buffer("tail starts", 4*(parts+1))
	state := r.buffer("tail state", 4)
	r.fill(state, 0)
	r.launch(
		t.starts,
		parts/int64(size)+1,
		size,
		r.d.Keys,
		starts,
		uint32(r.d.N),
		uint32(p.shift(1)),
		uint32(parts-1),
	)
	r.launchAndSwap(t.finish, parts, size, starts, state, uint32(p.binShift()), uint32(1)<<p.bins-1,
		uint32(max(0, p.shift(1)-32)))
	if r.readFlag(state) != 0 && r.err == nil {
		r.swap() // restores the data, because the output is incomplete
		return false
	}
	r.d.Passes++
	return true
}
