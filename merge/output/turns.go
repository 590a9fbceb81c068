package output

import (
	"cmp"
	"context"
	"fmt"
	"sync"
)

// turns lets calls that arrive in any order of their first records go on one after the other in that order.
// The zero value begins with record 0.
type turns struct {
	mu     sync.Mutex
	passed *sync.Cond // nil: nobody has waited
	next   int64      // first record of the call whose turn it is
	taken  bool       // by a call for which wait has returned
	failed error
}

// wait returns when it is the turn of the call with that first record, or with the error that ended all turns.
// After it returned nil, pass must be called.
func (t *turns) wait(ctx context.Context, first int64) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.failed == nil && first > t.next {
		t.passed = cmp.Or(t.passed, sync.NewCond(&t.mu))
		defer context.AfterFunc(ctx, func() { t.pass(0, context.Cause(ctx)) })()
	}
	for t.failed == nil && first > t.next {
		t.passed.Wait()
	}
	if t.failed == nil && (first < t.next || t.taken) {
		return fmt.Errorf("record %d is written twice", first)
	}
	t.taken = true
	return t.failed
}

// end is the first record of the call that would be next, and the error that ended all turns.
func (t *turns) end() (next int64, err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.next, t.failed
}

// pass gives the turn to the call whose first record is next; an error ends all turns with it, unless another has.
func (t *turns) pass(next int64, err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.failed = cmp.Or(t.failed, err); err == nil {
		t.next, t.taken = next, false
	}
	if t.passed != nil {
		t.passed.Broadcast()
	}
}
