package remote

import (
	"context"
	"sync"
	"time"

	"github.com/extsort/extsort/internal/safely"
)

// latencies records how long responses take to begin, and limits hedged requests. A request that
// takes much longer than others is sent a second time, and the first response wins, as in Dean and
// Barroso, "The Tail at Scale" (2013). So a single slow response does not delay its reader.
type latencies struct {
	mu        sync.Mutex
	mean      time.Duration // over recent responses
	responses int
	bytes     int64 // number of bytes requested successfully
	hedged    int64 // number of bytes requested a second time
}

const (
	// A request is hedged after hedgeFactor times the mean latency, and at least minHedgeDelay.
	hedgeFactor   = 4
	minHedgeDelay = 50 * time.Millisecond

	minResponses  = 16 // minimum number of responses before requests are hedged
	meanResponses = 64 // approximate number of responses that the mean covers

	// At most 1/hedgeShare of all bytes is requested again. If all requests are slow, more
	// requests do not help.
	hedgeShare = 10
)

// recent is shared by all stores and servers, because a run usually uses only one.
var recent latencies

// hedgeTimer returns a channel that fires when a request should be sent again, or nil.
func (l *latencies) hedgeTimer() <-chan time.Time {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.responses < minResponses {
		return nil
	}
	return time.After(max(hedgeFactor*l.mean, minHedgeDelay))
}

// allowHedge reports whether a request for the given number of bytes may be sent again, and counts
// it.
func (l *latencies) allowHedge(bytes int64) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if (l.hedged+bytes)*hedgeShare > l.bytes {
		return false
	}
	l.hedged += bytes
	return true
}

// add records how long a response took to begin.
func (l *latencies) add(bytes int64, latency time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.responses++
	l.bytes += bytes
	l.mean += (latency - l.mean) / time.Duration(min(l.responses, meanResponses))
}

// A hedge is one or two requests for the same range. Only one response is used.
type hedge struct {
	send    func(ctx context.Context) (*Response, error)
	replies chan reply
	cancel  []context.CancelFunc // by request; each context ends with that of the run at the latest
	failed  int                  // number of requests that returned an error
}

// reply is the result of a request.
type reply struct {
	*Response
	request int
	err     error
}

// start sends a request.
func (h *hedge) start(ctx context.Context) {
	ctx, cancel := context.WithCancel(ctx)
	request := len(h.cancel)
	h.cancel = append(h.cancel, cancel)
	go func() {
		var response *Response
		err := safely.Call(func() (err error) {
			response, err = h.send(ctx)
			return err
		})
		h.replies <- reply{response, request, err}
	}()
}

// giveUp cancels the request that has not been replied to, if there is one, and closes its
// response.
func (h *hedge) giveUp(used reply) {
	if len(h.cancel)-h.failed <= 1 {
		return
	}
	h.cancel[1-used.request]()
	go func() {
		if other := <-h.replies; other.err == nil {
			_ = safely.Call(other.Body.Close)
		}
	}()
}

// request requests the bytes [first, end). If the response is late, it sends a second request. It
// returns the first successful response, or an error if none exists.
func (o *Object) request(ctx context.Context, first, end int64) (*Response, error) {
	h := &hedge{
		send:    func(ctx context.Context) (*Response, error) { return o.get(ctx, first, end, o.Tag) },
		replies: make(chan reply, 2),
	}
	start := time.Now()
	h.start(ctx)
	r := h.wait(ctx, end-first)
	if r.err == nil {
		recent.add(end-first, time.Since(start))
	}
	h.giveUp(r)
	return r.Response, r.err
}

// wait returns the first successful reply, or the last error. If the reply to the first request, for the given number
// of bytes, is late, it sends a second request.
func (h *hedge) wait(ctx context.Context, bytes int64) reply {
	timer := recent.hedgeTimer()
	for {
		select {
		case <-timer:
			if recent.allowHedge(bytes) {
				h.start(ctx)
			}
		case r := <-h.replies:
			if r.err == nil {
				return r
			}
			h.failed++
			if h.failed == len(h.cancel) {
				return r
			}
		}
	}
}
