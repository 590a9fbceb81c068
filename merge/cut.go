package merge

import (
	"context"
	"math"
	"slices"
)

// A span is a piece of the output that is merged independently of all others. It consists of the
// records between two splitters, as one stretch per input, ordered by input so that equal keys
// come out in the right order. A span holds the blocks that contain its stretches.
type span struct {
	first     int64 // index of its first record within the output
	records   int64
	stretches []stretch
}

func newSpan(first int64, stretches []stretch) *span {
	s := &span{first: first, stretches: make([]stretch, 0, len(stretches))}
	for _, in := range stretches {
		s.addStretch(in)
	}
	return s
}

// addStretch appends a stretch to the span unless it is empty.
func (s *span) addStretch(in stretch) {
	if len(in.keys) == 0 {
		return
	}
	in.block.holders.Add(1)
	s.stretches = append(s.stretches, in)
	s.records += int64(len(in.keys))
}

func (s *span) release() {
	for _, in := range s.stretches {
		in.block.release()
	}
}

// divide cuts a span into consecutive spans of at most about the given number of records.
//
// Without this step, one worker could get nearly everything: if the blocks of all runs begin at
// nearly the same keys, as with evenly distributed keys, the spans between block starts alternate
// between almost empty and almost everything.
func (s *span) divide(search *searcher, records int64) []*span {
	if s.records == 0 {
		return nil
	}
	if s.records < 2*records {
		return []*span{s}
	}
	search.scratch = slices.Grow(search.scratch[:0], 2*len(s.stretches))
	first, rest := search.halve(s.stretches, search.scratch)
	if len(rest) == 0 {
		return []*span{s}
	}

	after := newSpan(0, rest)
	s.shrinkTo(first)
	after.first = s.first + s.records
	return append(s.divide(search, records), after.divide(search, records)...)
}

// shrinkTo shrinks s to the given stretches, which it copies.
func (s *span) shrinkTo(kept []stretch) {
	for _, in := range kept {
		in.block.holders.Add(1)
	}
	s.release()

	clear(s.stretches)
	s.stretches = append(s.stretches[:0], kept...)
	s.records = 0

	for _, in := range kept {
		s.records += int64(len(in.keys))
	}
}

// A cutter cuts the blocks in memory into spans, one after the other, and hands the spans to
// workers.
type cutter struct {
	opt *Options
	// queues holds, per input, the records in memory that are not in a span yet. The first
	// stretch of a queue begins at the previous cut.
	queues [][]stretch
	// ends holds, per input, the index after the last record that was added.
	ends   []int64
	search *searcher
	// records counts the records of all spans so far.
	records int64
	// marked is the value of records at the last mark.
	marked int64
	// pieceRecords is the approximate number of records per worker task. It keeps all workers busy.
	pieceRecords int64
}

func newCutter(opt *Options, inputs int) *cutter {
	c := &cutter{
		opt:          opt,
		queues:       make([][]stretch, inputs),
		ends:         make([]int64, inputs),
		search:       newSearcher(opt.Keyer),
		pieceRecords: int64(max(opt.BlockBytes/opt.recordSize(), 1)),
	}
	if opt.Workers == 1 {
		c.pieceRecords = math.MaxInt64 / 2 // a single worker gains nothing from smaller pieces
	}
	return c
}

func (c *cutter) addBlock(b *block) {
	c.queues[b.input] = append(c.queues[b.input], stretch{b.keys, b.recs, b})
	c.ends[b.input] = b.first + int64(len(b.keys))
}

// noteMark calls Options.Mark with the current cut position of every input, if MarkRecords records
// have passed since the last call.
func (c *cutter) noteMark() {
	if c.opt.Mark == nil || c.records < c.marked+c.opt.MarkRecords {
		return
	}
	upTo := slices.Clone(c.ends)
	for i, q := range c.queues {
		for _, left := range q {
			upTo[i] -= int64(len(left.keys))
		}
	}

	c.marked = c.records
	c.opt.Mark(c.records, upTo)
}

// cut returns a span of all records before the splitter, which is the position (key, input, first
// record not in memory) in the total order. Of inputs before the splitter's own, the span takes
// all records up to and including key. Of inputs after it, the span takes the records below key.
// Of the splitter's own input it takes all records in memory. If input is negative, the span
// takes everything.
//
// REQUIRES: each unexhausted input has at least one record in memory at or after the splitter, and
// only its last block in memory contains such records.
func (c *cutter) cut(key []byte, input int) *span {
	c.search.seek(key)
	stretches := 0
	for _, q := range c.queues {
		stretches += len(q)
	}
	s := &span{first: c.records, stretches: make([]stretch, 0, stretches)}
	for i, q := range c.queues {
		if len(q) == 0 {
			continue
		}
		last := q[len(q)-1]
		end := len(last.keys)
		if input >= 0 && i != input {
			end = c.search.cut(last, i, input)
		}
		c.queues[i] = c.moveRecords(s, q, end)
	}

	c.records += s.records
	return s
}

// moveRecords adds the records of a queue to s, up to index end of its last block. It returns the
// rest of the queue.
func (c *cutter) moveRecords(s *span, q []stretch, end int) []stretch {
	last := q[len(q)-1]
	rest := last.slice(end, len(last.keys), c.search.recordBytes)
	q[len(q)-1] = last.slice(0, end, c.search.recordBytes)

	for i, in := range q {
		if s.addStretch(in); i < len(q)-1 || len(rest.keys) == 0 {
			in.block.release()
		}
	}

	clear(q)
	if len(rest.keys) == 0 {
		return q[:0]
	}
	return append(q[:0], rest)
}

// dispatch calls advance until enough blocks are in memory for the next cut, makes the cut, and
// sends the resulting spans to the workers. A negative limit means no limit.
func (c *cutter) dispatch(
	ctx context.Context,
	limit int64,
	advance advance,
	spans chan<- *span,
) error {
	for limit < 0 || c.records < limit {
		key, input, err := advance(ctx, c)
		if err != nil {
			return err
		}
		next := c.cut(key, input)
		c.noteMark()
		for _, piece := range next.divide(c.search, c.pieceRecords) {
			select {
			case spans <- piece:
			case <-ctx.Done():
				return context.Cause(ctx)
			}
		}

		if input < 0 {
			return nil
		}
	}

	return nil
}

// An advance adds the next blocks of the inputs to c and returns the splitter where the cutter
// can cut next. The results have the same meaning as the parameters of cutter.cut.
type advance func(ctx context.Context, c *cutter) (key []byte, input int, err error)
