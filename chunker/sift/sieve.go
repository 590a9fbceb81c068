package sift

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/extsort/extsort/chunker/input"
	"github.com/extsort/extsort/device"
	"github.com/extsort/extsort/device/arena"
	"github.com/extsort/extsort/format"
)

// Options configures a Sieve.
type Options struct {
	Keyer        *format.Keyer
	Workers      int
	BlockRecords int   // number of records examined together
	Strays       int64 // maximum number of strays
}

// spareViews is the number of blocks in memory in addition to those being examined: one that
// waits for its successor, and one that arrives too early.
const spareViews = 2

// ErrTooMany reports more strays than fit into memory.
var ErrTooMany = errors.New("more records are out of order than fit in memory")

// A Sieve sifts data in two passes: Read, then Write. The caller must sort the strays in between.
type Sieve struct {
	opt         Options
	recordBytes int
	views       chan *view

	Early, Late *Strays // strays that occur before and after their place in the data

	mu        sync.Mutex // protects the fields below
	pending   map[int64]*view
	nextFirst int64 // first record of the next block to join
	held      *view // the last joined block, whose records may still become strays
	// lastFinishedKey is the normalized key of the last record that stays in the blocks before
	// held; nil if none stays.
	lastFinishedKey []byte
	blocks          []block
}

// A block describes a block after the first pass.
type block struct {
	records, staying int
	stayingBefore    int64  // number of records that stay in earlier blocks
	nextStaying      int    // next block in which a record stays
	lower, upper     []byte // see view
	firstKey         []byte // normalized key of the first record that stays
	sum              uint64 // XXH3 (64 bits) of all of its records
}

// New returns a Sieve and reserves its memory, which Close releases.
func New(opt Options) (*Sieve, error) {
	s := &Sieve{
		opt:         opt,
		recordBytes: opt.Keyer.Layout().RecordSize,
		pending:     map[int64]*view{},
	}
	s.views = make(chan *view, opt.Workers+spareViews)
	for range cap(s.views) {
		s.views <- newView(opt.Keyer, opt.BlockRecords)
	}
	var errs [2]error
	s.Early, errs[0] = newStrays(opt.Keyer, opt.Strays)
	s.Late, errs[1] = newStrays(opt.Keyer, opt.Strays)
	return s, errors.Join(errs[:]...)
}

// Close releases the memory.
func (s *Sieve) Close() error {
	return errors.Join(s.Early.memory.Free(), s.Late.memory.Free())
}

// Read finds the strays of src. It returns ErrTooMany if they do not fit into memory.
func (s *Sieve) Read(ctx context.Context, src device.Source) error {
	src = device.FullBlocks(src, s.recordBytes)
	err := device.Each(ctx, s.opt.Workers, func(ctx context.Context, _ int) error {
		for {
			v, err := s.readView(ctx, src)
			if v == nil || err != nil {
				return err
			}
			v.selectStaying(nil, nil)
			if err := s.addView(v); err != nil {
				return err
			}
		}
	})
	if err == nil && s.held != nil {
		err = s.finishView(s.held)
	}
	return err
}

// readView returns the next block of src, or nil at the end.
func (s *Sieve) readView(ctx context.Context, src device.Source) (*view, error) {
	var v *view
	select {
	case v = <-s.views:
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}

	first, n, err := src.Next(s.opt.BlockRecords, func(_ int64, n int) []byte {
		return v.recs[:n*s.recordBytes]
	})
	if n == 0 || err != nil {
		s.views <- v
		return nil, err
	}

	v.examine(first, n)
	return v, nil
}

// addView adds a block, and the later blocks that have waited for it.
func (s *Sieve) addView(v *view) error {
	s.mu.Lock()
	defer s.mu.Unlock()

	s.pending[v.first] = v

	for {
		v := s.pending[s.nextFirst]
		if v == nil {
			return nil
		}
		delete(s.pending, s.nextFirst)
		s.nextFirst += int64(v.count)
		if err := s.joinView(v); err != nil {
			return err
		}
	}
}

// joinView appends a block to the one before it. If they overlap, some staying records become
// strays: those at the beginning of the block or, if these are too many, those at the end of the
// block before it.
func (s *Sieve) joinView(v *view) error {
	if before := s.lastKey(); before != nil && !v.follows(before) {
		alone := len(v.staying)
		typical := bytes.Clone(v.keyOf(int(v.staying[alone/4])))
		v.selectStaying(before, nil)
		if len(v.staying) < alone/2 && s.cutHeld(typical, alone-len(v.staying)) {
			v.selectStaying(s.lastKey(), nil)
		}
	}

	held := s.held
	s.held = v
	if held == nil {
		return nil
	}
	return s.finishView(held)
}

// lastKey returns the normalized key of the last record that stays, or nil.
func (s *Sieve) lastKey() []byte {
	if s.held == nil || len(s.held.staying) == 0 {
		return s.lastFinishedKey
	}
	return bytes.Clone(s.held.keyOf(s.held.lastStaying()))
}

// cutHeld turns the records of the held block that are greater than upper into strays. It does
// nothing and returns false if these are more than most records, or if records of earlier blocks
// are greater than upper.
func (s *Sieve) cutHeld(upper []byte, most int) bool {
	held := s.held
	if held == nil || bytes.Compare(upper, s.lastFinishedKey) < 0 {
		return false
	}
	stayed := len(held.staying)
	lower := held.lower
	held.selectStaying(s.lastFinishedKey, upper)
	if stayed-len(held.staying) <= most {
		return true
	}
	held.selectStaying(lower, nil)
	return false
}

// finishView fixes which records of a block stay, after the beginning of the next block is known,
// and collects the strays.
func (s *Sieve) finishView(v *view) error {
	b := block{
		records: v.count,
		staying: len(v.staying),
		lower:   v.lower,
		upper:   v.upper,
		sum:     v.sum,
	}
	if len(s.blocks) > 0 {
		last := &s.blocks[len(s.blocks)-1]
		b.stayingBefore = last.stayingBefore + int64(last.staying)
	}

	if b.staying > 0 {
		b.firstKey = bytes.Clone(v.keyOf(int(v.staying[0])))
		s.lastFinishedKey = bytes.Clone(v.keyOf(v.lastStaying()))
	}
	s.blocks = append(s.blocks, b)
	err := v.eachStray(func(rec []byte, early bool) error {
		if s.Early.count+s.Late.count == s.opt.Strays {
			return ErrTooMany
		}
		if early {
			s.Early.append(rec)
		} else {
			s.Late.append(rec)
		}
		return nil
	})
	s.views <- v
	return err
}

// Strays contains records that are out of order. They are in the order of the data until they are
// sorted.
type Strays struct {
	keyer       *format.Keyer
	recordBytes int64
	count       int64
	memory      *arena.Memory
}

func newStrays(k *format.Keyer, most int64) (*Strays, error) {
	size := int64(k.Layout().RecordSize)
	memory, err := arena.Alloc(int(most * size))
	return &Strays{
		keyer:       k,
		recordBytes: size,
		memory:      memory,
	}, err
}

// Records returns the number of strays.
func (s *Strays) Records() int64 {
	return s.count
}

func (s *Strays) recordAt(i int64) []byte {
	return s.memory.Bytes()[i*s.recordBytes : (i+1)*s.recordBytes]
}

func (s *Strays) append(rec []byte) {
	copy(s.recordAt(s.count), rec)
	s.count++
}

// Source returns a source of the strays in their current order.
func (s *Strays) Source() device.Source {
	return input.ReaderSource(
		bytes.NewReader(s.memory.Bytes()),
		0,
		s.count,
		int(s.recordBytes),
	)
}

// WriteBlock stores sorted strays. It is a device.BlockWriter.
func (s *Strays) WriteBlock(_ context.Context, first int64, recs []byte) error {
	end := first*s.recordBytes + int64(len(recs))
	if end > s.count*s.recordBytes {
		return fmt.Errorf(
			"internal error: byte %d of %d of strays", end, s.count*s.recordBytes,
		)
	}
	copy(s.memory.Bytes()[first*s.recordBytes:], recs)
	return nil
}
