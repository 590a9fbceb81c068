package sets

import (
	"context"
	"encoding/binary"
	"slices"

	"github.com/extsort/extsort/merge/match"
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
		c.fill(row[c.To:c.To+c.Size], from)
	}
}

// fill copies bytes of a record to their place in a row.
func (c *Copy) fill(to, record []byte) {
	copy(to, record[c.From:c.From+c.Size])
	if c.Word > 0 {
		for word := range slices.Chunk(to, c.Word) {
			slices.Reverse(word)
		}
	}
}

// A selection is a list of records of a stretch, in order.
type selection struct {
	of   *stretch
	refs []uint32 // their indexes; nil for all records
}

// len returns the number of selected records.
func (s *selection) len() int {
	if s.refs == nil {
		return len(s.of.keys)
	}
	return len(s.refs)
}

// at returns the index of the k-th selected record.
func (s *selection) at(k int) int {
	if s.refs == nil {
		return k
	}
	return int(s.refs[k])
}

// marked returns the marked records of a stretch. It stores their indexes in memory.
func (s *stretch) marked(marks []byte, memory *[]uint32) selection {
	refs := slices.Grow((*memory)[:0], len(marks)+1)[:len(marks)]
	*memory = refs
	return selection{of: s, refs: refs[:match.Indexes(refs, marks, 1)]}
}

// A cursor is a position in a selection.
type cursor struct {
	selection
	next int
}

func (c *cursor) ended() bool { return c.next == c.len() }

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
	for end < c.len() && c.of.compare(c.at(c.next), c.of, c.at(end)) == 0 {
		end++
	}
	return end
}

// join joins two parts.
func (w *worker) join(ctx context.Context, partA, partB *part) error {
	join := w.op.opt.Join
	isOneForOne := partB.isDistinct() && join.Type == InnerJoin
	if isOneForOne && join.Row.Both.isRecordOfA(partA.size, join.Row.Size) {
		ofA := w.ofA.none(&partA.stretch)
		w.addMarks(ofA, &partA.stretch, &partB.stretch, false)
		return w.addMarked(ctx, &w.buffers[result], &partA.stretch, ofA, 1)
	}

	a := cursor{selection: selection{of: &partA.stretch}}
	b := cursor{selection: selection{of: &partB.stretch}}
	if !join.Type.keepsA() || !join.Type.keepsB() {
		ofA, ofB := w.markBoth(partA, partB)
		if !join.Type.keepsA() {
			a.selection = partA.marked(ofA, &w.refsA)
		}
		if !join.Type.keepsB() {
			b.selection = partB.marked(ofB, &w.refsB)
		}
	}
	if isOneForOne && partA.isDistinct() {
		return w.joinDistinct(ctx, &a.selection, &b.selection)
	}
	return w.joinCursors(ctx, &a, &b)
}

// joinCursors writes the rows of two selections.
func (w *worker) joinCursors(ctx context.Context, a, b *cursor) error {
	join := w.op.opt.Join
	for !a.ended() || !b.ended() {
		order := a.compare(b)
		if order == 0 {
			if err := w.joinGroups(ctx, a, b); err != nil {
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
// selection. It fills one column of many rows after another.
func (w *worker) joinDistinct(ctx context.Context, a, b *selection) error {
	row := &w.op.opt.Join.Row
	for k := 0; k < len(a.refs); {
		rows, err := w.room(ctx, &w.buffers[result], len(a.refs)-k)
		if err != nil {
			return err
		}
		n := len(rows) / row.Size
		if rest := row.Both.Rest; rest != nil {
			for at := 0; at < len(rows); at += row.Size {
				copy(rows[at:at+row.Size], rest)
			}
		}
		for i := range row.Both.Copies {
			c := &row.Both.Copies[i]
			from := a
			if c.FromB {
				from = b
			}
			c.fillColumn(rows, row.Size, from.of, from.refs[k:k+n])
		}
		k += n
	}
	return nil
}

// fillColumn copies bytes of the records with the given indexes, each to one row.
func (c *Copy) fillColumn(rows []byte, rowSize int, from *stretch, refs []uint32) {
	at := c.To
	if c.Size == prefixBytes && c.Word == 0 {
		for _, ref := range refs {
			word := binary.NativeEndian.Uint64(from.recs[int(ref)*from.size+c.From:])
			binary.NativeEndian.PutUint64(rows[at:], word)
			at += rowSize
		}
		return
	}
	for _, ref := range refs {
		c.fill(rows[at:at+c.Size], from.record(int(ref)))
		at += rowSize
	}
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
