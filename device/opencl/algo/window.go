//go:build opencl && cgo && linux

package algo

import (
	"slices"
	"sync"

	"github.com/extsort/extsort/device/opencl/cl"
)

// window sorts keys that are nearly all close to each other, for example counts with a few large
// ones among them. The last pass treats all bits from its digit on as one digit, clamped to a
// window of values (digit_of in prelude.cl). This saves the passes above it. The few keys outside
// of the window end up at both ends, where they are sorted separately.
type window struct {
	from    int64
	bits    int
	kernels func() (*windowKernels, error) // built at first use, because that takes time
}

type windowKernels struct {
	histogram *histogram
	last      *onesweep // nil if the device cannot run onesweep
}

const (
	windowFrom  = 1 << 24 // with fewer keys, the sort is faster than evaluating the sample
	windowShare = 128     // at most 1 key in 128 may be outside
)

func buildWindow(b *builder, p Params, bits int) *window {
	return &window{from: p.minKeys(windowFrom), bits: bits, kernels: sync.OnceValues(func() (*windowKernels, error) {
		b.clamped = true
		defer func() { b.clamped = false }()
		last, _ := buildOnesweep(b, Params{}).(*onesweep)
		return &windowKernels{buildHistogram(b, bits), last}, b.err
	})}
}

// windowPlan contains the number of digits to sort by, and the value where the clamped digit
// begins.
type windowPlan struct {
	places int
	least  uint64
}

// plan returns a plan that saves some of the passes that would otherwise be needed, if there is
// one.
func (w *window) plan(
	r *run,
	seen *sampled,
	fromBit, toBit, otherwise int,
) (p windowPlan, ok bool) {
	if w == nil || fromBit > 0 || toBit < r.d.KeyBits || r.d.N < w.from ||
		len(seen.keys) == 0 ||
		otherwise < 2 {
		return p, false
	}
	p, ok = seen.planWindow(w.bits, toBit)
	return p, ok && p.places < otherwise
}

// planWindow returns the plan with the fewest digits for which few keys of the sample are outside.
func (s *sampled) planWindow(digitBits, toBit int) (p windowPlan, ok bool) {
	sorted := slices.Sorted(slices.Values(s.keys))
	spare := max(len(sorted)/windowShare-2, 0)
	// The first and the last value of the digit are for keys outside.
	inside := uint64(1)<<digitBits - 2
	for places := 1; places*digitBits < toBit; places++ {
		shift := (places - 1) * digitBits
		for below := 0; below <= spare; below++ {
			least := sorted[below] >> shift
			most := sorted[len(sorted)-1-spare+below] >> shift
			if span := most - least; span < inside {
				least -= min(least, 1+(inside-1-span)/2)
				return windowPlan{places, least}, true
			}
		}
	}
	return p, false
}

// sort returns false if too many keys are outside. The data is then a permutation in which equal
// keys have kept their order.
func (w *window) sort(x *radix, r *run, p windowPlan, toBit int) bool {
	k, err := w.kernels()
	if r.err = err; err != nil || k.last == nil {
		return err != nil
	}
	digits := digitsOf(0, p.places*w.bits, w.bits)
	bases, varies := k.histogram.countAll(r, 0, p.places*w.bits, p.places, p.least)
	last := digits[p.places-1]
	flags := r.readWords(varies, p.places, 4)
	starts := r.readWords(
		bases,
		p.places<<w.bits,
		int(r.v.offsetBytes()),
	)[last.place<<w.bits:]
	low, high := countOutside(
		r.d.N,
		starts,
		p.least,
		(uint64(1)<<toBit-1)>>last.shift,
	)
	if r.err != nil || max(low, high) > r.d.N/windowShare {
		return r.err != nil
	}
	digits = slices.DeleteFunc(digits[:last.place], func(d digit) bool {
		return flags[d.place] == 0
	})
	if len(digits) > 0 {
		x.passes.sort(r, digits, bases)
	}
	if !k.pass(r, last, p.least, bases) {
		return false
	}
	r.d.Passes += len(digits) + 1
	sortPart(x, r, 0, low, toBit)
	sortPart(x, r, r.d.N-high, high, toBit)
	return true
}

// pass is the last pass. It returns false if it gave up; then it has changed nothing.
func (k *windowKernels) pass(
	r *run,
	last digit,
	least uint64,
	bases *cl.Buffer,
) bool {
	tickets := r.buffer("tickets", 4*64)
	abort := r.buffer("abort", 4)
	before := *r.d
	r.fill(abort, 0)
	if k.last.abortAt > 0 {
		r.fill(abort, 1)
	}
	k.last.pass(
		r,
		0,
		last.place,
		last.shift,
		r.toWord(least),
		bases,
		tickets,
		abort,
	)
	if r.readFlag(abort) != 0 && r.err == nil {
		*r.d = before
		return false
	}
	return true
}

// countVarying returns the number of digits that vary in the sample.
func (s *sampled) countVarying(digits []digit) (n int) {
	for _, d := range digits {
		n += asFlag(s.provesVaried(d.shift, uint64(d.mask)))
	}
	return n
}

// countOutside returns how many keys are below the window and above it, given the starts of the
// digit's values. If the window extends to the smallest or largest possible value, no keys are
// outside on that side.
func countOutside(n int64, starts []uint64, least, most uint64) (low, high int64) {
	if least > 0 {
		low = int64(starts[1])
	}
	end := uint64(len(starts)) - 1
	if least+end < most {
		high = n - int64(starts[end])
	}
	return low, high
}

// sortPart sorts count keys that start at first.
func sortPart(x *radix, r *run, first, count int64, toBit int) {
	if count < 2 || r.err != nil {
		return
	}
	most := r.d.N / windowShare
	part := Data{N: count, KeyBits: r.d.KeyBits, WordBytes: r.v.wordBytes, Keys: r.d.KeysTmp,
		KeysTmp: r.buffer("window keys", most*int64(r.v.wordBytes))}
	if r.v.values {
		part.Values, part.ValuesTmp = r.d.ValuesTmp, r.buffer("window values", 4*most)
	}
	keys := count * int64(r.v.wordBytes)
	values := 4 * count
	r.copyPart(part.Keys, 0, r.d.Keys, first*int64(r.v.wordBytes), keys)
	r.copyPart(part.Values, 0, r.d.Values, 4*first, values)
	sub := &run{
		Sorter: r.Sorter,
		q:      r.q,
		d:      &part,
		v:      r.v,
		err:    r.err,
	}
	x.sortDigits(sub, &sampled{}, 0, 0, toBit)
	r.err = sub.err
	r.copyPart(r.d.Keys, first*int64(r.v.wordBytes), part.Keys, 0, keys)
	r.copyPart(r.d.Values, 4*first, part.Values, 0, values)
}
