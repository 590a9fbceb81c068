package sift

import (
	"bytes"
	"context"
	"fmt"
	"sort"

	"github.com/extsort/extsort/chunker/input"
	"github.com/extsort/extsort/device"
)

// Write reads the data again and writes all records in order. It returns input.ErrChanged if the
// data has changed. REQUIRES: the strays are sorted
func (s *Sieve) Write(
	ctx context.Context,
	src device.Source,
	w device.BlockWriter,
) error {
	after := len(s.blocks)
	for i := len(s.blocks) - 1; i >= 0; i-- {
		s.blocks[i].nextStaying = after
		if s.blocks[i].staying > 0 {
			after = i
		}
	}

	src = device.FullBlocks(src, s.recordBytes)
	return device.Each(ctx, s.opt.Workers, func(ctx context.Context, _ int) error {
		m := &merger{s, device.Emitter{
			To:   w,
			Size: s.recordBytes,
			Buf:  make([]byte, 0, s.opt.BlockRecords*s.recordBytes),
		}}
		for {
			v, err := s.readView(ctx, src)
			if v == nil || err != nil {
				return err
			}
			err = m.writeBlock(ctx, v)
			s.views <- v
			if err != nil {
				return err
			}
		}
	})
}

// A position is a position in the output: how many records of each kind precede it.
type position struct {
	staying, early, late int64
}

// index returns the number of records before the position.
func (p position) index() int64 {
	return p.staying + p.early + p.late
}

// positionOf returns the position of the first staying record of a block. It follows all strays
// with smaller keys, and the early strays with the same key. The first block with a staying record
// also includes everything before that record.
func (s *Sieve) positionOf(i int) position {
	if i == len(s.blocks) {
		last := &s.blocks[i-1]
		return position{
			staying: last.stayingBefore + int64(last.staying),
			early:   s.Early.count,
			late:    s.Late.count,
		}
	}
	b := &s.blocks[i]
	if b.stayingBefore == 0 {
		return position{}
	}
	return position{
		staying: b.stayingBefore,
		early:   s.Early.countUpTo(b.firstKey, true),
		late:    s.Late.countUpTo(b.firstKey, false),
	}
}

// countUpTo returns how many sorted strays have keys less than key, or at most key if orEqual is
// set.
func (s *Strays) countUpTo(key []byte, orEqual bool) int64 {
	var buffer []byte
	return int64(sort.Search(int(s.count), func(i int) bool {
		buffer = s.keyer.Append(buffer[:0], s.recordAt(int64(i)))
		c := bytes.Compare(buffer, key)
		return c > 0 || c == 0 && !orEqual
	}))
}

// A merger writes the staying records of a block together with the strays between them.
type merger struct {
	sieve *Sieve
	out   device.Emitter
}

func (m *merger) writeBlock(ctx context.Context, v *view) error {
	s := m.sieve
	i := int(v.first / int64(s.opt.BlockRecords))
	if i >= len(s.blocks) {
		return input.ErrChanged
	}
	b := &s.blocks[i]
	if v.count != b.records || v.sum != b.sum {
		return input.ErrChanged
	}
	if b.staying == 0 {
		return nil
	}
	v.selectStaying(b.lower, b.upper)
	if len(v.staying) != b.staying {
		return fmt.Errorf(
			"internal error: %d records of a block stay, where %d did", len(v.staying), b.staying,
		)
	}
	at := s.positionOf(i)
	end := s.positionOf(b.nextStaying)
	m.out.First = at.index()
	m.out.Left = end.index() - at.index()
	m.out.Buf = m.out.Buf[:0]
	if err := m.mergeBetween(ctx, v, at, end); err != nil {
		return err
	}
	return m.out.Flush(ctx)
}

// mergeBetween writes the records between two positions.
func (m *merger) mergeBetween(ctx context.Context, v *view, at, end position) error {
	next := 0 // of the staying records
	for at.early < end.early || at.late < end.late {
		rec, early := m.sieve.nextStray(&at, end)
		until := v.stayingAfter(rec, early, next)
		if err := m.writeStaying(ctx, v, v.staying[next:until]); err != nil {
			return err
		}
		if err := m.out.Add(ctx, rec); err != nil {
			return err
		}
		next = until
	}

	return m.writeStaying(ctx, v, v.staying[next:])
}

// nextStray returns the next stray. If keys are equal, early strays come first: they belong before
// the staying records with the same key, and late strays belong after them.
func (s *Sieve) nextStray(at *position, end position) (rec []byte, early bool) {
	early = at.early < end.early
	if early && at.late < end.late {
		early = s.opt.Keyer.Compare(
			s.Early.recordAt(at.early), s.Late.recordAt(at.late),
		) <= 0
	}
	if early {
		at.early++
		return s.Early.recordAt(at.early - 1), true
	}

	at.late++
	return s.Late.recordAt(at.late - 1), false
}

// stayingAfter returns the index of the first staying record, starting at from, that follows a
// stray. It searches nearby positions first.
func (v *view) stayingAfter(stray []byte, early bool, from int) int {
	prefix := v.keyer.Prefix(stray)
	isBehind := func(i int) bool {
		at := int(v.staying[i])
		if v.prefixes[at] != prefix {
			return v.prefixes[at] > prefix
		}
		c := v.keyer.Compare(v.record(at), stray)
		return c > 0 || c == 0 && early
	}
	low := from
	step := 1
	for low+step <= len(v.staying) && !isBehind(low+step-1) {
		low += step
		step *= 2
	}
	most := min(step-1, len(v.staying)-low)
	return low + sort.Search(most, func(i int) bool {
		return isBehind(low + i)
	})
}

// writeStaying writes staying records, consecutive ones together.
func (m *merger) writeStaying(ctx context.Context, v *view, stay []int32) error {
	for len(stay) > 0 {
		n := countConsecutive(stay)
		from := int(stay[0]) * m.sieve.recordBytes
		if err := m.out.Add(ctx, v.recs[from:from+n*m.sieve.recordBytes]); err != nil {
			return err
		}
		stay = stay[n:]
	}
	return nil
}
