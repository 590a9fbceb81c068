//go:build opencl && cgo && linux

package algo

import (
	"fmt"

	"github.com/extsort/extsort/device/opencl/cl"
)

// binning is the sort of Intel's tutorial, binning.cl, with 4 bins (DigitBits 2) or 16 (4, the default).
type binning struct {
	dev *cl.Device
	p   Params
}

const (
	binningLanes = 32  // work-items of a chunk
	binningChunk = 256 // keys of a chunk
)

func newBinning(ctx *cl.Context, dev *cl.Device, p Params) (Sorter, error) {
	m := &binning{dev: dev, p: p}
	g := m.geometry()
	if g.digitBits != 2 && g.digitBits != 4 {
		return nil, fmt.Errorf("binning: digits of %d bits: use 2 or 4", g.digitBits)
	}
	if g.groupSize%binningLanes != 0 || g.groupSize < binningLanes || g.groupSize > min(512, dev.MaxGroup) {
		return nil, fmt.Errorf("binning: work-groups of %d: use a multiple of %d up to %d", g.groupSize, binningLanes, min(512, dev.MaxGroup))
	}
	return newRadix(ctx, m, p), nil
}

func (m *binning) geometry() geometry {
	g := geometry{groupSize: 128, items: binningChunk / binningLanes, digitBits: 4}
	override(&g.groupSize, m.p.GroupSize)
	override(&g.digitBits, m.p.DigitBits)
	return g
}

func (m *binning) digitBits() int { return m.geometry().digitBits }

// binningPasses are the kernels of binning for one variant.
type binningPasses struct {
	geometry    geometry
	scanner     *scanner
	count, bins *cl.Kernel
}

func (m *binning) build(b *builder) passes {
	p := b.program(m.geometry(), nil, "binning")
	return &binningPasses{geometry: m.geometry(), scanner: buildScanner(b),
		count: p.kernel("binning_count"), bins: p.kernel("binning_move")}
}

func (m *binningPasses) sort(r *run, digits []digit, _ *cl.Buffer) {
	length := (r.d.N + binningChunk - 1) / binningChunk * m.geometry.radix()
	groups := m.geometry.groupsFor(r.d.N)
	for _, digit := range digits {
		shift, mask := digit.args()
		table := r.buffer("table", r.v.offsetBytes()*length)
		r.launch(m.count, groups, m.geometry.groupSize, r.d.Keys, table, r.n(), shift, mask)
		m.scanner.scan(r, table, length)
		r.move(m.bins, groups, m.geometry.groupSize, r.d.Keys, r.d.KeysTmp, table, r.n(), shift, mask)
		r.swap()
	}
}
