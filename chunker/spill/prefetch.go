package spill

import (
	"slices"
	"sync"

	"github.com/extsort/extsort/internal/safely"
)

// Window reads units, which are records or blocks, ahead of its readers, who read about in order and each unit once.
type Window struct {
	Units     int64  // that there are
	UnitBytes int64  // of each, where requests or readers read several
	Queue     *Queue // that does the requests; nil: each is a goroutine

	// Take gives the memory of a request, besides those that the window has, and what gives it back; nil: there is none.
	Take  func(has int) (memory []byte, give func())
	Leave func() // is told that no more is taken

	Request Request
	Now     func(p []byte, first int64) error // reads units that no request has read

	mu     sync.Mutex
	next   int64    // first unit that was not requested, nor read by a reader
	pieces []*piece // that were requested and not read to their end, in order
}

// Request says how many units from one on, most of them at most, can be read into memory, and reads them: they lie in
// it where it tells. read is nil where none of so many can.
type Request func(memory []byte, first, most int64) (n int64, read func() ([]byte, error))

// piece is units that one request reads.
type piece struct {
	first, units int64
	left         int64 // that no reader has
	read         []byte
	give         func() // gives back the memory that they are in
	readers      int    // of that
	done         chan struct{}
	err          error
}

// Read fills p with the units [first, end).
func (w *Window) Read(p []byte, first, end int64) error {
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
		p, first = p[len(part):], first+n
	}
	return nil
}

// fill takes units from a piece, or reads them; nil: no piece has them.
func (w *Window) fill(p []byte, first int64, from *piece) error {
	if from == nil {
		return w.Now(p, first)
	}
	<-from.done
	if from.err == nil {
		copy(p, from.read[(first-from.first)*w.UnitBytes:])
	}
	return from.err
}

// find reads ahead, and finds the piece that has a unit; nil: none has. That is so for the first n of the units up to
// end.
func (w *Window) find(first, end int64) (from *piece, n int64) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.ahead()
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

// Ahead begins the requests that there is memory for.
func (w *Window) Ahead() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.ahead()
}

// ahead is Ahead. REQUIRES: w.mu is held.
func (w *Window) ahead() {
	for w.next < w.Units {
		memory, give := w.Take(len(w.pieces))
		if memory == nil {
			return
		}
		p := &piece{first: w.next, give: give, done: make(chan struct{})}
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
func (w *Window) release(from *piece, n int64) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if from != nil {
		from.readers, from.left = from.readers-1, from.left-n
		switch i := slices.Index(w.pieces, from); {
		case i < 0 && from.readers == 0: // it was given up
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

// GiveUp gives back what nobody will read any more.
func (w *Window) GiveUp() {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, p := range w.pieces {
		if p.readers == 0 {
			p.drop()
		}
	}
	w.pieces, w.next = nil, w.Units
	w.Leave()
}

// drop gives the memory of a request back when it has an answer.
func (p *piece) drop() {
	go func() {
		<-p.done
		_ = safely.Call(func() error {
			p.give()
			return nil
		})
	}()
}
