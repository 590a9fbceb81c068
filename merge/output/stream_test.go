package output

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
)

// pipeDouble is a stream that takes memory over, as a pipe does.
type pipeDouble struct {
	bytes.Buffer
	failAt int           // call that fails, from 1
	held   chan struct{} // calls wait until it is closed; nil: they do not
	calls  int
}

var errBroken = errors.New("broken pipe")

func (p *pipeDouble) Takes() bool { return true }

func (p *pipeDouble) Take(b []byte) (int, error) { return p.Write(b) }

func (p *pipeDouble) Write(b []byte) (int, error) {
	if p.held != nil {
		<-p.held
	}
	if p.calls++; p.calls == p.failAt {
		return 0, errBroken
	}
	return p.Buffer.Write(b)
}

// TestStreamSinkTakes has several goroutines give blocks and write others, more than are queued.
func TestStreamSinkTakes(t *testing.T) {
	const blocks, givers = 5 * queued, 7
	var to pipeDouble
	s := NewStreamSink(&to, 4)
	var next, done atomic.Int64
	var group sync.WaitGroup
	for range givers {
		group.Go(func() {
			for i := next.Add(1) - 1; i < blocks; i = next.Add(1) - 1 {
				var err error
				if recs := fmt.Appendf(nil, "%04d", i); i%10 < 8 {
					err = s.TakeBlock(t.Context(), i, recs, func(err error) {
						done.Add(1)
						if err != nil {
							t.Errorf("block %d: %v", i, err)
						}
					})
				} else {
					err = s.WriteBlock(t.Context(), i, recs)
					clear(recs)
				}
				if err != nil {
					t.Errorf("block %d: %v", i, err)
				}
			}
		})
	}
	group.Wait()
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	var want bytes.Buffer
	for i := range blocks {
		fmt.Fprintf(&want, "%04d", i)
	}
	if !bytes.Equal(to.Bytes(), want.Bytes()) || s.Records() != blocks || done.Load() != blocks/10*8 {
		t.Errorf("%d of %d bytes, %d records, %d blocks done", to.Len(), want.Len(), s.Records(), done.Load())
	}
}

// TestStreamSinkTakesAnyOrder is given blocks from the last to the first, as many as it takes without waiting, while
// the first is missing.
func TestStreamSinkTakesAnyOrder(t *testing.T) {
	var to pipeDouble
	s := NewStreamSink(&to, 1)
	var done atomic.Int64
	var want []byte
	for first := int64(queued); first >= 0; first-- {
		block := []byte{byte(first)}
		want = append(block, want...)
		if done.Load() > 0 {
			t.Fatalf("written without record %d", first)
		}
		if err := s.TakeBlock(t.Context(), first, block, func(error) { done.Add(1) }); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.WriteBlock(t.Context(), queued+1, []byte("x")); err != nil {
		t.Error(err)
	}
	for first, block := range map[int64]string{0: "again", queued + 1: "again"} {
		if err := s.TakeBlock(t.Context(), first, []byte(block), nil); err == nil {
			t.Errorf("record %d was written twice", first)
		}
	}
	if err := s.Close(); err != nil || done.Load() != queued+1 || !bytes.Equal(to.Bytes(), append(want, 'x')) {
		t.Errorf("closed with %v; %d blocks done; wrote %q", err, done.Load(), to.Bytes())
	}
}

// until waits until something holds, which is found out with s locked.
func (s *StreamSink) until(holds func() bool) {
	for {
		s.mu.Lock()
		held := holds()
		s.mu.Unlock()
		if held {
			return
		}
		runtime.Gosched()
	}
}

// TestStreamSinkWaitsForRoom has a giver wait while too much is taken, until half of it is written.
func TestStreamSinkWaitsForRoom(t *testing.T) {
	to := pipeDouble{held: make(chan struct{})}
	s := NewStreamSink(&to, 1)
	give := func(first int64) error {
		return s.TakeBlock(t.Context(), first, []byte{byte(first)}, func(error) {})
	}
	for first := range int64(queued + 1) { // the first of them is being written
		if err := give(first); err != nil {
			t.Fatal(err)
		}
		if first == 0 {
			s.until(func() bool { return len(s.pending) == 0 && s.writing })
		}
	}
	given := make(chan error)
	go func() { given <- give(queued + 1) }()
	s.until(func() bool { return s.room != nil })
	for range queued / 2 {
		select {
		case <-given:
			t.Fatal("a block was taken though there was no room")
		case to.held <- struct{}{}:
		}
	}
	close(to.held)
	if err := <-given; err != nil {
		t.Error(err)
	}
	if err := s.Close(); err != nil || to.Len() != queued+2 {
		t.Errorf("closed with %v, after %d bytes", err, to.Len())
	}
}

// TestStreamSinkFails fails with a block that was taken over: its giver hears of it, and whoever comes later.
func TestStreamSinkFails(t *testing.T) {
	const blocks, failAt = 20, 5
	to := pipeDouble{failAt: failAt}
	s := NewStreamSink(&to, 1)
	results := make(chan error, blocks)
	for first := range int64(blocks) {
		if err := s.TakeBlock(t.Context(), first, []byte("x"), func(err error) { results <- err }); err != nil {
			results <- err
		}
	}
	for i := range blocks {
		if err := <-results; errors.Is(err, errBroken) != (i >= failAt-1) {
			t.Errorf("block %d: %v", i, err)
		}
	}
	if err := s.WriteBlock(t.Context(), blocks, []byte("x")); !errors.Is(err, errBroken) {
		t.Errorf("a later block: %v", err)
	}
	if err := s.Close(); !errors.Is(err, errBroken) || to.Len() != failAt-1 {
		t.Errorf("closed with %v, after %d bytes", err, to.Len())
	}
}

// TestStreamSinkGivesUp cancels while the reader of the pipe holds everything up: the giver goes on at once, and what
// was taken over is not written.
func TestStreamSinkGivesUp(t *testing.T) {
	to := pipeDouble{held: make(chan struct{})}
	s := NewStreamSink(&to, 1)
	stop := errors.New("stop")
	ctx, cancel := context.WithCancelCause(t.Context())
	defer cancel(nil)
	var results []error
	note := func(err error) { results = append(results, err) }
	for first := range int64(queued) {
		if err := s.TakeBlock(ctx, first, []byte("x"), note); err != nil {
			t.Fatal(err)
		}
	}
	cancel(stop)
	for first := range int64(3) { // one of them or two may be queued yet
		if err := s.TakeBlock(ctx, queued+first, []byte("x"), note); err != nil && !errors.Is(err, stop) {
			t.Errorf("a cancelled block: %v", err)
		}
	}
	if err := s.WriteBlock(ctx, queued+3, []byte("x")); !errors.Is(err, stop) {
		t.Errorf("a cancelled write: %v", err)
	}
	close(to.held)
	if err := s.Close(); !errors.Is(err, stop) || to.Len() > 1 {
		t.Errorf("closed with %v, after %d bytes", err, to.Len())
	}
	for i, err := range results[1:] {
		if !errors.Is(err, stop) {
			t.Errorf("block %d: %v", i+1, err)
		}
	}
}
