package merge

import (
	"context"
	"math"
	"slices"
)

// span is one piece of the output that is merged independently of all others: the records between two splitters,
// as stretches in the order in which equal keys are to follow each other. It holds the blocks that they lie in.
type span struct {
	first     int64 // index in the output of its first record
	records   int64
	stretches []stretch
}

func newSpan(first int64, stretches []stretch) *span {
	s := &span{first: first, stretches: make([]stretch, 0, len(stretches))}
	for _, in := range stretches {
		s.add(in)
	}
	return s
}

// add appends records to the span, if there are any.
func (s *span) add(in stretch) {
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

// divided cuts a span into spans of about that many records, or fewer, which together are the same output. Where blocks
// of all runs begin at nearly the same key, as those of equally distributed keys do, the spans between the starts of
// blocks are almost empty or have almost all: then one worker would have it all.
func (s *span) divided(search *searcher, records int64) []*span {
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
	s.reduce(first)
	after.first = s.first + s.records
	return append(s.divided(search, records), after.divided(search, records)...)
}

// reduce makes s a span of only some of its stretches. Their memory is not that of s.
func (s *span) reduce(kept []stretch) {
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

// cutter cuts what is in memory of all inputs into spans, one after the other, and hands them to workers.
type cutter struct {
	opt     *Options
	queues  [][]stretch // by input: what is in memory and not yet merged, the first block from where it was cut last
	ends    []int64     // by input: index of the record after what was added
	search  *searcher
	records int64 // in all spans up to now
	marked  int64 // of which the last mark was
	piece   int64 // records, about, in what is handed to a worker, so that all of them are busy
}

func newCutter(opt *Options, inputs int) *cutter {
	c := &cutter{
		opt: opt, queues: make([][]stretch, inputs), ends: make([]int64, inputs), search: newSearcher(opt.Keyer),
		piece: int64(max(opt.BlockBytes/opt.recordSize(), 1)),
	}
	if opt.Workers == 1 {
		c.piece = math.MaxInt64 / 2 // nobody waits for a piece
	}
	return c
}

func (c *cutter) add(b *block) {
	c.queues[b.input] = append(c.queues[b.input], stretch{b.keys, b.recs, b})
	c.ends[b.input] = b.first + int64(len(b.keys))
}

// mark tells how far all inputs have been cut, if that is due.
func (c *cutter) mark() {
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

// cut makes a span of all records before the splitter (key, input, here): in the inputs before that one all
// records up to key, in those after it all below key, and of the input itself what is in memory. With a negative input
// it takes everything.
// REQUIRES: of each input at least one record is in memory that is not before the splitter, or nothing is left
// of it, and only its last block in memory holds such records.
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
		c.queues[i] = c.move(s, q, end)
	}
	c.records += s.records
	return s
}

// move moves the records of a queue into s, those of its last block up to index end, and gives what is left of it.
func (c *cutter) move(s *span, q []stretch, end int) []stretch {
	last := q[len(q)-1]
	rest := last.part(end, len(last.keys), c.search.size)
	q[len(q)-1] = last.part(0, end, c.search.size)
	for i, in := range q {
		if s.add(in); i < len(q)-1 || len(rest.keys) == 0 {
			in.block.release()
		}
	}
	clear(q)
	if len(rest.keys) == 0 {
		return q[:0]
	}
	return append(q[:0], rest)
}

// dispatch cuts spans where advance says, which adds blocks until the next cut can be made, and hands them to workers.
func (c *cutter) dispatch(ctx context.Context, limit int64, advance advance, spans chan<- *span) error {
	for limit < 0 || c.records < limit {
		key, input, err := advance(ctx, c)
		if err != nil {
			return err
		}
		next := c.cut(key, input)
		c.mark()
		for _, piece := range next.divided(c.search, c.piece) {
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

// advance adds the next blocks of the inputs to c, and tells where it can then be cut: see cut.
type advance func(ctx context.Context, c *cutter) (key []byte, input int, err error)
