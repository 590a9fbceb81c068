package merge

import (
	"bytes"
	"context"
	"math"

	"github.com/extsort/extsort/format"
)

// span is one piece of the output that is merged independently of all others: the records between two splitters,
// as stretches in the order in which equal keys are to follow each other. It holds the blocks that they lie in.
type span struct {
	first     int64 // index in the output of its first record
	records   int64
	stretches []stretch
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

// release lets go of the blocks.
func (s *span) release() {
	for _, in := range s.stretches {
		in.block.release()
	}
}

// divided cuts a span into spans of about so many records, or fewer, which together are the same output. Where blocks
// of all runs begin at nearly the same key, as those of equally distributed keys do, the spans between the starts of
// blocks are nearly nothing or nearly everything: then one worker would have it all.
func (s *span) divided(search *searcher, records int64) []*span {
	longest := longestOf(s.stretches)
	if s.records < 2*records || len(s.stretches[longest].keys) < 2 {
		return []*span{s}
	}
	before, after := &span{first: s.first}, &span{}
	search.halve(s.stretches, longest, func(in stretch, at int) {
		before.add(in.part(0, at, search.size))
		after.add(in.part(at, len(in.keys), search.size))
	})
	after.first = before.first + before.records
	s.release()
	return append(before.divided(search, records), after.divided(search, records)...)
}

func longestOf(stretches []stretch) int {
	longest := 0
	for i, s := range stretches {
		if len(s.keys) > len(stretches[longest].keys) {
			longest = i
		}
	}
	return longest
}

// queue holds the blocks of one input that are in memory and not yet merged, the first of them from at on.
type queue struct {
	blocks []*block
	at     int
}

// cutter cuts what is in memory of all inputs into spans, one after the other.
type cutter struct {
	queues  []queue
	search  *searcher
	records int64 // in all spans up to now
}

func newCutter(k *format.Keyer, inputs int) *cutter {
	return &cutter{queues: make([]queue, inputs), search: newSearcher(k)}
}

func (c *cutter) add(b *block) {
	q := &c.queues[b.input]
	q.blocks = append(q.blocks, b)
}

// cut makes a span of all records before the splitter (key, input, here): in the inputs before that one all
// records up to key, in those after it all below key, and of the input itself what is in memory.
// REQUIRES: of each input at least one record is in memory that is not before the splitter, or nothing is left
// of it, and only its last block in memory holds such records.
func (c *cutter) cut(key []byte, input int) *span {
	c.search.seek(key)
	return c.span(func(i int, last *block, from int) int {
		if i == input {
			return len(last.keys)
		}
		return c.search.cut(last.stretch(), from, i, input)
	})
}

// rest makes a span of everything that is in memory.
func (c *cutter) rest() *span {
	return c.span(func(_ int, last *block, _ int) int { return len(last.keys) })
}

// span makes a span of what is in memory; of the last block of input i, from index from on, only what is before end.
func (c *cutter) span(end func(i int, last *block, from int) int) *span {
	s := &span{first: c.records}
	for i := range c.queues {
		q := &c.queues[i]
		if len(q.blocks) == 0 {
			continue
		}
		last, from := q.blocks[len(q.blocks)-1], 0
		if len(q.blocks) == 1 {
			from = q.at
		}
		c.take(s, q, end(i, last, from))
	}
	c.records += s.records
	return s
}

// take moves the records of q into s, those of its last block up to index end.
func (c *cutter) take(s *span, q *queue, end int) {
	kept := q.blocks[:0]
	for i, b := range q.blocks {
		to := len(b.keys)
		if i == len(q.blocks)-1 {
			to = end
		}
		s.add(b.stretch().part(q.at, to, c.search.size))
		if to < len(b.keys) {
			kept, q.at = append(kept, b), to
			continue
		}
		q.at = 0
		b.release()
	}
	clear(q.blocks[len(kept):])
	q.blocks = kept
}

// sender hands spans to workers, in pieces that keep all of them busy.
type sender struct {
	spans   chan<- *span
	search  *searcher
	records int64 // in a piece, about
}

func newSender(opt *Options, spans chan<- *span) *sender {
	d := &sender{spans: spans, search: newSearcher(opt.Keyer), records: int64(max(opt.BlockBytes/opt.recordSize(), 1))}
	if opt.Workers == 1 {
		d.records = math.MaxInt64 / 2 // nobody waits for a piece
	}
	return d
}

// send hands s to workers, if there is anything in it.
func (d *sender) send(ctx context.Context, s *span) error {
	if s.records == 0 {
		return nil
	}
	for _, piece := range s.divided(d.search, d.records) {
		select {
		case d.spans <- piece:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
	return nil
}

// keyAbove reports whether the key of rec is above key.
func keyAbove(k *format.Keyer, rec, key []byte) bool {
	var stack [64]byte
	return bytes.Compare(k.Append(stack[:0], rec), key) > 0
}
