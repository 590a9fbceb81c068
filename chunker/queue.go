package chunker

import (
	"context"
	"sync"
	"sync/atomic"
)

// Queue is the device.Source of the records that a Distributor sends one way, in the order of the input.
type Queue struct {
	size int // bytes of a record

	mu      sync.Mutex
	changed *sync.Cond
	pieces  []queuedPiece // that nobody has claimed
	records int64         // that have been pushed
	ended   bool
	err     error
}

// queuedPiece is consecutive records of a queue, in a unit of the distributor.
type queuedPiece struct {
	first int64
	recs  []byte
	unit  *distributedUnit
}

// distributedUnit is memory for one unit of records, which is free again when all its pieces have been copied.
type distributedUnit struct {
	bytes   []byte
	pending atomic.Int32
	free    chan<- *distributedUnit
}

func (u *distributedUnit) release() {
	if u.pending.Add(-1) == 0 {
		u.free <- u
	}
}

func newQueue(size int) *Queue {
	q := &Queue{size: size}
	q.changed = sync.NewCond(&q.mu)
	return q
}

// Records is not known before the end.
func (q *Queue) Records() int64 { return -1 }

// Next waits for records and takes as many as are there, max at most.
func (q *Queue) Next(max int, place func(first int64, n int) []byte) (int64, int, error) {
	taken, err := q.take(max)
	if err != nil || len(taken) == 0 {
		return 0, 0, err
	}
	n := 0
	for _, p := range taken {
		n += len(p.recs) / q.size
	}
	dst := place(taken[0].first, n)
	for _, p := range taken {
		dst = dst[copy(dst, p.recs):]
		p.unit.release()
	}
	return taken[0].first, n, nil
}

// take claims whole pieces while they have max records at most together, or a part of one that has more.
func (q *Queue) take(max int) ([]queuedPiece, error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for len(q.pieces) == 0 && !q.ended && q.err == nil {
		q.changed.Wait()
	}
	if q.err != nil || len(q.pieces) == 0 {
		return nil, q.err
	}
	room := max * q.size
	if whole := &q.pieces[0]; len(whole.recs) > room {
		part := *whole
		part.recs, whole.recs = whole.recs[:room], whole.recs[room:]
		whole.first += int64(max)
		whole.unit.pending.Add(1)
		return []queuedPiece{part}, nil
	}
	i := 0
	for i < len(q.pieces) && len(q.pieces[i].recs) <= room {
		room -= len(q.pieces[i].recs)
		i++
	}
	taken := q.pieces[:i:i]
	q.pieces = q.pieces[i:]
	return taken, nil
}

// push appends records that lie in a unit.
func (q *Queue) push(recs []byte, unit *distributedUnit) {
	q.mu.Lock()
	q.pieces = append(q.pieces, queuedPiece{q.records, recs, unit})
	q.records += int64(len(recs) / q.size)
	q.mu.Unlock()
	q.changed.Signal()
}

// end tells that no more records come, because of err unless that is nil.
func (q *Queue) end(err error) {
	q.mu.Lock()
	q.ended, q.err = true, err
	q.mu.Unlock()
	q.changed.Broadcast()
}

// turns lets goroutines pass one after another, by the index of the first record that each has. Each wakes only the
// one that follows: with 32 workers, waking all of them for every unit took most of the time.
type turns struct {
	mu      sync.Mutex
	next    int64
	waiting map[int64]chan struct{} // by first record
}

func newTurns() *turns { return &turns{waiting: map[int64]chan struct{}{}} }

// pass calls f when it is the turn of first, and then it is that of end. After an error of f it is nobody's turn.
func (t *turns) pass(ctx context.Context, first, end int64, f func() error) error {
	t.mu.Lock()
	if t.next != first {
		mine := make(chan struct{})
		t.waiting[first] = mine
		t.mu.Unlock()
		select {
		case <-mine:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
		t.mu.Lock()
	}
	defer t.mu.Unlock()
	if err := f(); err != nil {
		return err
	}
	t.next = end
	if follower, ok := t.waiting[end]; ok {
		delete(t.waiting, end)
		close(follower)
	}
	return nil
}
