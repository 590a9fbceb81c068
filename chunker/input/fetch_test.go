package input

import (
	"bytes"
	"errors"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/extsort/extsort/chunker/plan"
)

// TestFetcher reads records by several readers, each about in order, with more and less memory than they need.
func TestFetcher(t *testing.T) {
	const size, records = 24, 100_000
	data := make([]byte, size*records)
	rand.NewChaCha8([32]byte{1}).Read(data)
	for _, memory := range []int64{minRequestBytes, 4 * minRequestBytes, plan.RemoteRequests * minRequestBytes} {
		r := newRequests()
		r.allow(memory)
		f := newFetcher(r, size, records, func(p []byte, first int64) error {
			copy(p, data[first*size:])
			return nil
		})
		got := make([]byte, len(data))
		var next atomic.Int64
		var readers sync.WaitGroup
		for range 4 {
			readers.Go(func() {
				for {
					n := 1 + rand.Int64N(20_000)
					first := next.Add(n) - n
					if first >= records {
						return
					}
					n = min(n, records-first)
					if err := f.ReadRecords(got[first*size:][:n*size], first); err != nil {
						t.Error(err)
					}
				}
			})
		}
		readers.Wait()
		if !bytes.Equal(got, data) {
			t.Errorf("%d bytes of memory: other records came", memory)
		}
		allGivenBack(t, r)
	}
}

// TestGivenUp gives up what was fetched while requests have no answer and a reader waits for one.
func TestGivenUp(t *testing.T) {
	r := newRequests()
	r.allow(4 * minRequestBytes)
	answered, asked := make(chan struct{}), make(chan int64, 100)
	boom := errors.New("boom")
	f := newFetcher(r, 1, 1<<30, func(_ []byte, first int64) error {
		asked <- first
		<-answered
		return boom
	})
	read := make(chan error)
	go func() { read <- f.ReadRecords(make([]byte, 1000), 0) }()
	for range 4 {
		<-asked
	}
	r.giveUp()
	f.Ahead() // asks for nothing any more
	close(answered)
	if err := <-read; !errors.Is(err, boom) || len(asked) > 0 {
		t.Errorf("%v, and %d requests more", err, len(asked))
	}
	allGivenBack(t, r)
}

// allGivenBack waits until no request is under way, and none has memory.
func allGivenBack(t *testing.T, r *Requests) {
	t.Helper()
	for until := time.Now().Add(20 * time.Second); ; time.Sleep(time.Millisecond) {
		r.mu.Lock()
		free, kept, fetchers := r.free == r.most, len(r.buffers), len(r.fetchers)
		r.mu.Unlock()
		if free && kept == 0 && fetchers == 0 {
			return
		}
		if time.Now().After(until) {
			t.Fatalf("all requests are over: %v; %d have memory; %d fetchers", free, kept, fetchers)
		}
	}
}
