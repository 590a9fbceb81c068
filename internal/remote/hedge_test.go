package remote

import (
	"bytes"
	"context"
	"errors"
	"io"
	"sync/atomic"
	"testing"
	"time"
)

// fresh resets the timing of requests for the duration of a test, and removes the limit on their
// time.
func fresh(t *testing.T) {
	before := attemptTime
	attemptTime = time.Hour
	recent.mean, recent.responses, recent.bytes, recent.hedged = 0, 0, 0, 0
	t.Cleanup(func() { attemptTime = before })
}

// TestLateRequestIsSentAgain leaves some requests without a response.
func TestLateRequestIsSentAgain(t *testing.T) {
	fresh(t)
	content := bytes.Repeat([]byte("0123456789"), 10_000)
	answers := holds(content, 1<<20, func(int) error { return nil })
	var requests, late, closed atomic.Int64
	o, err := NewObject(t.Context(), "o", func(ctx context.Context, first, end int64, tag string) (*Response, error) {
		if n := requests.Add(1); n > 2*minResponses && n%20 == 0 {
			late.Add(1)
			<-ctx.Done()
			return nil, ctx.Err()
		}
		return answers(ctx, first, end, tag)
	})
	if err != nil {
		t.Fatal(err)
	}
	for i := range 100 {
		p, at := make([]byte, 100), 5000+i*100
		if n, err := o.ReadAt(p, int64(at)); n != 100 || err != nil || !bytes.Equal(p, content[at:at+100]) {
			t.Fatalf("at %d: %d, %v", at, n, err)
		}
	}
	if late.Load() < 3 || requests.Load() != 101+late.Load() {
		t.Errorf("%d requests, %d of them without a response", requests.Load(), late.Load())
	}

	// Both responses arrive, and one is not used.
	o.get = func(ctx context.Context, first, end int64, tag string) (*Response, error) {
		if requests.Add(1)%2 == 0 {
			<-ctx.Done()
		}
		a, err := answers(context.WithoutCancel(ctx), first, end, tag)
		a.Body = closing{a.Body, &closed}
		return a, err
	}
	requests.Store(1)
	a, err := o.request(t.Context(), 5000, 5100)
	if err != nil {
		t.Fatal(err)
	}
	for closed.Load() == 0 {
		time.Sleep(time.Millisecond)
	}
	if got, err := io.ReadAll(a.Body); err != nil || !bytes.Equal(got, content[5000:5100]) {
		t.Errorf("%d bytes, %v", len(got), err)
	}
}

type closing struct {
	io.ReadCloser
	closed *atomic.Int64
}

func (c closing) Close() error {
	c.closed.Add(1)
	return c.ReadCloser.Close()
}

// TestBothRequestsFail returns an error if a late request and its second copy fail.
func TestBothRequestsFail(t *testing.T) {
	fresh(t)
	for range 2 * minResponses {
		recent.add(1, time.Microsecond)
	}
	refused := errors.New("refused")
	second := make(chan bool)
	var requests atomic.Int64
	o := &Object{get: func(context.Context, int64, int64, string) (*Response, error) {
		if requests.Add(1) == 1 {
			<-second
			return nil, errors.New("reset")
		}
		defer close(second)
		return nil, refused
	}}
	if _, err := o.request(t.Context(), 0, 1); err == nil || errors.Is(err, refused) || requests.Load() != 2 {
		t.Errorf("%d requests: %v", requests.Load(), err)
	}
}

// TestFewAreSentAgain checks that no request is sent again before the usual latency is known, and
// that at most a tenth of all bytes is requested again afterwards.
func TestFewAreSentAgain(t *testing.T) {
	var p latencies
	for range minResponses - 1 {
		p.add(10, time.Second)
	}
	if p.hedgeTimer() != nil {
		t.Error("a request is late before the usual latency is known")
	}
	for range 1000 {
		p.add(10, time.Second)
	}
	if p.mean != time.Second || p.hedgeTimer() == nil {
		t.Errorf("the mean is %v", p.mean)
	}
	again := int64(0)
	for range 1000 {
		if p.allowHedge(15) {
			again += 15
		}
	}
	if most := p.bytes / hedgeShare; again > most || again <= most-15 {
		t.Errorf("%d of %d bytes are requested again", again, p.bytes)
	}
}
