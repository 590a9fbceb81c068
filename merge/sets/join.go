package sets

import (
	"context"
	"slices"
)

// A JoinType says which rows a join writes.
type JoinType int

// The types of joins.
const (
	InnerJoin JoinType = iota // pairs of records with the same key
	LeftJoin                  // pairs, and records of A without a partner
	RightJoin                 // pairs, and records of B without a partner
	OuterJoin                 // pairs, and records of both without a partner
)

// keepsA reports whether the join writes records of A without a partner.
func (t JoinType) keepsA() bool { return t == LeftJoin || t == OuterJoin }

// keepsB reports whether the join writes records of B without a partner.
func (t JoinType) keepsB() bool { return t == RightJoin || t == OuterJoin }

// JoinOptions describes a join.
type JoinOptions struct {
	Type JoinType
	Row  Row

	// GroupBytes limits the memory for the records of B with the same key, if they do not fit into
	// one block. The rest goes to a temporary run that NewRun returns.
	GroupBytes int64
	NewRun     func(ctx context.Context) (TemporaryRun, error)
}

// A Row describes how the rows of a join are made from records.
type Row struct {
	Size  int   // in bytes
	Both  Shape // for a pair of records
	OnlyA Shape // for a record of A without a partner
	OnlyB Shape // for a record of B without a partner
}

// A Shape describes the bytes of a row.
type Shape struct {
	Copies []Copy
	Rest   []byte // a row with the bytes that no Copy sets; nil if there are none
}

// A Copy copies bytes of a record to a row.
type Copy struct {
	FromB    bool // from the record of B; otherwise from that of A
	From, To int  // offsets in bytes
	Size     int
	Word     int // size of the words whose bytes are swapped; 0: same byte order
}

// fill makes a row from a record of A and a record of B. One of them may be nil if the shape does
// not need it.
func (s *Shape) fill(row, a, b []byte) {
	copy(row, s.Rest)
	for i := range s.Copies {
		c := &s.Copies[i]
		from := a
		if c.FromB {
			from = b
		}
		to := row[c.To : c.To+c.Size]
		copy(to, from[c.From:c.From+c.Size])
		if c.Word > 0 {
			for word := range slices.Chunk(to, c.Word) {
				slices.Reverse(word)
			}
		}
	}
}

// A cursor is a position in a selection.
type cursor struct {
	selection
	next int
}

func (c *cursor) ended() bool { return c.next == len(c.keys) }

// record returns selected record k.
func (c *cursor) record(k int) []byte { return c.of.record(c.at(k)) }

// compare compares the next keys of two cursors. The end of a selection is larger than all keys.
func (c *cursor) compare(other *cursor) int {
	switch {
	case other.ended():
		return -1
	case c.ended():
		return 1
	}
	return c.of.compare(c.at(c.next), other.of, other.at(other.next))
}

// groupEnd returns the index after the last selected record with the next key.
func (c *cursor) groupEnd() int {
	end := c.next + 1
	for end < len(c.keys) && c.of.compare(c.at(c.next), c.of, c.at(end)) == 0 {
		end++
	}
	return end
}

// join joins two parts.
func (w *worker) join(ctx context.Context, partA, partB *part) error {
	join := w.op.opt.Join
	shared := choice{shared: true}
	a := cursor{selection: partA.all()}
	b := cursor{selection: partB.all()}
	if !join.Type.keepsA() {
		a.selection = w.ofA.choose(a.selection, &partB.stretch, shared)
	}
	if !join.Type.keepsB() {
		b.selection = w.ofB.choose(b.selection, &partA.stretch, shared)
	}
	if join.Type == InnerJoin && partA.isDistinct() && partB.isDistinct() {
		return w.joinDistinct(ctx, &a.selection, &b.selection)
	}
	for !a.ended() || !b.ended() {
		order := a.compare(&b)
		if order == 0 {
			if err := w.joinGroups(ctx, &a, &b); err != nil {
				return err
			}
			continue
		}
		row, err := w.room(ctx, &w.buffers[result], 1)
		if err != nil {
			return err
		}
		if order < 0 {
			join.Row.OnlyA.fill(row, a.record(a.next), nil)
			a.next++
		} else {
			join.Row.OnlyB.fill(row, nil, b.record(b.next))
			b.next++
		}
	}
	return nil
}

// joinDistinct writes the pairs of two selections with the same keys. No key may occur twice in a
// selection.
func (w *worker) joinDistinct(ctx context.Context, a, b *selection) error {
	row := &w.op.opt.Join.Row
	if row.Both.isRecordOfA(a.of.size, row.Size) {
		return w.addSelected(ctx, &w.buffers[result], *a)
	}
	for k := 0; k < len(a.keys); {
		rows, err := w.room(ctx, &w.buffers[result], len(a.keys)-k)
		if err != nil {
			return err
		}
		for ; len(rows) > 0; rows = rows[row.Size:] {
			row.Both.fill(rows[:row.Size], a.of.record(a.at(k)), b.of.record(b.at(k)))
			k++
		}
	}
	return nil
}

// isRecordOfA reports whether a row consists of the record of A.
func (s *Shape) isRecordOfA(recordSize, rowSize int) bool {
	whole := Copy{Size: recordSize}
	return recordSize == rowSize && len(s.Copies) == 1 && s.Copies[0] == whole
}

// joinGroups writes all pairs of the next groups, which have the same key, in the order of A and
// then of B.
func (w *worker) joinGroups(ctx context.Context, a, b *cursor) error {
	row := &w.op.opt.Join.Row
	endA := a.groupEnd()
	endB := b.groupEnd()
	for ; a.next < endA; a.next++ {
		recordA := a.record(a.next)
		for k := b.next; k < endB; k++ {
			to, err := w.room(ctx, &w.buffers[result], 1)
			if err != nil {
				return err
			}
			row.Both.fill(to, recordA, b.record(k))
		}
	}
	b.next = endB
	return nil
}
