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
	if err := m.shape(4).check(dev, 4, false); err != nil {
		return nil, fmt.Errorf("count-scan-reorder: %w", err)
	}
	return newRadix(ctx, m, p), nil
}

// shape: 256 work-items with 16 keys each fit the 48 KiB of local memory that NVIDIA gives, masks included, and leave
// room for several work-groups per unit.
func (m *countScanReorder) shape(wordBytes int) ranked {
	ranking := m.p.Ranking
	if ranking == RankAuto {
		ranking = RankMasks
	}
	return newRanked(m.dev, m.p, wordBytes, ranking, 256, 16)
}

func (m *countScanReorder) digitBits() int { return m.shape(4).digitBits }

// csrPasses are the kernels of countScanReorder for one variant.
type csrPasses struct {
	geometry       geometry
	groups         int64
	scanner        *scanner
	count, reorder *cl.Kernel
}

func (m *countScanReorder) build(b *builder) passes {
	shape := m.shape(b.v.wordBytes)
	p := shape.program(b, m.dev, nil, "rank", "count_scan_reorder")
	c := &csrPasses{geometry: shape.geometry, groups: sections(m.dev, 8), scanner: buildScanner(b),
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
