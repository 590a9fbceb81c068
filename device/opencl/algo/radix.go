//go:build opencl && cgo && linux

package algo

import (
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/extsort/extsort/device/opencl/cl"
)

// digit is a part of the key that one pass sorts by.
type digit struct {
	place int // 0 for the least significant
	shift int
	mask  uint32
}

// args are the arguments by which a kernel knows the digit.
func (g digit) args() (shift, mask uint32) { return uint32(g.shift), g.mask }

// digitsOf cuts the bits from ≤ b < to into digits, the last perhaps narrower.
func digitsOf(from, to, bits int) []digit {
	var list []digit
	for shift := from; shift < to; shift += bits {
		width := min(bits, to-shift)
		list = append(list, digit{place: len(list), shift: shift, mask: 1<<width - 1})
	}
	return list
}

// method is what the radix sorts differ in.
type method interface {
	// digitBits is how many bits a pass sorts by.
	digitBits() int

	// build makes the kernels for a variant.
	build(b *builder) passes
}

// passes are a method's kernels for one variant.
type passes interface {
	// sort runs a pass for each digit and leaves the result in r.d. bases holds, for each place, the position
	// where the keys of each digit value begin.
	sort(r *run, digits []digit, bases *cl.Buffer)
}

// radix is a Sorter that sorts digit by digit, least significant first, by passes that are stable.
type radix struct {
	ctx     *cl.Context
	method  method
	p       Params
	mu      sync.Mutex
	engines map[variant]*engine
	spaces  map[*cl.Queue]*space
	hybrid  bool // hybrid and tail are tried
	trace   func(kernel string, e *cl.Event)
}

// engine is all that is built for one variant.
type engine struct {
	builder   *builder
	histogram *histogram
	passes    passes
	sampler   *sampler
	leading   *leading // nil where it cannot pay
	hybrid    *hybrid  // nil likewise
	tail      *tail    // nil likewise
}

func newRadix(ctx *cl.Context, m method, p Params) *radix {
	return &radix{ctx: ctx, method: m, p: p, engines: map[variant]*engine{}, spaces: map[*cl.Queue]*space{}}
}

// engine builds the kernels for a variant at its first use.
func (x *radix) engine(v variant) (*engine, error) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if e := x.engines[v]; e != nil {
		return e, nil
	}
	b := &builder{ctx: x.ctx, v: v}
	e := &engine{builder: b, histogram: buildHistogram(b, x.method.digitBits()), passes: x.method.build(b)}
	e.sampler = buildSampler(b, x.p.LeadingKeys)
	if v.wordBytes == 8 && x.p.LeadingKeys >= 0 {
		e.leading = buildLeading(b)
	}
	if x.hybrid && !v.values && !v.wide {
		e.hybrid = buildHybrid(b, x.p)
	}
	if x.hybrid && v.values && !v.wide {
		e.tail = buildTail(b, x.p, x.method.digitBits())
	}
	if b.err != nil {
		b.release()
		return nil, b.err
	}
	x.engines[v] = e
	return e, nil
}

// space is the scratch memory for a queue.
func (x *radix) space(q *cl.Queue) *space {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.spaces[q] == nil {
		x.spaces[q] = &space{buffers: map[string]*cl.Buffer{}}
	}
	return x.spaces[q]
}

// Sort sorts by all digits that are not constant, or by the leading ones where that is enough.
func (x *radix) Sort(q *cl.Queue, d *Data, fromBit, toBit int) error {
	if err := d.check(fromBit, toBit); err != nil {
		return err
	}
	if d.N < 2 || fromBit == toBit {
		return nil
	}
	v := variantOf(d, x.p.Wide)
	e, err := x.engine(v)
	if err != nil {
		return err
	}
	s := x.space(q)
	s.mu.Lock()
	defer s.mu.Unlock()
	r := &run{ctx: x.ctx, q: q, d: d, v: v, space: s, trace: x.trace}
	seen := e.sampler.look(r, fromBit, toBit)
	if e.hybrid.sort(r, seen, fromBit, toBit) {
		return r.err
	}
	if e.tail.sort(x, e, r, seen, fromBit, toBit) {
		return r.err
	}
	if tieBit := e.leading.tieBit(seen, d.N, fromBit, toBit); tieBit > fromBit {
		x.digits(r, e, seen, fromBit, tieBit, toBit)
		if e.leading.repair(r, fromBit, tieBit, toBit) {
			return r.err
		}
	}
	x.digits(r, e, seen, fromBit, fromBit, toBit)
	return r.err
}

// digits runs a pass for every digit from lowBit on that varies. Only where the sample, which begins with fromBit, does
// not show that all of them do, the histogram is waited for.
func (x *radix) digits(r *run, e *engine, seen *sampled, fromBit, lowBit, toBit int) {
	all := digitsOf(lowBit, toBit, x.method.digitBits())
	bases, varies := e.histogram.run(r, lowBit, toBit, len(all))
	varying := all
	if slices.ContainsFunc(all, func(g digit) bool { return !seen.shows(g.shift-fromBit, uint64(g.mask)) }) {
		flags := r.words(varies, len(all))
		varying = nil
		for i, digit := range all {
			if flags[i] != 0 {
				varying = append(varying, digit)
			}
		}
	}
	if r.err == nil && len(varying) > 0 {
		e.passes.sort(r, varying, bases)
		r.d.Passes += len(varying)
	}
}

// Close gives kernels and scratch memory back.
func (x *radix) Close() {
	x.mu.Lock()
	defer x.mu.Unlock()
	for _, e := range x.engines {
		e.builder.release()
	}
	for _, s := range x.spaces {
		for _, b := range s.buffers {
			b.Release()
		}
	}
	clear(x.engines)
	clear(x.spaces)
}

// check refuses data that no kernel here can sort.
func (d *Data) check(fromBit, toBit int) error {
	var faults []error
	if d.WordBytes != 4 && d.WordBytes != 8 {
		faults = append(faults, fmt.Errorf("keys of %d bytes", d.WordBytes))
	}
	if fromBit < 0 || fromBit > toBit || toBit > 8*d.WordBytes {
		faults = append(faults, fmt.Errorf("bits %d to %d of a word of %d bytes", fromBit, toBit, d.WordBytes))
	}
	if d.N < 0 || d.N > 0 && (d.Keys == nil || d.KeysTmp == nil || (d.Values == nil) != (d.ValuesTmp == nil)) {
		faults = append(faults, fmt.Errorf("%d keys without the buffers for them", d.N))
	}
	if err := errors.Join(faults...); err != nil {
		return fmt.Errorf("sort on an OpenCL device: %w", err)
	}
	return nil
}
