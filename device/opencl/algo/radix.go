//go:build opencl && cgo && linux

package algo

import (
	"slices"

	"github.com/extsort/extsort/device/opencl/cl"
)

// digit is a part of the key that one pass sorts by.
type digit struct {
	place int // 0 for the least significant
	shift int
	mask  uint32
}

// digitsOf cuts the bits from ≤ b < to into digits, the last perhaps narrower.
func digitsOf(from, to, bits int) []digit {
	var list []digit
	for shift := from; shift < to; shift += bits {
		width := min(bits, to-shift)
		list = append(list, digit{place: len(list), shift: shift, mask: 1<<width - 1})
	}
	return list
}

// passes are what the radix sorts differ in: a method's kernels for one variant.
type passes interface {
	bits() int // that a pass sorts by

	// sort runs a pass for each digit and leaves the result in r.d. bases holds, for each place, the position
	// where the keys of each digit value begin.
	sort(r *run, digits []digit, bases *cl.Buffer)
}

// radix sorts digit by digit, least significant first, by passes that are stable.
type radix struct {
	passes    passes
	histogram *histogram
	sampler   *sampler
	leading   *leading // nil where it cannot pay
	shortFrom int64    // the fewest keys for hybrid or tail, either of which the algorithm hybrid may have
	hybrid    *hybrid
	tail      *tail
	window    *window // nil where keys that share a digit are not found by ballots
}

// radixBy is the radix sort by a method's passes.
func radixBy(method func(*builder, Params) passes) func(*builder, Params) engine {
	return func(b *builder, p Params) engine { return buildRadix(b, p, method(b, p)) }
}

func buildRadix(b *builder, p Params, made passes) *radix {
	x := &radix{passes: made, histogram: buildHistogram(b, made.bits()), sampler: buildSampler(b, p.least(sampleFrom))}
	if b.v.wordBytes == 8 && p.LeadingKeys >= 0 {
		x.leading = buildLeading(b)
	}
	return x
}

// sort sorts by all digits that are not constant, or by the leading ones where that is enough.
func (x *radix) sort(r *run, fromBit, toBit int) {
	seen := x.sampler.look(r, fromBit, toBit)
	if x.sampler.inOrder(r, seen, fromBit, toBit) {
		return
	}
	if r.d.N >= x.shortFrom && fromBit == 0 && toBit >= r.d.KeyBits &&
		(x.hybrid.sort(r, seen, toBit) || x.tail.sort(x, r, seen, toBit)) {
		return
	}
	tieBit := x.leading.tieBit(seen, r.d.N, fromBit, toBit)
	if p, ok := x.window.plan(r, seen, fromBit, toBit, seen.varying(digitsOf(tieBit, toBit, x.passes.bits()))); ok {
		if x.window.sort(x, r, p, toBit) {
			return
		}
		seen = &sampled{}
	}
	if tieBit > fromBit {
		x.digits(r, seen, fromBit, tieBit, toBit)
		if x.leading.repair(r, fromBit, tieBit, toBit) {
			return
		}
	}
	x.digits(r, seen, fromBit, fromBit, toBit)
}

// digits runs a pass for every digit from lowBit on that varies. The histogram is waited for only where the sample,
// which begins with fromBit, does not show that all of them do.
func (x *radix) digits(r *run, seen *sampled, fromBit, lowBit, toBit int) {
	varying := digitsOf(lowBit, toBit, x.passes.bits())
	bases, varies := x.histogram.run(r, lowBit, toBit, len(varying), 0)
	if slices.ContainsFunc(varying, func(d digit) bool { return !seen.shows(d.shift-fromBit, uint64(d.mask)) }) {
		flags := r.words(varies, len(varying), 4)
		varying = slices.DeleteFunc(varying, func(d digit) bool { return flags[d.place] == 0 })
		if p, ok := x.window.plan(r, seen, lowBit, toBit, len(varying)); ok { // keys that the sample does not have
			if !x.window.sort(x, r, p, toBit) {
				x.digits(r, &sampled{}, fromBit, lowBit, toBit)
			}
			return
		}
	}
	if r.err == nil && len(varying) > 0 {
		x.passes.sort(r, varying, bases)
		r.d.Passes += len(varying)
	}
}

// histogram counts all digits of the keys at once, see histogram.cl.
type histogram struct {
	geometry
	sections           int64
	clear, count, scan *cl.Kernel
}

// shortcutFrom is the fewest keys that are worth the many launches of a shortcut.
const shortcutFrom = 1 << 22

const histogramUnroll = 8

func buildHistogram(b *builder, digitBits int) *histogram {
	g := geometry{groupSize: min(256, b.device().MaxGroup), items: histogramUnroll, digitBits: digitBits}
	places := (8*b.v.wordBytes + digitBits - 1) / digitBits
	kernel := b.program(g, cl.Defines{"HIST_UNROLL": histogramUnroll, "HIST_PLACES": places}, "histogram")
	return &histogram{geometry: g, sections: sections(b.device(), 8),
		clear: kernel("histogram_clear"), count: kernel("histogram_count"), scan: kernel("histogram_scan")}
}

// run tells where the keys of each digit value begin, and which places vary, both in memory of the device. A clamped
// digit begins with the value least.
func (h *histogram) run(r *run, fromBit, toBit, places int, least uint64) (bases, varies *cl.Buffer) {
	words := int64(8*r.v.wordBytes+h.digitBits) * h.radix()
	counts := r.buffer("counts", 8*words)
	bases = r.offsets("bases", words)
	varies = r.buffer("varies", 4*64)
	r.launch(h.clear, 1, h.groupSize, counts, uint32(2*words))
	r.launch(h.count, min(h.sections, h.groupsFor(r.d.N)), h.groupSize,
		r.d.Keys, counts, r.n(), uint32(fromBit), uint32(toBit), r.word(least))
	r.launch(h.scan, int64(places), int(h.radix()), counts, bases, varies, r.n())
	return bases, varies
}
