package remote

import (
	"context"
	"sync"
	"time"

	"github.com/extsort/extsort/internal/safely"
)

// pace records how long responses take to begin. A request that takes much longer is sent again,
// and the first response wins, as in Dean and Barroso, "The Tail at Scale" (2013). So a single
// slow response does not delay its reader.
type pace struct {
	mu      sync.Mutex
	mean    time.Duration // over recent responses
	answers int
	bytes   int64 // number of bytes requested successfully
	again   int64 // number of bytes requested a second time
}

const (
	lateTimes = 4 // a response is late after this multiple of the mean
	leastLate = 50 * time.Millisecond

	knownAnswers = 16 // minimum number of responses before any is late
	meanOf       = 64
	// at most 1/againShare of all bytes is requested again; if all requests are slow, more
	// requests do not help
	againShare = 10
)

// answering is shared by all stores and servers, because a run usually uses only one.
var answering pace

// late returns a channel that fires when a request should be sent again, or nil.
func (p *pace) late() <-chan time.Time {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.answers < knownAnswers {
		return nil
	}
	return time.After(max(lateTimes*p.mean, leastLate))
}

// repeat reports whether a request for the given number of bytes may be sent again, and counts
// it.
func (p *pace) repeat(bytes int64) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if (p.again+bytes)*againShare > p.bytes {
		return false
	}
	p.again += bytes
	return true
}

// note records how long a response took to begin.
func (p *pace) note(bytes int64, took time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.answers++
	p.bytes += bytes
	p.mean += (took - p.mean) / time.Duration(min(p.answers, meanOf))
}

// request requests the bytes [first, end). If the response is late, it sends a second request. It
// returns the first successful response, or an error if none exists.
func (o *Object) request(ctx context.Context, first, end int64) (a *Answer, err error) {
	type reply struct {
		*Answer
		number int
		err    error
	}
	replies := make(chan reply, 2)
	var giveUp []context.CancelFunc // each context ends with ctx at the latest
	send := func() {
		ctx, cancel := context.WithCancel(ctx)
		number := len(giveUp)
		giveUp = append(giveUp, cancel)
		go func() {
			var a *Answer
			err := safely.Call(func() (err error) {
				a, err = o.get(ctx, first, end, o.Tag)
				return err
			})
			replies <- reply{a, number, err}
		}()
	}
	start := time.Now()
	late := answering.late()
	send()

	for failed := 0; ; {
		select {
		case <-late:
			if answering.repeat(end - first) {
				send()
			}
		case r := <-replies:
			if r.err == nil {
				answering.note(end-first, time.Since(start))
			} else if failed++; failed < len(giveUp) {
				continue
			}

			if len(giveUp)-failed > 1 {
				giveUp[1-r.number]()
				go func() {
					if other := <-replies; other.err == nil {
						_ = safely.Call(other.Body.Close)
					}
				}()
			}

			return r.Answer, r.err
		}
	}
}
