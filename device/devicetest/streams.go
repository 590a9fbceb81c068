package devicetest

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"
)

// A Source is a device.Source of records in memory.
type Source struct {
	Recs []byte
	Size int // bytes of a record

	// Units, if not empty, makes it a source that does not know its size. It asks for room for as
	// many records as the device wants and then delivers Units[0], Units[1] … records,
	// cyclically.
	Units []int

	// Short, if not empty, makes it a source that knows its size and delivers short blocks: it
	// claims and delivers at most Short[0], Short[1] … records, cyclically.
	Short []int

	// FailAt makes call number FailAt (from 1) fail with Err. Before, if not nil, is called at
	// every call.
	FailAt int
	Err    error
	Before func(call int)

	mu    sync.Mutex
	calls int
	at    int64
}

// Records returns the number of records, or -1 if Units is not empty.
func (s *Source) Records() int64 {
	if len(s.Units) > 0 {
		return -1
	}
	return int64(len(s.Recs) / s.Size)
}

// Next implements device.Source.
func (s *Source) Next(
	limit int, place func(first int64, n int) []byte,
) (first int64, n int, err error) {
	if len(s.Units) > 0 {
		return s.nextOfPipe(limit, place)
	}
	call, first, n := s.claim(limit)
	if call == s.FailAt {
		return 0, 0, s.Err
	}
	if n > 0 {
		s.read(place(first, n), first, n)
	}
	return first, n, nil
}

func (s *Source) claim(limit int) (call int, first int64, n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.begin()
	first = s.at
	n = int(min(int64(limit), int64(len(s.Recs)/s.Size)-first))
	if len(s.Short) > 0 {
		n = min(n, max(1, s.Short[(s.calls-1)%len(s.Short)]))
	}
	s.at += int64(n)
	return s.calls, first, n
}

func (s *Source) begin() {
	s.calls++
	if s.Before != nil {
		s.Before(s.calls)
	}
}

// nextOfPipe reads as if from a pipe: sequentially, into memory requested before the amount of
// data is known.
func (s *Source) nextOfPipe(
	limit int, place func(first int64, n int) []byte,
) (first int64, n int, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.begin()
	if s.calls == s.FailAt {
		return 0, 0, s.Err
	}
	dst := place(s.at, limit)
	if len(dst) != limit*s.Size {
		return 0, 0, fmt.Errorf(
			"place gave %d bytes for %d records of %d", len(dst), limit, s.Size,
		)
	}
	unit := max(1, s.Units[(s.calls-1)%len(s.Units)])
	first = s.at
	n = min(limit, unit, len(s.Recs)/s.Size-int(s.at))
	s.read(dst[:n*s.Size], first, n)
	s.at += int64(n)
	return first, n, nil
}

func (s *Source) read(dst []byte, first int64, n int) {
	if len(dst) != n*s.Size {
		panic(
			fmt.Sprintf(
				"place gave %d bytes for %d records of %d", len(dst), n, s.Size,
			),
		)
	}
	copy(dst, s.Recs[first*int64(s.Size):])
}

// A Collector is a device.BlockWriter that stores the blocks. Set Size; all other fields may be
// zero.
type Collector struct {
	Size int // bytes of a record

	// Max, if not 0, is the maximum size of a block in bytes. Larger blocks are errors.
	Max int

	// FailAt makes call number FailAt (from 1) fail with Err. Before, if not nil, is called at
	// every call.
	FailAt int
	Err    error
	Before func(call int)

	mu     sync.Mutex
	calls  int
	blocks []block
}

type block struct {
	first int64
	recs  []byte
}

// WriteBlock stores a copy of the block.
func (c *Collector) WriteBlock(
	_ context.Context,
	first int64,
	recs []byte,
) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.calls++
	if c.Before != nil {
		c.Before(c.calls)
	}
	switch {
	case c.calls == c.FailAt:
		return c.Err
	case len(recs) == 0 || len(recs)%c.Size != 0:
		return fmt.Errorf(
			"block at record %d has %d bytes, records %d",
			first,
			len(recs),
			c.Size,
		)
	case c.Max > 0 && len(recs) > c.Max:
		return fmt.Errorf(
			"block at record %d has %d bytes, more than %d",
			first,
			len(recs),
			c.Max,
		)
	}
	c.blocks = append(c.blocks, block{first, slices.Clone(recs)})
	return nil
}

// Recs returns the stream that was written, or an error if its blocks are inconsistent.
func (c *Collector) Recs() ([]byte, error) {
	slices.SortFunc(c.blocks, func(a, b block) int {
		return cmp.Compare(a.first, b.first)
	})
	var recs []byte
	for _, b := range c.blocks {
		if b.first*int64(c.Size) != int64(len(recs)) {
			return nil, fmt.Errorf(
				"block of record %d follows record %d",
				b.first,
				len(recs)/c.Size,
			)
		}
		recs = append(recs, b.recs...)
	}
	return recs, nil
}

// Written returns the stream that was written. Inconsistent blocks end the test.
func (c *Collector) Written(t testing.TB) []byte {
	t.Helper()
	recs, err := c.Recs()
	if err != nil {
		t.Fatal(err)
	}
	return recs
}

// A turnstile is a BlockWriter that accepts blocks only in order, as a pipe does.
type turnstile struct {
	Collector
	mu   sync.Mutex
	turn *sync.Cond
	next int64
}

func newTurnstile(size int) *turnstile {
	t := &turnstile{Collector: Collector{Size: size}}
	t.turn = sync.NewCond(&t.mu)
	return t
}

func (t *turnstile) WriteBlock(
	ctx context.Context,
	first int64,
	recs []byte,
) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	for t.next != first {
		t.turn.Wait()
	}
	err := t.Collector.WriteBlock(ctx, first, recs)
	t.next += int64(len(recs) / t.Size)
	t.turn.Broadcast()
	return err
}
