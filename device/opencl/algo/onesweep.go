//go:build opencl && cgo && linux

package algo

import (
	"cmp"
	"strings"
	"sync"

	"github.com/extsort/extsort/device/opencl/cl"
)

// onesweep contains the kernels of Adinets & Merrill's sort for one variant, onesweep.cl. If it
// cannot run or gives up, the passes of count-scan-reorder run instead.
type onesweep struct {
	geometry
	sections     int64
	stateBytes   int64
	clear, sweep *cl.Kernel
	portable     func() (passes, error) // built when a pass gives up

	abortAt int // for tests: the number of the pass, from 1, that pretends to give up
}

// onesweepTuning contains the fastest work-group sizes and keys per work-item for devices that do
// not need masks. They were measured on an NVIDIA H200, driver 580, with 2^28 random keys. The
// command "extsort tune" measures them on other devices.
var onesweepTuning = map[variant]struct{ groupSize, items int }{
	{wordBytes: 4}:               {512, 20},
	{wordBytes: 4, values: true}: {384, 20},
	{wordBytes: 8}:               {256, 14},
	{wordBytes: 8, values: true}: {384, 14},
}

// onesweepShape returns the measured shape, or a smaller one if masks need local memory, too.
func onesweepShape(
	dev *cl.Device,
	p Params,
	v variant,
	ranking Ranking,
) ranked {
	if ranking == RankMasks || ranking == RankSubgroups {
		return newRanked(dev, p, v, ranking, 256, 16)
	}
	v.wide = false
	best := onesweepTuning[v]
	return newRanked(dev, p, v, ranking, best.groupSize, best.items)
}

func buildOnesweep(b *builder, p Params) passes {
	dev := b.device()
	ranking := cmp.Or(p.Ranking, RankMasks)
	if !b.checksOnly {
		ranking = rankingFor(b.ctx, p)
	}
	shape := onesweepShape(dev, p, b.v, ranking)
	fallback := func() passes {
		return buildCountScanReorder(b, Params{DigitBits: shape.digitBits})
	}
	nvidia := strings.Contains(dev.Vendor, "NVIDIA")
	if b.v.wide && !nvidia && !dev.Has("cl_khr_int64_base_atomics") {
		return fallback() // the device cannot publish 64-bit states to other groups
	}
	states := cl.Defines{
		"STATE_BITS":      int(8 * b.v.offsetBytes()),
		"VOLATILE_STATES": asFlag(nvidia),
	}
	kernel := shape.program(b, states, "rank", "onesweep")
	return &onesweep{geometry: shape.geometry, sections: sections(dev, 8), stateBytes: b.v.offsetBytes(),
		clear: kernel("onesweep_clear"), sweep: kernel("onesweep_pass"),
		portable: sync.OnceValues(func() (passes, error) {
			made := fallback()
			return made, b.err
		})}
}

// HasBallots reports whether onesweep ranks by ballots on the context's device (rank.cl). It
// builds and runs a kernel to find out. With ballots, onesweep is the fastest sort.
func HasBallots(ctx *cl.Context) bool {
	return rankingFor(ctx, Params{}) != RankMasks
}

// rankingFor returns the requested ranking, or the fastest one that the device supports.
func rankingFor(ctx *cl.Context, p Params) Ranking {
	dev := ctx.Device
	switch {
	case p.Ranking != RankAuto:
		return p.Ranking
	case strings.Contains(dev.Vendor, "NVIDIA") && probe(ctx, RankBallots):
		return RankBallots
	case dev.Has("cl_khr_subgroup_ballot") && probe(ctx, RankSubgroups):
		return RankSubgroups
	}
	return RankMasks
}

// sort queues all passes. If one of them gave up, it runs the remaining passes without look-back.
func (o *onesweep) sort(r *run, digits []digit, bases *cl.Buffer) {
	tickets := r.buffer("tickets", 4*64)
	abort := r.buffer("abort", 4)
	r.fill(abort, 0)
	before := make([]Data, len(digits))
	for i, digit := range digits {
		if i+1 == o.abortAt {
			r.fill(abort, uint32(i+1))
		}
		before[i] = *r.d
		o.pass(
			r,
			i,
			digit.place,
			digit.shift,
			digit.mask,
			bases,
			tickets,
			abort,
		)
	}
	failed := r.readFlag(abort)
	if failed == 0 || r.err != nil {
		return
	}
	*r.d = before[failed-1]
	rest, err := o.portable()
	if r.err = err; err == nil {
		rest.sort(r, digits[failed-1:], bases)
	}
}

func (o *onesweep) pass(
	r *run,
	pass, place, shift int,
	mask any,
	bases, tickets, abort *cl.Buffer,
) {
	tiles := o.groupsFor(r.d.N)
	words := tiles * o.radix()
	states := r.buffer("states", o.stateBytes*words)
	r.launch(
		o.clear,
		min(o.sections, tiles),
		o.groupSize,
		states,
		tickets,
		uint64(words),
		uint32(pass),
	)
	r.launchAndSwap(o.sweep, tiles, o.groupSize, bases, states, tickets, abort, r.keyCount(), uint32(pass),
		uint32(place), uint32(shift), mask)
}

// probe reports whether the device computes correct ranks with a ranking that not all devices
// support, by trying it.
func probe(ctx *cl.Context, ranking Ranking) bool {
	b := &builder{ctx: ctx, v: variant{wordBytes: 4}}
	defer b.release()
	// The keys of probe.cl are digits.
	g := newRanked(
		ctx.Device,
		Params{DigitBits: maxDigitBits},
		b.v,
		ranking,
		256,
		6,
	)
	k := g.program(b, nil, "rank", "probe")("probe")
	if b.err != nil {
		return false
	}
	q, err := ctx.NewQueue()
	if err != nil {
		return false
	}
	defer q.Release()
	const groups = 4
	r := &run{Sorter: &Sorter{ctx: ctx, scratch: map[string]*cl.Buffer{}}, q: q}
	ok := r.buffer("ok", 4*groups*int64(g.groupSize))
	defer ok.Release()
	r.launch(k, groups, g.groupSize, ok)
	for _, good := range r.readWords(ok, groups*g.groupSize, 4) {
		if good != 1 {
			return false
		}
	}
	return r.err == nil
}
