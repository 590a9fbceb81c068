package sets

import (
	"context"

	"github.com/extsort/extsort/internal/turns"
)

// A span contains the records of all inputs in a range of keys. All groups in it are complete, so
// that it can be handled independently of all others.
type span struct {
	number int64
	parts  []part // one for each input
}

// A part contains the records of one input in a span. It may be empty.
type part struct {
	stretch
	block *block // nil if the part is empty
}

func (s *span) release() {
	for i := range s.parts {
		if b := s.parts[i].block; b != nil {
			b.release()
		}
	}
}

// A head is the next record of an input.
type head struct {
	feed  *feed
	block *block // nil before the first block and after the last one
	at    int    // index of the record in the block
	ended bool   // there are no more records
}

// fill takes the next block of the input if the head has none.
func (h *head) fill(ctx context.Context) error {
	if h.block != nil || h.ended {
		return nil
	}
	select {
	case b, ok := <-h.feed.blocks:
		h.at = 0
		h.ended = !ok
		if ok {
			h.block = b
		}
		if !ok {
			return h.feed.failed
		}
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// advance continues at the given index of the block.
func (h *head) advance(at int) {
	h.at = at
	if at == len(h.block.keys) {
		h.block.release()
		h.block = nil
	}
}

// skipAll skips all records.
func (h *head) skipAll(ctx context.Context) error {
	for {
		if err := h.fill(ctx); err != nil || h.block == nil {
			return err
		}
		h.advance(len(h.block.keys))
	}
}

// A cutter cuts the inputs into spans.
type cutter struct {
	heads []*head
	spans chan<- *span
	turns *turns.Queue
	next  int64 // number of the next span

	// large handles a group that is larger than a block. It is called after all spans before the
	// group have been placed.
	large func(ctx context.Context, groups []*group) error
}

// run cuts the inputs to their ends.
func (c *cutter) run(ctx context.Context) error {
	for {
		for _, h := range c.heads {
			if err := h.fill(ctx); err != nil {
				return err
			}
		}
		lowest := c.lowestEnd()
		if lowest == nil {
			return nil
		}
		end := lowest.block.slice(len(lowest.block.keys)-1, len(lowest.block.keys))
		s := c.cut(&end, lowest.block.open)
		if s != nil {
			select {
			case c.spans <- s:
			case <-ctx.Done():
				return context.Cause(ctx)
			}
		}
		if lowest.block != nil && lowest.block.open {
			if err := c.largeGroup(ctx, &end); err != nil {
				return err
			}
		}
	}
}

// lowestEnd returns the head whose block ends with the lowest key. If several end with this key, it
// prefers a head with an open block. It returns nil at the end of all inputs.
func (c *cutter) lowestEnd() (lowest *head) {
	for _, h := range c.heads {
		if h.block == nil {
			continue
		}
		if lowest == nil {
			lowest = h
			continue
		}
		order := h.block.compare(len(h.block.keys)-1, &lowest.block.stretch, len(lowest.block.keys)-1)
		if order < 0 || order == 0 && h.block.open {
			lowest = h
		}
	}
	return lowest
}

// cut returns a span of all records in the blocks whose keys are at most the key of end. With less,
// it contains only smaller keys. It returns nil if there are no such records.
func (c *cutter) cut(end *stretch, less bool) *span {
	s := &span{number: c.next, parts: make([]part, len(c.heads))}
	isEmpty := true
	for i, h := range c.heads {
		s.parts[i].stretch = stretch{keyer: h.feed.in.Keyer, size: h.feed.last.size}
		if h.block == nil {
			continue
		}
		rest := h.block.slice(h.at, len(h.block.keys))
		n := rest.countUpTo(end, 0, less)
		if n == 0 {
			continue
		}
		isEmpty = false
		h.block.holders.Add(1)
		s.parts[i] = part{rest.slice(0, n), h.block}
		h.advance(h.at + n)
	}
	if isEmpty {
		return nil
	}
	c.next++
	return s
}

// largeGroup handles all records with the key of end.
func (c *cutter) largeGroup(ctx context.Context, end *stretch) error {
	key := stretch{ // a copy: the block may be reused
		keyer: end.keyer,
		size:  end.size,
		keys:  []uint64{end.keys[0]},
		recs:  append([]byte(nil), end.recs...),
	}
	var groups []*group
	for i, h := range c.heads {
		if h.block == nil || h.block.compare(h.at, &key, 0) != 0 {
			continue
		}
		groups = append(groups, &group{
			input: i,
			head:  h,
			n:     h.block.groupEnd(h.at) - h.at,
		})
	}

	number := c.next
	c.next++
	if err := c.turns.Wait(ctx, number); err != nil {
		return err
	}
	err := c.large(ctx, groups)
	c.turns.Pass(number+1, err)
	return err
}

// A group contains the remaining records of an input with one key. They may be in several blocks.
type group struct {
	input int
	head  *head
	n     int // number of its next records in the current block; 0 means that the group has ended
}

// begin takes the first block of a group whose input has no other records.
func (g *group) begin(ctx context.Context) error {
	if err := g.head.fill(ctx); err != nil {
		return err
	}
	if g.head.block != nil {
		g.n = g.head.block.groupEnd(0)
	}
	return nil
}

// records returns the next n records.
func (g *group) records(n int) stretch {
	return g.head.block.slice(g.head.at, g.head.at+n)
}

// advance skips n records.
func (g *group) advance(ctx context.Context, n int) error {
	h := g.head
	wasOpen := h.block.open
	h.advance(h.at + n)
	g.n -= n
	if g.n > 0 || h.block != nil || !wasOpen {
		return nil
	}
	if err := h.fill(ctx); err != nil {
		return err
	}
	if h.block != nil && h.block.continues {
		g.n = h.block.groupEnd(0)
	}
	return nil
}

// each calls f with all records of the group, in pieces, and ends the group.
func (g *group) each(ctx context.Context, f func(recs stretch) error) error {
	for g.n > 0 {
		if err := f(g.records(g.n)); err != nil {
			return err
		}
		if err := g.advance(ctx, g.n); err != nil {
			return err
		}
	}
	return nil
}

// skip skips all records of the group.
func (g *group) skip(ctx context.Context) error {
	return g.each(ctx, func(stretch) error { return nil })
}
