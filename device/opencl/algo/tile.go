//go:build opencl && cgo && linux

package algo

import (
	"fmt"

	"github.com/extsort/extsort/device/opencl/cl"
)

// tile is the sort that Koppelman analyses, tile.cl: his h, e and B are DigitBits, Items and GroupSize.
type tile struct {
	dev *cl.Device
	p   Params
}

func newTile(ctx *cl.Context, dev *cl.Device, p Params) (Sorter, error) {
	m := &tile{dev: dev, p: p}
	if err := m.geometry().checkTile(dev); err != nil {
		return nil, fmt.Errorf("tile: %w", err)
	}
	return newRadix(ctx, m, p), nil
}

func (m *tile) geometry() geometry { return tileGeometry(m.dev, m.p) }

func (m *tile) digitBits() int { return m.geometry().digitBits }

// tilePasses are the kernels of tile for one variant.
type tilePasses struct {
	geometry      geometry
	scanner       *scanner
	sorts, moving *cl.Kernel
}

func (m *tile) build(b *builder) passes {
	g := m.geometry()
	p := b.program(g, nil, "localsplit", "tile")
	return &tilePasses{geometry: g, scanner: buildScanner(b), sorts: p.kernel("tile_sort"), moving: p.kernel("tile_scatter")}
}

// sort goes to the other buffers and back with every digit: tiles sorted there, keys scattered back.
func (t *tilePasses) sort(r *run, digits []digit, _ *cl.Buffer) {
	tiles := t.geometry.groupsFor(r.d.N)
	length := tiles * t.geometry.radix()
	for _, digit := range digits {
		shift, mask := digit.args()
		table := r.buffer("table", r.v.offsetBytes()*length)
		r.move(t.sorts, tiles, t.geometry.groupSize, r.d.Keys, r.d.KeysTmp, table, r.n(), shift, mask)
		r.swap()
		t.scanner.scan(r, table, length)
		r.move(t.moving, tiles, t.geometry.groupSize, r.d.Keys, r.d.KeysTmp, table, r.n(), shift, mask)
		r.swap()
	}
}
