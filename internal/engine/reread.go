package engine

import (
	"context"
	"errors"
	"math"
	"slices"

	"github.com/extsort/extsort/chunker/plan"
	"github.com/extsort/extsort/device"
	"github.com/extsort/extsort/merge/output"
)

// runReread sorts in several passes (Munro and Paterson, "Selection and sorting with limited
// storage", 1980). Each pass reads the whole input, selects the smallest remaining keys, as many
// as fit into memory, sorts them, and appends them to the output. Nothing is spilled, and every
// record is moved and written once. If only the first records are wanted, the passes select few.
func runReread(ctx context.Context, r *Run, c *plan.Candidate) error {
	p := &passes{
		r:         r,
		candidate: c,
		keys:      r.Facts.Sample.Sorted(),
		all:       r.Input.Data.Records(),
		limit:     math.MaxInt64,
		share:     c.PassShare,
	}
	if first := r.Facts.First(); first >= 0 {
		p.limit = first
	}
	err := p.run(ctx)
	if errors.Is(err, device.ErrTooMany) || errors.Is(err, errors.ErrUnsupported) {
		return &plan.Impossible{Why: err.Error()}
	}
	return err
}

// passes is the state between two passes.
type passes struct {
	r         *Run
	candidate *plan.Candidate
	keys      []uint64 // prefixes of the sample in ascending order
	all       int64    // number of records in the input
	limit     int64    // maximum number of records to write
	share     float64  // maximum fraction of all records that the next pass selects
	low       uint64   // least prefix that has not been selected yet
	taken     int64    // number of records selected so far
}

// isLimited reports whether only the first records in order are needed.
func (p *passes) isLimited() bool { return p.candidate.WantedRecords >= 0 }

func (p *passes) run(ctx context.Context) error {
	more, err := p.first(ctx)
	if !more || err != nil {
		return err
	}
	first := p.taken
	size := int64(p.r.Input.size)
	p.r.Meter.begin(plan.StagePasses, atOutput, p.due(p.all-first)*size)

	for more && err == nil {
		// there were fewer distinct keys than the limit requires
		if p.r.Facts.Request.Unique && p.isLimited() {
			p.share = min(moreForKeys*p.share, p.candidate.MaxPassShare)
		}
		more, err = p.pass(ctx, p.r.Input.readAgain(), func(int64) {})
	}

	p.r.Meter.end((min(p.taken, p.limit) - first) * size)
	return err
}

// moreForKeys is the factor by which the next pass is larger if the keys so far are too few for the
// limit.
const moreForKeys = 16

// first makes the first pass, which reads all records. It reports whether more passes must
// follow.
func (p *passes) first(ctx context.Context) (more bool, err error) {
	size := int64(p.r.Input.size)
	p.r.Meter.begin(plan.StageRead, atInput, p.all*size)
	more, err = p.pass(ctx, p.r.Input.Data.Split(1)[0], func(n int64) {
		p.r.Meter.end(p.r.Input.Bytes())
		p.r.Meter.begin(plan.StageWrite, atOutput, p.due(n)*size)
	})
	p.r.Meter.end(min(p.taken, p.limit) * size)
	return more, err
}

// due returns how many of the next n records will be written.
func (p *passes) due(n int64) int64 { return min(n, p.limit-p.taken) }

// pass loads the smallest remaining keys of src, calls loaded with their number, sorts them and
// writes them. It reports whether more passes must follow.
func (p *passes) pass(
	ctx context.Context, src device.Source, loaded func(n int64),
) (more bool, err error) {
	chunk, err := p.r.pool.get(ctx)
	if err != nil {
		return false, err
	}
	defer p.r.pool.put(chunk)

	n, last, err := chunk.Select(ctx, src, p.low, p.high())
	if err != nil {
		return false, err
	}
	loaded(n)
	more = last < math.MaxUint64 && p.taken+n < p.all && p.due(n+1) > n
	err = p.r.sortTo(ctx, chunk, output.Offset(p.taken, p.r.Output), !more)
	p.low = last + 1
	p.taken += n
	return more && !p.enough(), err
}

// enough reports whether the output is complete. With unique keys, fewer records are written than
// selected.
func (p *passes) enough() bool {
	limit := p.r.Facts.Request.Limit
	return limit > 0 && p.r.Output.Records() >= limit
}

// high returns the greatest prefix that the next pass selects. It divides the remaining keys
// equally among the remaining passes. If only the first records are wanted, the first pass selects
// only its share. A pass must select all records with the same prefix. So it leaves a prefix at the
// cut to the next pass, unless the sample has no smaller remaining prefix.
func (p *passes) high() uint64 {
	from, _ := slices.BinarySearch(p.keys, p.low)
	left := float64(len(p.keys) - from)
	share := float64(len(p.keys)) * p.share
	passes := math.Ceil(left / share)
	if left == 0 || passes <= 1 {
		return math.MaxUint64
	}
	take := left / passes
	if p.low == 0 && p.isLimited() {
		take = share
	}
	next := p.keys[min(from+int(take), len(p.keys)-1)]
	switch {
	case p.keys[from] < next:
		return next - 1
	case p.keys[len(p.keys)-1] == next:
		return math.MaxUint64
	}

	return next
}
