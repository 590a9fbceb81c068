//go:build opencl && cgo && linux

package algo

import (
	"fmt"
	"strings"
	"sync"

	"github.com/extsort/extsort/device/opencl/cl"
)

// onesweep is Adinets & Merrill's sort, onesweep.cl. Where it cannot run, or gives up, the passes are those of
// countScanReorder.
type onesweep struct {
	dev      *cl.Device
	p        Params
	portable *countScanReorder

	abortAt int // for tests: the pass, counted from 1, that finds the sort given up
}

func newOnesweep(ctx *cl.Context, dev *cl.Device, p Params) (Sorter, error) {
	m := &onesweep{dev: dev, p: p, portable: &countScanReorder{dev: dev, p: Params{DigitBits: p.DigitBits}}}
	if err := m.shape(variant{wordBytes: 4}, max(p.Ranking, RankMasks)).check(dev, 4, false); err != nil {
		return nil, fmt.Errorf("onesweep: %w", err)
	}
	return newRadix(ctx, m, p), nil
}

func (m *onesweep) digitBits() int { return m.shape(variant{wordBytes: 4}, RankMasks).digitBits }

// shape: the fastest on an H200 for 2^28 random keys (BenchmarkSweep): keys of 4 bytes 47.2 Gkeys/s with 512 × 20, 43.9 with
// 384 × 20, the other way round with values, 32.5 and 26.8; keys of 8 bytes 16.2 with 256 × 14, 11.9 with 384 × 14, 12.5 with
// 512 × 11, the other way round with values, 12.5 with 384 × 14, 11.2 with 256 × 14. Masks take local memory themselves.
func (m *onesweep) shape(v variant, ranking Ranking) ranked {
	switch {
	case ranking == RankMasks || ranking == RankSubgroups:
		return newRanked(m.dev, m.p, v.wordBytes, ranking, 256, 16)
	case v.wordBytes == 4 && v.values:
		return newRanked(m.dev, m.p, v.wordBytes, ranking, 384, 20)
	case v.wordBytes == 4:
		return newRanked(m.dev, m.p, v.wordBytes, ranking, 512, 20)
	case v.values:
		return newRanked(m.dev, m.p, v.wordBytes, ranking, 384, 14)
	}
	return newRanked(m.dev, m.p, v.wordBytes, ranking, 256, 14)
}

// onesweepPasses are the kernels of onesweep for one variant.
type onesweepPasses struct {
	method      *onesweep
	geometry    geometry
	stateBytes  int64
	clear, pass *cl.Kernel
	portable    func() (passes, error) // built when a pass gives up
}

func (m *onesweep) build(b *builder) passes {
	nvidia := strings.Contains(m.dev.Vendor, "NVIDIA")
	if b.v.wide && !nvidia && !m.dev.Has("cl_khr_int64_base_atomics") {
		return m.portable.build(b) // 64-bit states cannot be told to other groups here
	}
	shape := m.shape(b.v, m.ranking(b))
	states := cl.Defines{"STATE_BITS": int(8 * b.v.offsetBytes()), "VOLATILE_STATES": asFlag(nvidia)}
	p := shape.program(b, m.dev, states, "rank", "onesweep")
	portable := sync.OnceValues(func() (passes, error) { made := m.portable.build(b); return made, b.err })
	return &onesweepPasses{method: m, geometry: shape.geometry, stateBytes: b.v.offsetBytes(), portable: portable,
		clear: p.kernel("onesweep_clear"), pass: p.kernel("onesweep_pass")}
}

// ranking is the one asked for, or the fastest that the device can do.
func (m *onesweep) ranking(b *builder) Ranking {
	if m.p.Ranking != RankAuto {
		return m.p.Ranking
	}
	switch {
	case strings.Contains(m.dev.Vendor, "NVIDIA") && probe(b, m.dev, RankBallots):
		return RankBallots
	case m.dev.Has("cl_khr_subgroup_ballot") && probe(b, m.dev, RankSubgroups):
		return RankSubgroups
	}
	return RankMasks
}

// sort queues all passes, then looks whether one of them gave up.
func (o *onesweepPasses) sort(r *run, digits []digit, bases *cl.Buffer) {
	tickets := r.buffer("tickets", 4*64)
	abort := r.buffer("abort", 4)
	r.fill(abort, 0)
	before := make([]Data, len(digits))
	for i, digit := range digits {
		if i+1 == o.method.abortAt {
			r.fill(abort, uint32(i+1))
		}
		before[i] = *r.d
		o.one(r, i, digit, bases, tickets, abort)
	}
	if failed := r.words(abort, 1)[0]; failed != 0 && r.err == nil {
		*r.d = before[failed-1]
		o.goOn(r, digits[failed-1:], bases)
	}
}

// goOn runs the passes that are left without looking back.
func (o *onesweepPasses) goOn(r *run, digits []digit, bases *cl.Buffer) {
	portable, err := o.portable()
	if err != nil {
		r.err = err
		return
	}
	portable.sort(r, digits, bases)
}

func (o *onesweepPasses) one(r *run, pass int, at digit, bases, tickets, abort *cl.Buffer) {
	g := o.geometry
	tiles := g.groupsFor(r.d.N)
	words := tiles * g.radix()
	states := r.buffer("states", o.stateBytes*words)
	r.launch(o.clear, min(sections(o.method.dev, 8), tiles), g.groupSize, states, tickets, uint64(words), uint32(pass))
	shift, mask := at.args()
	r.move(o.pass, tiles, g.groupSize, r.d.Keys, r.d.KeysTmp, bases, states, tickets, abort, r.n(), uint32(pass),
		uint32(at.place), shift, mask)
	r.swap()
}

// probe reports whether a ranking that needs inline PTX gives the right ranks on this device, by trying.
func probe(b *builder, dev *cl.Device, ranking Ranking) bool {
	own := &builder{ctx: b.ctx, v: variant{wordBytes: 4}}
	defer own.release()
	g := newRanked(dev, Params{}, 4, ranking, 256, 6)
	k := g.program(own, dev, nil, "rank", "probe").kernel("probe")
	if own.err != nil {
		return false
	}
	q, err := b.ctx.NewQueue()
	if err != nil {
		return false
	}
	defer q.Release()
	const groups = 4
	r := &run{ctx: b.ctx, q: q, space: &space{buffers: map[string]*cl.Buffer{}}}
	ok := r.buffer("ok", 4*groups*int64(g.groupSize))
	defer ok.Release()
	r.launch(k, groups, g.groupSize, ok)
	for _, good := range r.words(ok, groups*g.groupSize) {
		if good != 1 {
			return false
		}
	}
	return r.err == nil
}
