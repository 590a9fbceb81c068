// Package turns orders concurrent calls that write one after another.
package turns

import (
	"context"
	"fmt"
	"sync"
)

// A Queue orders concurrent calls: each call waits until all records before its own first record
// have been handled. The zero value begins with record 0. Other things than records, such as
// blocks, may be counted as well.
type Queue struct {
	mu      sync.Mutex
	next    int64 // first record of the call whose turn it is
	failed  error
	waiting map[int64]chan struct{}
}

// Wait returns nil when it is the turn of the call with the given first record. It returns an
// error if an earlier call failed. After it returned nil, the caller must call Pass.
func (q *Queue) Wait(ctx context.Context, first int64) error {
	q.mu.Lock()
	defer q.mu.Unlock()

	if q.failed != nil || first == q.next {
		return q.failed
	}
	if first < q.next || q.waiting[first] != nil {
		return fmt.Errorf("record %d is written twice", first)
	}
	if q.waiting == nil {
		q.waiting = map[int64]chan struct{}{}
	}
	turn := make(chan struct{})
	q.waiting[first] = turn
	q.mu.Unlock()

	select {
	case <-turn:
	case <-ctx.Done():
		q.Pass(0, context.Cause(ctx))
	}

	q.mu.Lock()
	return q.failed
}

// Finish returns the error that ended the turns, or an error if they did not cover exactly the
// given number of records.
func (q *Queue) Finish(records int64) error {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.failed == nil && q.next != records {
		return fmt.Errorf("internal error: %d of %d records were written", q.next, records)
	}
	return q.failed
}

// Pass gives the turn to the call whose first record has index next. If err is not nil, all turns
// end with the first such error.
func (q *Queue) Pass(next int64, err error) {
	q.mu.Lock()
	defer q.mu.Unlock()

	if q.failed == nil {
		q.failed = err
	}
	if err == nil {
		q.next = next
	}
	for first, turn := range q.waiting {
		if q.failed != nil || first == next {
			close(turn)
			delete(q.waiting, first)
		}
	}
}
