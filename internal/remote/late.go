package remote

import (
	"context"
	"sync"
	"time"

	"github.com/extsort/extsort/internal/safely"
)

// pace is how long answers take to begin. A request that takes much longer is sent again, and the answer that comes
// first is taken, as in Dean and Barroso, "The Tail at Scale" (2013): one that is late holds up its reader no longer.
type pace struct {
	mu      sync.Mutex
	mean    time.Duration // of the last ones
	answers int
	bytes   int64 // that were answered
	again   int64 // that were asked for once more
}

const (
	lateTimes = 4 // the mean is late
	leastLate = 50 * time.Millisecond

	knownAnswers = 16 // before which nothing is late
	meanOf       = 64
	againShare   = 10 // of all bytes is asked for again at most: where all requests are slow, more do not help
)

// answering is that of all stores and servers: a run has to do with one as a rule.
var answering pace

// late is after how long a request is sent again; nil: it is not.
func (p *pace) late() <-chan time.Time {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.answers < knownAnswers {
		return nil
	}
	return time.After(max(lateTimes*p.mean, leastLate))
}

// repeat reports whether a request for so many bytes may be sent again, and counts it.
func (p *pace) repeat(bytes int64) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if (p.again+bytes)*againShare > p.bytes {
		return false
	}
	p.again += bytes
	return true
}

// note counts an answer that took so long to begin.
func (p *pace) note(bytes int64, took time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.answers++
	p.bytes += bytes
	p.mean += (took - p.mean) / time.Duration(min(p.answers, meanOf))
}

// ask sends a request for the bytes from first up to end, and another where the answer is late. The answer that comes
// first is taken, an error only if none comes.
func (o *Object) ask(ctx context.Context, first, end int64) (a *Answer, err error) {
	type reply struct {
		*Answer
		number int
		err    error
	}
	replies := make(chan reply, 2)
	var giveUp []context.CancelFunc // each ends with ctx at the latest
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
	start, late := time.Now(), answering.late()
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
