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
	ctx context.Context, src device.Source, w device.BlockWriter,
) error {
	after := len(s.blocks)
	for i := len(s.blocks) - 1; i >= 0; i-- {
		s.blocks[i].after = after
		if s.blocks[i].stay > 0 {
			after = i
		}
	}

	src = device.FullBlocks(src, s.size)
	return device.Each(ctx, s.opt.Workers, func(ctx context.Context, _ int) error {
		m := &merger{s, device.Emitter{
			To:   w,
			Size: s.size,
			Buf:  make([]byte, 0, s.opt.BlockRecords*s.size),
		}}
		for {
			v, err := s.view(ctx, src)
			if v == nil || err != nil {
				return err
			}
			err = m.write(ctx, v)
			s.views <- v
			if err != nil {
				return err
			}
		}
	})
}

// A place is a position in the output: how many records of each kind precede it.
type place struct{ stay, early, late int64 }

func (p place) output() int64 { return p.stay + p.early + p.late }

// placeOf returns the position of the first staying record of a block. It follows all strays with
// smaller keys, and the early strays with the same key. The first block with a staying record
// also includes everything before that record.
func (s *Sieve) placeOf(i int) place {
	if i == len(s.blocks) {
		last := &s.blocks[i-1]
		return place{last.before + int64(last.stay), s.Early.n, s.Late.n}
	}
	b := &s.blocks[i]
	if b.before == 0 {
		return place{}
	}
	return place{b.before, s.Early.countUpTo(b.key, true), s.Late.countUpTo(b.key, false)}
}

// countUpTo returns how many sorted strays have keys less than key, or at most key if orEqual is
// set.
func (s *Strays) countUpTo(key []byte, orEqual bool) int64 {
	var buffer []byte
	return int64(sort.Search(int(s.n), func(i int) bool {
		buffer = s.keyer.Append(buffer[:0], s.at(int64(i)))
		c := bytes.Compare(buffer, key)
		return c > 0 || c == 0 && !orEqual
	}))
}

// A merger writes the staying records of a block together with the strays between them.
type merger struct {
	sieve *Sieve
	out   device.Emitter
}

func (m *merger) write(ctx context.Context, v *view) error {
	s := m.sieve
	i := int(v.first / int64(s.opt.BlockRecords))
	if i >= len(s.blocks) {
		return input.ErrChanged
	}
	b := &s.blocks[i]
	if v.n != b.records || v.sum != b.sum {
		return input.ErrChanged
	}
	if b.stay == 0 {
		return nil
	}
	if v.choose(b.lower, b.upper); len(v.stay) != b.stay {
		return fmt.Errorf(
			"internal error: %d records of a block stay, where %d did", len(v.stay), b.stay,
		)
	}
	at := s.placeOf(i)
	end := s.placeOf(b.after)
	m.out.First, m.out.Left, m.out.Buf = at.output(), end.output()-at.output(), m.out.Buf[:0]
	if err := m.merge(ctx, v, at, end); err != nil {
		return err
	}
	return m.out.Flush(ctx)
}

// merge writes the records between two positions.
func (m *merger) merge(ctx context.Context, v *view, at, end place) error {
	next := 0 // of the staying records
	for at.early < end.early || at.late < end.late {
		rec, early := m.sieve.stray(&at, end)
		until := v.behind(rec, early, next)
		if err := m.putStaying(ctx, v, v.stay[next:until]); err != nil {
			return err
		}
		if err := m.out.Add(ctx, rec); err != nil {
			return err
		}
		next = until
	}

	return m.putStaying(ctx, v, v.stay[next:])
}

// stray returns the next stray. If keys are equal, early strays come first, because they precede
// the records that they were ahead of.
func (s *Sieve) stray(at *place, end place) (rec []byte, early bool) {
	early = at.early < end.early
	if early && at.late < end.late {
		early = s.opt.Keyer.Compare(
			s.Early.at(at.early), s.Late.at(at.late),
		) <= 0
	}
	if early {
		at.early++
		return s.Early.at(at.early - 1), true
	}

	at.late++
	return s.Late.at(at.late - 1), false
}

// behind returns the index of the first staying record, starting at from, that follows a stray.
// It searches nearby positions first.
func (v *view) behind(stray []byte, early bool, from int) int {
	prefix := v.keyer.Prefix(stray)
	isBehind := func(i int) bool {
		at := int(v.stay[i])
		if v.prefixes[at] != prefix {
			return v.prefixes[at] > prefix
		}
		c := v.keyer.Compare(v.rec(at), stray)
		return c > 0 || c == 0 && early
	}
	low := from
	step := 1
	for low+step <= len(v.stay) && !isBehind(low+step-1) {
		low += step
		step *= 2
	}
	most := min(step-1, len(v.stay)-low)
	return low + sort.Search(most, func(i int) bool {
		return isBehind(low + i)
	})
}

// putStaying writes staying records, consecutive ones together.
func (m *merger) putStaying(ctx context.Context, v *view, stay []int32) error {
	for len(stay) > 0 {
		n := together(stay)
		from := int(stay[0]) * m.sieve.size
		if err := m.out.Add(ctx, v.recs[from:from+n*m.sieve.size]); err != nil {
			return err
		}
		stay = stay[n:]
	}
	return nil
}
