//go:build opencl && cgo && linux

package algo

import (
	"slices"

	"github.com/extsort/extsort/device/opencl/cl"
)

// A digit is the part of the key that one pass sorts by.
type digit struct {
	place int // 0 for the least significant
	shift int
	mask  uint32
}

// digitsOf divides the bits from ≤ b < to into digits. The last one may be narrower.
func digitsOf(from, to, bits int) []digit {
	var list []digit
	for shift := from; shift < to; shift += bits {
		width := min(bits, to-shift)
		list = append(list, digit{
			place: len(list),
			shift: shift,
			mask:  1<<width - 1,
		})
	}
	return list
}

// passes are the kernels of a method for one variant. They are the difference between the radix
// sorts.
type passes interface {
	bits() int // bits per pass

	// sort runs one pass for each digit and leaves the result in r.d. For each place, bases
	// contains the position where the keys with each digit value begin.
	sort(r *run, digits []digit, bases *cl.Buffer)
}

// radix sorts by digits, least significant first, with stable passes.
type radix struct {
	passes    passes
	histogram *histogram
	sampler   *sampler
	leading   *leading // nil if it cannot save time
	// Minimum number of keys for hybrid or tail; the algorithm hybrid has one of them.
	shortFrom int64
	hybrid    *hybrid
	tail      *tail
	window    *window // nil if the device cannot find keys with equal digits by ballots
}

// radixBy returns the builder of a radix sort with a method's passes.
func radixBy(
	method func(*builder, Params) passes,
) func(*builder, Params) kernelSet {
	return func(b *builder, p Params) kernelSet {
		return buildRadix(b, p, method(b, p))
	}
}

func buildRadix(b *builder, p Params, made passes) *radix {
	x := &radix{
		passes:    made,
		histogram: buildHistogram(b, made.bits()),
		sampler:   buildSampler(b, p.minKeys(sampleFrom)),
	}
	if b.v.wordBytes == 8 && p.LeadingKeys >= 0 {
		x.leading = buildLeading(b)
	}
	return x
}

// sort sorts by all digits that vary, or only by the leading digits if these are enough.
func (x *radix) sort(r *run, fromBit, toBit int) {
	seen := x.sampler.takeSample(r, fromBit, toBit)
	if x.sampler.inOrder(r, seen, fromBit, toBit) || x.sampler.reversed(r, seen, fromBit, toBit) {
		return
	}
	if r.d.N >= x.shortFrom && fromBit == 0 && toBit >= r.d.KeyBits &&
		(x.hybrid.sort(r, seen, toBit) || x.tail.sort(x, r, seen, toBit)) {
		return
	}
	tieBit := x.leading.tieBit(seen, r.d.N, fromBit, toBit)
	p, ok := x.window.plan(r, seen, fromBit, toBit, seen.countVarying(digitsOf(tieBit, toBit, x.passes.bits())))
	if ok {
		if x.window.sort(x, r, p, toBit) {
			return
		}
		seen = &sampled{}
	}
	if tieBit > fromBit {
		x.sortDigits(r, seen, fromBit, tieBit, toBit)
		if x.leading.repair(r, fromBit, tieBit, toBit) {
			return
		}
	}
	x.sortDigits(r, seen, fromBit, fromBit, toBit)
}

// sortDigits runs a pass for every digit from lowBit on that varies. It waits for the histogram
// unless the sample, whose keys are shifted by fromBit, shows that all digits vary.
func (x *radix) sortDigits(r *run, seen *sampled, fromBit, lowBit, toBit int) {
	varying := digitsOf(lowBit, toBit, x.passes.bits())
	bases, varies := x.histogram.countAll(r, lowBit, toBit, len(varying), 0)
	if slices.ContainsFunc(varying, func(d digit) bool { return !seen.provesVaried(d.shift-fromBit, uint64(d.mask)) }) {
		flags := r.readWords(varies, len(varying), 4)
		varying = slices.DeleteFunc(varying, func(d digit) bool {
			return flags[d.place] == 0
		})
		// Keys missing from the sample make more digits vary. Sort by a window if that saves
		// passes.
		p, ok := x.window.plan(r, seen, lowBit, toBit, len(varying))
		if ok {
			if !x.window.sort(x, r, p, toBit) {
				x.sortDigits(r, &sampled{}, fromBit, lowBit, toBit)
			}
			return
		}
	}
	if r.err == nil && len(varying) > 0 {
		x.passes.sort(r, varying, bases)
		r.d.Passes += len(varying)
	}
}

// A histogram counts all digits of the keys at once, see histogram.cl.
type histogram struct {
	geometry
	sections           int64
	clear, count, scan *cl.Kernel
}

// shortcutFrom is the minimum number of keys for a shortcut, which needs many launches.
const shortcutFrom = 1 << 22

const histogramUnroll = 8

func buildHistogram(b *builder, digitBits int) *histogram {
	g := geometry{
		groupSize: min(256, b.device().MaxGroup),
		items:     histogramUnroll,
		digitBits: digitBits,
	}
	places := (8*b.v.wordBytes + digitBits - 1) / digitBits
	kernel := b.program(g, cl.Defines{
		"HIST_UNROLL": histogramUnroll,
		"HIST_PLACES": places,
	}, "histogram")
	return &histogram{geometry: g, sections: sections(b.device(), 8),
		clear: kernel("histogram_clear"), count: kernel("histogram_count"), scan: kernel("histogram_scan")}
}

// countAll returns two buffers: the positions where the keys of each digit value begin, and the
// places that vary. A clamped digit begins with the value least.
func (h *histogram) countAll(
	r *run,
	fromBit, toBit, places int,
	least uint64,
) (bases, varies *cl.Buffer) {
	words := int64(8*r.v.wordBytes+h.digitBits) * h.radix()
	counts := r.buffer("counts", 8*words)
	bases = r.offsetBuffer("bases", words)
	varies = r.buffer("varies", 4*64)
	r.launch(h.clear, 1, h.groupSize, counts, uint32(2*words))
	r.launch(h.count, min(h.sections, h.groupsFor(r.d.N)), h.groupSize,
		r.d.Keys, counts, r.keyCount(), uint32(fromBit), uint32(toBit), r.toWord(least))
	r.launch(
		h.scan,
		int64(places),
		int(h.radix()),
		counts,
		bases,
		varies,
		r.keyCount(),
	)
	return bases, varies
}
