package sets

import (
	"context"

	"github.com/extsort/extsort/device"
)

// A TemporaryRun stores records outside of the main memory.
type TemporaryRun interface {
	device.BlockWriter

	// Replay calls f with all records, in order. It may be called several times, after the last
	// record has been written.
	Replay(ctx context.Context, f func(recs []byte) error) error

	// Close releases the storage.
	Close() error
}

// joinLarge joins two groups, of which at least one is larger than a block. It stores the records
// of B, and reads them again for each record of A.
func (op *operation) joinLarge(ctx context.Context, groups []*group) error {
	join := op.opt.Join
	if len(groups) == 1 {
		return op.joinAlone(ctx, groups[0])
	}
	a, b := groups[0], groups[1]
	err := b.each(ctx, func(recs stretch) error { return op.groups.add(ctx, recs.recs) })
	if err != nil {
		return err
	}
	out := rowWriter{to: op.sinks[result], recs: op.groups.rows}
	err = a.each(ctx, func(recs stretch) error {
		for i := range recs.keys {
			recordA := recs.record(i)
			err := op.groups.each(ctx, func(recordB []byte) error {
				row, err := out.next(ctx)
				if err == nil {
					join.Row.Both.fill(row, recordA, recordB)
				}
				return err
			})
			if err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	if err := out.flush(ctx); err != nil {
		return err
	}
	return op.groups.reset()
}

// joinAlone writes the records of a group without partners, if the join keeps them.
func (op *operation) joinAlone(ctx context.Context, g *group) error {
	join := op.opt.Join
	isA := g.input == 0
	if isA && !join.Type.keepsA() || !isA && !join.Type.keepsB() {
		return g.skip(ctx)
	}
	out := rowWriter{to: op.sinks[result], recs: op.groups.rows}
	err := g.each(ctx, func(recs stretch) error {
		for i := range recs.keys {
			row, err := out.next(ctx)
			if err != nil {
				return err
			}
			if isA {
				join.Row.OnlyA.fill(row, recs.record(i), nil)
			} else {
				join.Row.OnlyB.fill(row, nil, recs.record(i))
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	return out.flush(ctx)
}

// A rowWriter collects rows.
type rowWriter struct {
	to   *sink
	recs []byte
}

// next returns room for one more row.
func (w *rowWriter) next(ctx context.Context) ([]byte, error) {
	if len(w.recs)+w.to.size > cap(w.recs) {
		if err := w.flush(ctx); err != nil {
			return nil, err
		}
	}
	n := len(w.recs)
	w.recs = w.recs[:n+w.to.size]
	return w.recs[n:], nil
}

func (w *rowWriter) flush(ctx context.Context) error {
	err := w.to.add(ctx, w.recs)
	w.recs = w.recs[:0]
	return err
}

// A groupStore stores the records of one group of B: as many as the limit allows in memory, and the
// rest in a temporary run.
type groupStore struct {
	opt       *JoinOptions
	size      int      // record size in bytes
	blocks    [][]byte // in memory; full up to the last one that contains records
	used      int      // number of blocks that contain records
	allocated int64    // bytes of memory of all blocks
	run       TemporaryRun
	next      int64  // number of records in the run
	rows      []byte // memory for rows
}

// groupBlockBytes is the size of the blocks in which a group is stored in memory. They are not copied
// to larger memory when a group grows, which would need room for both.
const groupBlockBytes = 1 << 20

func newGroupStore(opt *JoinOptions, size, blockRecords int) *groupStore {
	return &groupStore{
		opt:  opt,
		size: size,
		rows: make([]byte, 0, blockRecords*opt.Row.Size),
	}
}

// add stores records.
func (s *groupStore) add(ctx context.Context, recs []byte) error {
	for s.run == nil && len(recs) > 0 {
		block := s.room()
		if block == nil {
			break
		}
		n := min(len(recs), (cap(*block)-len(*block))/s.size*s.size)
		*block = append(*block, recs[:n]...)
		recs = recs[n:]
	}
	if len(recs) == 0 {
		return nil
	}
	if s.run == nil {
		run, err := s.opt.NewRun(ctx)
		if err != nil {
			return err
		}
		s.run = run
	}
	err := s.run.WriteBlock(ctx, s.next, recs)
	s.next += int64(len(recs) / s.size)
	return err
}

// room returns a block in memory that has room for a record, or nil if the limit allows none.
func (s *groupStore) room() *[]byte {
	if s.used > 0 {
		if last := &s.blocks[s.used-1]; len(*last)+s.size <= cap(*last) {
			return last
		}
	}
	if s.used == len(s.blocks) {
		bytes := min(max(groupBlockBytes, int64(s.size)), s.opt.GroupBytes-s.allocated)
		bytes -= bytes % int64(s.size)
		if bytes <= 0 {
			return nil
		}
		s.blocks = append(s.blocks, make([]byte, 0, bytes))
		s.allocated += bytes
	}
	s.used++
	return &s.blocks[s.used-1]
}

// each calls f with each record, in order.
func (s *groupStore) each(ctx context.Context, f func(record []byte) error) error {
	split := func(recs []byte) error {
		for ; len(recs) > 0; recs = recs[s.size:] {
			if err := f(recs[:s.size]); err != nil {
				return err
			}
		}
		return nil
	}
	for _, block := range s.blocks[:s.used] {
		if err := split(block); err != nil {
			return err
		}
	}
	if s.run == nil {
		return nil
	}
	return s.run.Replay(ctx, split)
}

// reset removes all records.
func (s *groupStore) reset() error {
	for i := range s.blocks[:s.used] {
		s.blocks[i] = s.blocks[i][:0]
	}
	s.used = 0
	return s.close()
}

// close releases the temporary run.
func (s *groupStore) close() error {
	if s.run == nil {
		return nil
	}
	err := s.run.Close()
	s.run = nil
	s.next = 0
	return err
}
