package spill

import (
	"slices"
	"sync"

	"github.com/extsort/extsort/internal/safely"
)

// A Prefetcher reads units, which are records or blocks, ahead of its readers. The readers read
// each unit once, roughly in order.
type Prefetcher struct {
	Units int64 // number of units
	// UnitBytes is the size of a unit. It is needed if a request or a reader reads several units.
	UnitBytes int64
	Queue     *Queue // runs the requests; nil to start a goroutine per request

	// Take returns memory for a request and a function that gives it back, or nil if there is
	// none. Its argument is the number of requests that have memory.
	Take  func(has int) (memory []byte, give func())
	Leave func() // called when no more memory will be taken

	Request Request
	Now     func(p []byte, first int64) error // reads units that no request has read

	mu     sync.Mutex
	next   int64    // first unit that was neither requested nor read by a reader
	pieces []*piece // requested units that have not been read completely, in order
}

// A Request prepares to read units, starting at first and at most the given number, into memory.
// It returns their number and a function that reads them and returns the part of memory that
// contains them. The function is nil if none of these units can be read ahead.
type Request func(memory []byte, first, most int64) (n int64, read func() ([]byte, error))

// A piece contains the units of one request.
type piece struct {
	first, units int64
	left         int64 // number of units that no reader has read
	read         []byte
	give         func() // gives back the memory of the request
	readers      int    // number of current readers
	done         chan struct{}
	err          error
}

// Read fills p with the units [first, end).
func (w *Prefetcher) Read(p []byte, first, end int64) error {
	for first < end {
		from, n := w.find(first, end)
		part := p
		if first+n < end {
			part = p[:n*w.UnitBytes]
		}
		err := w.fill(part, first, from)
		w.release(from, n)
		if err != nil {
			return err
		}
		p = p[len(part):]
		first += n
	}

	return nil
}

// fill copies units from a piece. If from is nil, it reads them from the file.
func (w *Prefetcher) fill(p []byte, first int64, from *piece) error {
	if from == nil {
		return w.Now(p, first)
	}
	<-from.done
	if from.err == nil {
		copy(p, from.read[(first-from.first)*w.UnitBytes:])
	}
	return from.err
}

// find starts requests and returns the piece that contains unit first, and how many of the units
// up to end it contains. If no piece contains the first n of them, it returns nil and n.
func (w *Prefetcher) find(first, end int64) (from *piece, n int64) {
	w.mu.Lock()
	defer w.mu.Unlock()

	w.startRequests()
	w.next = max(w.next, end)

	for _, p := range w.pieces {
		switch {
		case p.first > first:
			return nil, min(p.first, end) - first
		case first < p.first+p.units:
			p.readers++
			return p, min(p.first+p.units, end) - first
		}
	}

	return nil, end - first
}

// Ahead starts as many requests as there is memory for.
func (w *Prefetcher) Ahead() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.startRequests()
}

// startRequests implements Ahead. REQUIRES: w.mu is held
func (w *Prefetcher) startRequests() {
	for w.next < w.Units {
		memory, give := w.Take(len(w.pieces))
		if memory == nil {
			return
		}
		p := &piece{
			first: w.next,
			give:  give,
			done:  make(chan struct{}),
		}
		n, read := w.Request(memory, w.next, w.Units-w.next)
		if w.next += n; read == nil {
			give()
			continue
		}

		p.units, p.left = n, n
		w.pieces = append(w.pieces, p)
		request := func() (err error) {
			p.read, err = read()
			return err
		}
		w.Queue.Go(request, func(err error) {
			p.err = err
			close(p.done)
		})
	}
}

// release notes that n units have been read, from a piece or without one.
func (w *Prefetcher) release(from *piece, n int64) {
	w.mu.Lock()
	defer w.mu.Unlock()

	if from != nil {
		from.readers -= 1
		from.left -= n
		switch i := slices.Index(w.pieces, from); {
		case i < 0 && from.readers == 0: // given up in the meantime
			from.drop()
		case i >= 0 && from.left == 0:
			w.pieces = slices.Delete(w.pieces, i, i+1)
			from.give()
		}
	}

	if w.next == w.Units && len(w.pieces) == 0 {
		w.Leave()
	}
}

// GiveUp gives back all memory that no reader needs.
func (w *Prefetcher) GiveUp() {
	w.mu.Lock()
	defer w.mu.Unlock()

	for _, p := range w.pieces {
		if p.readers == 0 {
			p.drop()
		}
	}

	w.pieces = nil
	w.next = w.Units
	w.Leave()
}

// drop gives back the memory of a request after the request has ended.
func (p *piece) drop() {
	go func() {
		<-p.done
		_ = safely.Call(func() error {
			p.give()
			return nil
		})
	}()
}
