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

// runReread sorts in several passes (Munro and Paterson, "Selection and sorting with limited storage", 1980). Each
// reads the whole input, takes the least keys that were not taken yet, as many as fit memory, sorts them and writes
// them behind those before. Nothing is spilled, and every record is moved and written once. Where only the first
// records of the order are wanted, few are taken.
func runReread(ctx context.Context, r *Run, c *plan.Candidate) error {
	p := &passes{r: r, keys: r.Facts.Sample.Sorted(),
		all: r.Input.Data.Records(), wanted: r.Facts.Wanted(), limit: math.MaxInt64}
	if first := r.Facts.First(); first >= 0 {
		p.limit = first
	}
	p.planShare(c)
	err := p.run(ctx)
	if errors.Is(err, device.ErrTooMany) || errors.Is(err, errors.ErrUnsupported) {
		return &plan.Impossible{Why: err.Error()}
	}
	return err
}

// passes is the state between two passes.
type passes struct {
	r      *Run
	keys   []uint64 // prefixes of the sample, in order
	all    int64    // records of the input
	limit  int64    // records that are written, at most
	wanted int64    // about how many of the first records are needed; -1: all
	share  float64  // of all records that a pass takes, at most
	most   float64  // of all records that fit a chunk
	low    uint64   // the least prefix that was not taken yet
	taken  int64    // records
}

// planShare settles what a pass takes: what was planned, or fits a chunk, or what a limit asks for. The sample's error
// then rarely makes it more than fits.
func (p *passes) planShare(c *plan.Candidate) {
	p.most = 1 / float64(max(c.Chunks, 1))
	if p.all > c.ChunkRecords {
		passes := float64(p.all) / float64(c.ChunkRecords)
		p.most = plan.PassFill(passes, len(p.keys)) / passes
	}
	p.share = p.most
	if p.wanted >= 0 && len(p.keys) > 0 {
		wanted, keys := float64(p.wanted)/float64(max(p.all, 1)), float64(len(p.keys))
		p.share = min(p.most, wanted+4*math.Sqrt(wanted/keys)+8/keys)
	}
}

func (p *passes) run(ctx context.Context) error {
	more, err := p.first(ctx)
	if !more || err != nil {
		return err
	}
	first, size := p.taken, int64(p.r.Input.size)
	p.r.Meter.begin(plan.StagePasses, atOutput, p.due(p.all-first)*size)
	for more && err == nil {
		if p.r.Facts.Asked.Unique && p.wanted >= 0 { // there were not as many keys as the limit asks for
			p.share = min(moreForKeys*p.share, p.most)
		}
		more, err = p.pass(ctx, p.r.Input.again(), func(int64) {})
	}
	p.r.Meter.end((min(p.taken, p.limit) - first) * size)
	return err
}

// moreForKeys is how many times as many records the next pass takes then.
const moreForKeys = 16

// first is the first pass, which sees all records. It reports whether more have to follow.
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

// due is how many of the next n records are to be written.
func (p *passes) due(n int64) int64 { return min(n, p.limit-p.taken) }

// pass loads the least keys of src that were not taken yet, tells loaded how many they are, sorts and writes them. It
// reports whether more have to follow.
func (p *passes) pass(ctx context.Context, src device.Source, loaded func(n int64)) (more bool, err error) {
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
	p.low, p.taken = last+1, p.taken+n
	return more && !p.enough(), err
}

// enough reports whether all of the output is written: with unique keys, fewer of the records that were taken.
func (p *passes) enough() bool {
	limit := p.r.Facts.Asked.Limit
	return limit > 0 && p.r.Output.Records() >= limit
}

// high is the greatest prefix that the next pass is to take: the passes to come share what is left. Where only the
// first records are wanted, the first pass takes just its share. One pass takes all records of a prefix: one at the cut
// is left to the next pass, unless no lesser one of the sample is left.
func (p *passes) high() uint64 {
	from, _ := slices.BinarySearch(p.keys, p.low)
	left, share := float64(len(p.keys)-from), float64(len(p.keys))*p.share
	passes := math.Ceil(left / share)
	if left == 0 || passes <= 1 {
		return math.MaxUint64
	}
	take := left / passes
	if p.low == 0 && p.wanted >= 0 {
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
