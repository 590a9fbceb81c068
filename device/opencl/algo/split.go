//go:build opencl && cgo && linux

package algo

import (
	"fmt"

	"github.com/extsort/extsort/device/opencl/cl"
)

// split is Dillhoff's sort, split.cl: with DigitBits 1 the kernel of one bit per pass, else the coalesced one.
type split struct {
	dev *cl.Device
	p   Params
}

func newSplit(ctx *cl.Context, dev *cl.Device, p Params) (Sorter, error) {
	m := &split{dev: dev, p: p}
	if err := m.geometry().checkTile(dev); err != nil {
		return nil, fmt.Errorf("split: %w", err)
	}
	return newRadix(ctx, m, p), nil
}

func (m *split) geometry() geometry { return tileGeometry(m.dev, m.p) }

func (m *split) digitBits() int { return m.geometry().digitBits }

// tileGeometry is the geometry of kernels that sort a tile by localsplit.cl. The defaults are Koppelman's examples.
func tileGeometry(dev *cl.Device, p Params) geometry {
	g := geometry{groupSize: min(256, dev.MaxGroup), items: 4, digitBits: 4}
	override(&g.groupSize, p.GroupSize)
	override(&g.items, p.Items)
	override(&g.digitBits, p.DigitBits)
	return g
}

// checkTile says why kernels that sort tiles by localsplit.cl could not work with this geometry.
func (g geometry) checkTile(dev *cl.Device) error {
	local := g.tile()*12 + 8*int64(g.groupSize) + 4*g.radix() + 64
	switch {
	case g.digitBits < 1 || g.digitBits > 8:
		return fmt.Errorf("digits of %d bits: use 1 to 8", g.digitBits)
	case g.groupSize < 1 || g.groupSize > dev.MaxGroup || g.items < 1:
		return fmt.Errorf("work-groups of %d with %d keys per work-item: use 1 to %d and at least 1", g.groupSize, g.items, dev.MaxGroup)
	case local > dev.LocalBytes:
		return fmt.Errorf("tiles of %d keys: need %d bytes of local memory, of which there are %d", g.tile(), local, dev.LocalBytes)
	}
	return nil
}

// splitPasses are the kernels of split for one variant.
type splitPasses struct {
	geometry       geometry
	groups         int64
	scanner        *scanner
	bits, scatter  *cl.Kernel
	count, buckets *cl.Kernel
}

func (m *split) build(b *builder) passes {
	g := m.geometry()
	p := b.program(g, nil, "localsplit", "split")
	return &splitPasses{
		geometry: g, groups: sections(m.dev, 16), scanner: buildScanner(b),
		bits: p.kernel("split_bits"), scatter: p.kernel("split_scatter"),
		count: p.kernel("split_count"), buckets: p.kernel("split_buckets"),
	}
}

func (s *splitPasses) sort(r *run, digits []digit, _ *cl.Buffer) {
	for _, digit := range digits {
		if s.geometry.digitBits == 1 {
			s.bit(r, uint32(digit.shift))
		} else {
			s.digit(r, digit)
		}
		r.swap()
	}
}

// bit is a pass by one bit; its table has an entry per key, and one for the sum.
func (s *splitPasses) bit(r *run, shift uint32) {
	length := r.d.N + 1
	bits := r.buffer("table", r.v.offsetBytes()*length)
	r.launch(s.bits, s.groups, s.geometry.groupSize, r.d.Keys, bits, r.n(), shift)
	s.scanner.scan(r, bits, length)
	r.move(s.scatter, s.groups, s.geometry.groupSize, r.d.Keys, r.d.KeysTmp, bits, r.n(), shift)
}

func (s *splitPasses) digit(r *run, at digit) {
	tiles := s.geometry.groupsFor(r.d.N)
	length := tiles * s.geometry.radix()
	shift, mask := at.args()
	table := r.buffer("table", r.v.offsetBytes()*length)
	r.launch(s.count, tiles, s.geometry.groupSize, r.d.Keys, table, r.n(), shift, mask)
	s.scanner.scan(r, table, length)
	r.move(s.buckets, tiles, s.geometry.groupSize, r.d.Keys, r.d.KeysTmp, table, r.n(), shift, mask)
}
