package output

import (
	"context"
	"fmt"
	"sync"
)

// turns orders concurrent calls: each call waits until all records before its own first record
// have been handled. The zero value begins with record 0.
type turns struct {
	mu      sync.Mutex
	next    int64 // first record of the call whose turn it is
	failed  error
	waiting map[int64]chan struct{}
}

// wait returns nil when it is the turn of the call with the given first record. It returns an
// error if an earlier call failed. After it returned nil, the caller must call pass.
func (t *turns) wait(ctx context.Context, first int64) error {
	t.mu.Lock()
	defer t.mu.Unlock()

	if t.failed != nil || first == t.next {
		return t.failed
	}
	if first < t.next || t.waiting[first] != nil {
		return fmt.Errorf("record %d is written twice", first)
	}
	if t.waiting == nil {
		t.waiting = map[int64]chan struct{}{}
	}
	turn := make(chan struct{})
	t.waiting[first] = turn
	t.mu.Unlock()

	select {
	case <-turn:
	case <-ctx.Done():
		t.pass(0, context.Cause(ctx))
	}

	t.mu.Lock()
	return t.failed
}

// finish returns the error that ended the turns, or an error if they did not cover exactly the
// given number of records.
func (t *turns) finish(records int64) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.failed == nil && t.next != records {
		return fmt.Errorf("internal error: %d of %d records were written", t.next, records)
	}
	return t.failed
}

// pass gives the turn to the call whose first record has index next. If err is not nil, all turns
// end with the first such error.
func (t *turns) pass(next int64, err error) {
	t.mu.Lock()
	defer t.mu.Unlock()

	if t.failed == nil {
		t.failed = err
	}
	if err == nil {
		t.next = next
	}
	for first, turn := range t.waiting {
		if t.failed != nil || first == next {
			close(turn)
			delete(t.waiting, first)
		}
	}
}
