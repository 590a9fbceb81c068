//go:build opencl && cgo && linux

package algo

import (
	"fmt"

	"github.com/extsort/extsort/device/opencl/cl"
)

// newHybrid makes onesweep with the shortcuts for data that the sample shows to be spread evenly: keys alone are
// partitioned from the most significant bits on and finished in local memory (hybrid.cl), pairs end as tail.go says.
func newHybrid(ctx *cl.Context, dev *cl.Device, p Params) (Sorter, error) {
	if err := hybridShape(dev, p, 4).check(dev, 4); err != nil {
		return nil, fmt.Errorf("hybrid: %w", err)
	}
	made, err := newOnesweep(ctx, dev, Params{LeadingKeys: p.LeadingKeys, Wide: p.Wide})
	if err != nil {
		return nil, err
	}
	x := made.(*radix)
	x.p, x.hybrid = p, true
	return x, nil
}

// hybridGeometry is the shape of the partitions and that of the finish, whose digit is the bin.
type hybridGeometry struct{ partition, finish geometry }

// The shapes are the fastest on an H200 for 2^28 random keys (BenchmarkSweep, and the finish's by hand), Gkeys/s of 4 and
// of 8 bytes: as they stand 70.4 and 45.2; partitions with 11 and 8 keys a work-item 64.6 and 44; the finish with 16 keys
// a work-item, of which half are then missing, 60 and 37, with 512 work-items 65 and 44, with 4096 bins 65 and 41.
func hybridShape(dev *cl.Device, p Params, wordBytes int) hybridGeometry {
	g := geometry{groupSize: min(512, dev.MaxGroup), items: 22, digitBits: 9}
	if wordBytes == 8 {
		g.items = 11
	}
	override(&g.groupSize, p.GroupSize)
	override(&g.items, p.Items)
	for g.digitBits > 1 && 1<<g.digitBits > g.groupSize {
		g.digitBits--
	}
	override(&g.digitBits, p.DigitBits)
	f := geometry{groupSize: min(256, dev.MaxGroup), items: 12, digitBits: 11}
	h := hybridGeometry{partition: g, finish: f}
	for p.Items == 0 && h.partition.items > 1 && h.partitionBytes(wordBytes) > dev.LocalBytes {
		h.partition.items--
	}
	for h.finish.items > 1 && h.finishBytes(wordBytes) > dev.LocalBytes {
		h.finish.items--
	}
	return h
}

func (h hybridGeometry) partitionBytes(wordBytes int) int64 {
	return max(int64(wordBytes)*h.partition.tile(), 8*h.partition.radix()) + 8*h.partition.radix()
}

func (h hybridGeometry) finishBytes(wordBytes int) int64 {
	return int64(wordBytes)*h.finish.tile() + 4*(h.finish.radix()+4) + 8*int64(h.finish.groupSize) + 8
}

func (h hybridGeometry) check(dev *cl.Device, wordBytes int) error {
	g := h.partition
	switch {
	case g.digitBits < 1 || g.digitBits > 10:
		return fmt.Errorf("digits of %d bits: use 1 to 10", g.digitBits)
	case g.items < 1 || g.items > 64:
		return fmt.Errorf("%d keys per work-item: use 1 to 64", g.items)
	case int64(g.groupSize) < g.radix() || g.groupSize > dev.MaxGroup:
		return fmt.Errorf("work-groups of %d: use %d to %d", g.groupSize, g.radix(), dev.MaxGroup)
	case max(h.partitionBytes(wordBytes), h.finishBytes(wordBytes)) > dev.LocalBytes:
		return fmt.Errorf("%d work-items with %d keys of %d bytes: need %d bytes of local memory, of which there are %d",
			g.groupSize, g.items, wordBytes, h.partitionBytes(wordBytes), dev.LocalBytes)
	}
	return nil
}

// hybrid are the kernels for one variant.
type hybrid struct {
	hybridGeometry
	from                      int64
	clear, count, tiles, move *cl.Kernel
	scanSections, scanBuckets *cl.Kernel
	finish                    *cl.Kernel
}

// hybridFrom is the fewest keys that are worth its many launches.
const hybridFrom = 1 << 22

const (
	hybridCountTiles = 8
	hybridSections   = 16  // at level 0
	hybridFill       = 0.7 // of a tile of the finish is the most that an even bucket holds, so that others fit too
)

func buildHybrid(b *builder, p Params) *hybrid {
	dev := b.ctx.Device()
	h := &hybrid{hybridGeometry: hybridShape(dev, p, b.v.wordBytes), from: hybridFrom}
	if p.LeadingKeys > 0 {
		h.from = p.LeadingKeys
	}
	if err := h.check(dev, b.v.wordBytes); err != nil && b.err == nil {
		b.err = err
	}
	made := b.program(h.partition, cl.Defines{"COUNT_TILES": hybridCountTiles}, "hybrid")
	h.clear, h.count = made.kernel("hybrid_clear"), made.kernel("hybrid_count")
	h.scanSections, h.scanBuckets = made.kernel("hybrid_scan_sections"), made.kernel("hybrid_scan_buckets")
	h.tiles, h.move = made.kernel("hybrid_tiles"), made.kernel("hybrid_move")
	h.finish = b.program(h.hybridGeometry.finish, nil, "hybrid_finish").kernel("hybrid_finish")
	return h
}

// plan chooses the bits, of the second partition one more where they are odd (an H200 took 1.45 and 1.50 ms with 8 and 9 for
// keys of 8 bytes, 1.78 and 1.28 with 9 and 8), or reports false where another sort is to be used.
func (h *hybrid) plan(d *Data, top, fromBit, toBit int) (hybridPlan, bool) {
	if h == nil || d.N < h.from || fromBit > 0 || toBit < d.KeyBits {
		return hybridPlan{}, false
	}
	bits := 2
	for float64(d.N>>bits) > hybridFill*float64(h.hybridGeometry.finish.tile()) {
		bits++
	}
	p := hybridPlan{top: top, first: bits / 2, second: bits - bits/2}
	p.bins = min(h.hybridGeometry.finish.digitBits, p.top-bits)
	p.room = float64(h.hybridGeometry.finish.tile()) * float64(int64(1)<<bits) / float64(d.N)
	return p, p.second <= h.partition.digitBits && p.bins > 0
}

// hybridRun is a sort under way.
type hybridRun struct {
	*hybrid
	*run
	hybridPlan
	sections, sectionTiles int64
	state                  *cl.Buffer
	counts, starts         [2]*cl.Buffer // of the two levels
	tileStarts             *cl.Buffer
}

// sort partitions twice and finishes. It reports false when that was not possible: what is there then is a permutation of
// the keys. While the host looks at the sample, the device counts what will most likely be needed.
func (h *hybrid) sort(r *run, seen *sampled, fromBit, toBit int) bool {
	if len(seen.keys) == 0 {
		return false
	}
	p, ok := h.plan(r.d, seen.top(), fromBit, toBit)
	if !ok || p.top < toBit && !seen.spread(p) {
		return false
	}
	s := h.begin(r, p)
	if p.top == toBit && !seen.spread(p) {
		return false
	}
	s.partition()
	s.launch(h.finish, s.parts(), h.hybridGeometry.finish.groupSize, r.d.Keys, r.d.Keys, s.starts[1], s.state, uint32(p.binShift()),
		uint32(1)<<p.bins-1, uint32(0))
	r.d.Passes += 3
	return r.words(s.state, 1)[0] == 0 || r.err != nil
}

func (s *hybridRun) parts() int64 { return 1 << (s.first + s.second) }

// begin counts the digits of level 0.
func (h *hybrid) begin(r *run, p hybridPlan) *hybridRun {
	g, tiles := h.partition, h.partition.groupsFor(r.d.N)
	s := &hybridRun{hybrid: h, run: r, hybridPlan: p, state: r.buffer("hybrid state", 4)}
	s.sectionTiles = (tiles/hybridSections/hybridCountTiles + 1) * hybridCountTiles
	s.sections = (tiles + s.sectionTiles - 1) / s.sectionTiles
	words := [2]int64{s.sections << p.first, s.parts()}
	for level, name := range []string{"0", "1"} {
		s.counts[level] = r.buffer("hybrid counts "+name, 4*words[level])
		s.starts[level] = r.buffer("hybrid starts "+name, 4*(int64(1)<<(p.first+level*p.second)+1))
	}
	s.tileStarts = r.buffer("hybrid tile starts", 4*(int64(1)<<p.first+1))
	r.launch(h.clear, min(256, max(words[0], words[1])/int64(g.groupSize)+1), g.groupSize, s.counts[0], s.counts[1], s.state,
		uint32(words[0]), uint32(words[1]))
	s.countDigits(0, r.d.Keys, nil, tiles)
	return s
}

// countDigits counts at a level, whose first tiles stand in a list at level 1.
func (s *hybridRun) countDigits(level int, keys, list *cl.Buffer, tiles int64) {
	bits, sectionTiles := s.level(level)
	s.launch(s.count, (tiles+hybridCountTiles-1)/hybridCountTiles, s.hybridGeometry.partition.groupSize, keys, s.counts[level], list, s.state,
		uint32(s.d.N), sectionTiles, uint32(tiles), uint32(s.shift(level)), bits, uint32(s.top))
}

func (s *hybridRun) moveKeys(level int, from, to, list *cl.Buffer, tiles int64) {
	bits, sectionTiles := s.level(level)
	s.launch(s.hybrid.move, tiles, s.hybridGeometry.partition.groupSize, from, to, s.counts[level], list, uint32(s.d.N), sectionTiles,
		uint32(s.shift(level)), bits)
}

// level is by how many bits a level sorts, and the tiles of its sections.
func (s *hybridRun) level(level int) (bits, sectionTiles uint32) {
	if level == 0 {
		return uint32(s.first), uint32(s.sectionTiles)
	}
	return uint32(s.second), 0
}

// partition goes on where begin ended, and leaves the buckets in the data.
func (s *hybridRun) partition() {
	g, n, buckets := s.hybridGeometry.partition, uint32(s.d.N), int64(1)<<s.first
	tiles := g.groupsFor(s.d.N)
	s.launch(s.scanSections, 1, g.groupSize, s.counts[0], s.starts[0], s.tileStarts, n, uint32(s.sections), uint32(s.first))
	s.moveKeys(0, s.d.Keys, s.d.KeysTmp, nil, tiles)

	tiles += buckets // each may end with one that is not full
	list := s.buffer("hybrid tiles", 16*tiles)
	s.launch(s.tiles, buckets+1, g.groupSize, list, s.starts[0], s.tileStarts, uint32(tiles))
	s.countDigits(1, s.d.KeysTmp, list, tiles)
	s.launch(s.scanBuckets, buckets, g.groupSize, s.counts[1], s.starts[0], s.starts[1], n, uint32(s.second))
	s.moveKeys(1, s.d.KeysTmp, s.d.Keys, list, tiles)
}
