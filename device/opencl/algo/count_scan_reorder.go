//go:build opencl && cgo && linux

package algo

import (
	"fmt"

	"github.com/extsort/extsort/device/opencl/cl"
)

// countScanReorder is Harada & Howes's sort with digits of up to 8 bits: count_scan_reorder.cl.
type countScanReorder struct {
	dev *cl.Device
	p   Params
}

// newCountScanReorder takes the published 4-bit kernels when 4 bits are asked for, else the fast ones.
func newCountScanReorder(ctx *cl.Context, dev *cl.Device, p Params) (Sorter, error) {
	if p.DigitBits == 4 {
		return newRadix(ctx, &published{dev: dev, p: p}, p), nil
	}
	m := &countScanReorder{dev: dev, p: p}
	if err := m.geometry().check(dev); err != nil {
		return nil, fmt.Errorf("count-scan-reorder: %w", err)
	}
	return newRadix(ctx, m, p), nil
}

// rankedGeometry is the geometry of kernels that rank tiles by rank.cl: a digit has a work-item of its own.
func rankedGeometry(dev *cl.Device, p Params, groupSize, items int) geometry {
	bits := 8
	for 1<<bits > dev.MaxGroup {
		bits--
	}
	g := geometry{groupSize: groupSize, items: items, digitBits: bits}
	if dev.MaxGroup < g.groupSize {
		g.groupSize = dev.MaxGroup
	}
	override(&g.groupSize, p.GroupSize)
	override(&g.items, p.Items)
	override(&g.digitBits, p.DigitBits)
	return g
}

func override(value *int, param int) {
	if param != 0 {
		*value = param
	}
}

// check says why kernels that rank by rank.cl could not work with this geometry.
func (g geometry) check(dev *cl.Device) error {
	switch {
	case g.digitBits < 1 || g.digitBits > 8:
		return fmt.Errorf("digits of %d bits: use 1 to 8", g.digitBits)
	case g.items < 1 || g.items > 64:
		return fmt.Errorf("%d keys per work-item: use 1 to 64", g.items)
	case g.groupSize%32 != 0 || int64(g.groupSize) < g.radix() || g.groupSize > dev.MaxGroup:
		return fmt.Errorf("work-groups of %d: use a multiple of 32 from %d to %d", g.groupSize, g.radix(), dev.MaxGroup)
	}
	return nil
}

// geometry: 256 work-items with 16 keys each fit the 48 KiB of local memory that NVIDIA gives, masks included, and
// leave room for several work-groups per unit.
func (m *countScanReorder) geometry() geometry {
	return rankedGeometry(m.dev, m.p, 256, 16)
}

func (m *countScanReorder) digitBits() int { return m.geometry().digitBits }

// rankDefines choose how a tile is ranked. As many steps between barriers as local memory has room for, up to 4:
// each costs a word per team and digit, and pairs of steps must look at each other's masks.
func rankDefines(dev *cl.Device, g geometry, ranking Ranking, maskSteps int) cl.Defines {
	if maskSteps == 0 {
		maskSteps = 4
		perStep := 4 * g.radix() * int64(g.groupSize/32)
		for maskSteps > 1 && perStep*int64(1+maskSteps)+6<<10 > dev.LocalBytes {
			maskSteps--
		}
		if ranking == RankWarpMasks {
			maskSteps = 1
		}
	}
	return cl.Defines{"RANK": int(ranking) - int(RankMasks), "MASK_STEPS": maskSteps}
}

// csrPasses are the kernels of countScanReorder for one variant.
type csrPasses struct {
	geometry       geometry
	groups         int64
	scanner        *scanner
	count, reorder *cl.Kernel
}

func (m *countScanReorder) build(b *builder) passes {
	g := m.geometry()
	ranking := m.p.Ranking
	if ranking == RankAuto {
		ranking = RankMasks
	}
	p := b.program(g, rankDefines(m.dev, g, ranking, m.p.MaskSteps), "rank", "count_scan_reorder")
	c := &csrPasses{geometry: g, groups: sections(m.dev, 8), scanner: buildScanner(b),
		count: p.kernel("count"), reorder: p.kernel("reorder")}
	if m.p.Groups > 0 {
		c.groups = int64(m.p.Groups)
	}
	return c
}

func (c *csrPasses) sort(r *run, digits []digit, bases *cl.Buffer) {
	for _, digit := range digits {
		c.pass(r, digit, bases)
	}
}

func (c *csrPasses) pass(r *run, at digit, bases *cl.Buffer) {
	groups := min(c.groups, c.geometry.groupsFor(r.d.N))
	radix := c.geometry.radix()
	shift, mask := at.args()
	table := r.buffer("table", r.v.offsetBytes()*radix*groups)
	r.launch(c.count, groups, c.geometry.groupSize, r.d.Keys, table, r.n(), shift, mask)
	c.scanner.scanRows(r, table, bases, int64(at.place)*radix, radix, groups)
	r.move(c.reorder, groups, c.geometry.groupSize, r.d.Keys, r.d.KeysTmp, table, r.n(), shift, mask)
	r.swap()
}

// published is Harada & Howes's sort as they describe it: count_scan_reorder_4.cl.
type published struct {
	dev *cl.Device
	p   Params
}

func (m *published) digitBits() int { return 4 }

// publishedPasses are the kernels of published for one variant.
type publishedPasses struct {
	geometry       geometry
	groups         int64
	scanner        *scanner
	count, reorder *cl.Kernel
}

func (m *published) build(b *builder) passes {
	g := geometry{groupSize: 64, items: 4, digitBits: 4}
	p := b.program(g, nil, "count_scan_reorder_4")
	c := &publishedPasses{geometry: g, groups: sections(m.dev, 16), scanner: buildScanner(b),
		count: p.kernel("count_items"), reorder: p.kernel("reorder_packed")}
	if m.p.Groups > 0 {
		c.groups = int64(m.p.Groups)
	}
	return c
}

func (c *publishedPasses) sort(r *run, digits []digit, _ *cl.Buffer) {
	for _, digit := range digits {
		shift, mask := digit.args()
		groups := min(c.groups, c.geometry.groupsFor(r.d.N))
		length := groups * c.geometry.radix()
		table := r.buffer("table", r.v.offsetBytes()*length)
		r.launch(c.count, groups, c.geometry.groupSize, r.d.Keys, table, r.n(), shift, mask)
		r.launch(c.scanner.single, 1, c.scanner.geometry.groupSize, table, uint64(length))
		r.move(c.reorder, groups, c.geometry.groupSize, r.d.Keys, r.d.KeysTmp, table, r.n(), shift, mask)
		r.swap()
	}
}
