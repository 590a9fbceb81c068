package blockio

import (
	"slices"
	"sync"
)

// ReaderOptions describes the units that a Reader reads.
type ReaderOptions struct {
	Units int64 // number of units

	// UnitBytes is the size of each unit. 0 means that the sizes differ. Each unit is then read by
	// a request of its own.
	UnitBytes int64

	// Locate returns the range of unit first and of the units that follow it in the same file, up
	// to most units in total. It also returns their number.
	Locate func(first, most int64) (r Range, units int64, err error)

	// Check is called after each read, with the data and the error of the read. It returns the
	// error for the callers that want these units. nil means that they get err itself.
	Check func(first int64, data []byte, err error) error
}

// A Reader reads the units of files, such as records or blocks, ahead of its callers. They read
// each unit once, roughly in order. The methods of a Reader are safe for concurrent use.
type Reader struct {
	pool *Pool
	opt  ReaderOptions

	mu           sync.Mutex
	requestEnded *sync.Cond // signals that a request has ended
	next         int64      // first unit that was neither requested nor read by a caller
	pieces       []*Buf     // requests with units that callers have not read yet, in order
	hasShare     bool       // the Reader has a share of the class Ahead
}

// A piece is the state of a request that reads ahead.
type piece struct {
	r            Range
	first, units int64
	left         int64  // number of units that no caller has read
	data         []byte // the units, when the request has ended
	callers      int    // number of callers that are copying units
	ended        bool   // the request has ended
	dropped      bool   // no further caller will copy units
	err          error
}

// NewReader returns a Reader of units in files.
func NewReader(p *Pool, o ReaderOptions) *Reader {
	r := &Reader{pool: p, opt: o}
	r.requestEnded = sync.NewCond(&r.mu)
	return r
}

// NewSection returns a Reader of the bytes [off, off+n) of a file. Each byte is a unit.
func NewSection(p *Pool, f File, off, n int64) *Reader {
	return NewReader(p, ReaderOptions{
		Units:     n,
		UnitBytes: 1,
		Locate: func(first, most int64) (Range, int64, error) {
			return Range{File: f, Off: off + first, Bytes: most}, most, nil
		},
	})
}

// Join gives the Reader a share of the requests that read ahead, before it starts the first one.
// All Readers of a pool have equal shares. r may be nil.
func (r *Reader) Join() {
	if r == nil {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.join()
}

// join implements Join. REQUIRES: r.mu is held
func (r *Reader) join() {
	if r.hasShare || r.next == r.opt.Units {
		return
	}
	r.hasShare = true
	r.pool.mu.Lock()
	defer r.pool.mu.Unlock()
	r.pool.readers++
}

// leave gives up the share if the Reader will start no more requests. REQUIRES: r.mu is held
func (r *Reader) leave() {
	if !r.hasShare || r.next < r.opt.Units || len(r.pieces) > 0 {
		return
	}
	r.hasShare = false
	r.pool.mu.Lock()
	defer r.pool.mu.Unlock()
	r.pool.readers--
	r.pool.freeIdle()
}

// Ended reports whether the Reader has requested all units and given back its memory.
func (r *Reader) Ended() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.next == r.opt.Units && len(r.pieces) == 0
}

// Ahead starts as many requests as there is memory for.
func (r *Reader) Ahead() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.startRequests()
}

// startRequests implements Ahead. REQUIRES: r.mu is held
func (r *Reader) startRequests() {
	for r.next < r.opt.Units {
		r.join()
		b := r.pool.tryAhead(len(r.pieces))
		if b == nil {
			return
		}
		if n := r.assignUnits(b); n == 0 {
			b.Release()
			continue
		}
		r.pieces = append(r.pieces, b)
		b.start(r)
	}
}

// tryAhead returns memory for a Reader that already has that of some requests, or nil if there is
// none or if these are its share.
func (p *Pool) tryAhead(has int) *Buf {
	p.mu.Lock()
	defer p.mu.Unlock()
	if has >= max(1, p.mostAhead()/max(p.readers, 1)) {
		return nil
	}
	b, _ := p.takeFree(Ahead)
	return b
}

// assignUnits assigns the next units to a request and returns their number. If they cannot be read
// ahead, it skips them and returns 0. REQUIRES: r.mu is held
func (r *Reader) assignUnits(b *Buf) int64 {
	first := r.next
	at, n, err := r.opt.Locate(first, r.opt.Units-first)
	r.next += n
	if err != nil || at.File.Props().Cached { // a caller that reads the unit gets err from Locate
		return 0
	}

	room := at.fittingBytes(len(b.Bytes))
	switch {
	case at.Bytes <= room:
	case r.opt.UnitBytes == 0 || r.opt.UnitBytes > room:
		return 0
	default:
		n = room / r.opt.UnitBytes
		at.Bytes = n * r.opt.UnitBytes
		r.next = first + n
	}
	b.read = piece{r: at, first: first, units: n, left: n}
	return n
}

// perform implements owner.
func (r *Reader) perform(b *Buf) (err error) {
	b.read.data, err = b.read.r.read(b.Bytes)
	return r.checkUnits(b.read.first, b.read.data, err)
}

func (r *Reader) checkUnits(first int64, data []byte, err error) error {
	if r.opt.Check == nil {
		return err
	}
	return r.opt.Check(first, data, err)
}

// ended implements owner.
func (r *Reader) ended(b *Buf, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	b.read.ended = true
	b.read.err = err
	b.releaseDropped()
	r.requestEnded.Broadcast()
}

// Read fills p with the units [first, end). If the units differ in size, it reads only one.
func (r *Reader) Read(p []byte, first, end int64) error {
	for first < end {
		from, n := r.findUnits(first, end)
		part := p
		if first+n < end {
			part = p[:n*r.opt.UnitBytes]
		}
		err := r.copyUnits(part, first, n, from)
		r.noteRead(from, n)
		if err != nil {
			return err
		}
		p = p[len(part):]
		first += n
	}

	return nil
}

// findUnits returns the request that reads unit first, and how many of the units [first, end) it
// reads. If no request reads that unit, it returns nil and the number of units to read without a
// request. It also starts requests that read ahead.
func (r *Reader) findUnits(first, end int64) (from *Buf, n int64) {
	r.mu.Lock()
	defer r.mu.Unlock()

	r.startRequests()
	r.next = max(r.next, end)

	for _, b := range r.pieces {
		switch piece := &b.read; {
		case piece.first > first:
			return nil, min(piece.first, end) - first
		case first < piece.first+piece.units:
			piece.callers++
			return b, min(piece.first+piece.units, end) - first
		}
	}

	return nil, end - first
}

// copyUnits copies units from a request, after it has ended. If from is nil, it reads the units
// from their files.
func (r *Reader) copyUnits(p []byte, first, n int64, from *Buf) error {
	if from == nil {
		return r.readNow(p, first, n)
	}

	r.mu.Lock()
	for !from.read.ended {
		r.requestEnded.Wait()
	}
	r.mu.Unlock()
	if from.read.err == nil {
		copy(p, from.read.data[(first-from.read.first)*r.opt.UnitBytes:])
	}
	return from.read.err
}

// readNow reads n units that no request has read ahead.
func (r *Reader) readNow(p []byte, first, n int64) error {
	for n > 0 {
		at, units, err := r.opt.Locate(first, n)
		if err != nil {
			return err
		}
		part := p[:min(at.Bytes, int64(len(p)))]
		got, err := r.pool.ReadAt(at.File, part, at.Off)
		if err = r.checkUnits(first, part[:got], err); err != nil {
			return err
		}
		p = p[len(part):]
		first += units
		n -= units
	}
	return nil
}

// noteRead notes that a caller has read n units, from a request or by itself.
func (r *Reader) noteRead(from *Buf, n int64) {
	r.mu.Lock()
	defer r.mu.Unlock()

	if from != nil {
		from.read.callers--
		from.read.left -= n
		if i := slices.Index(r.pieces, from); i >= 0 && from.read.left == 0 {
			r.pieces = slices.Delete(r.pieces, i, i+1)
			from.read.dropped = true
		}
		from.releaseDropped()
	}
	r.leave()
}

// GiveUp ends reading ahead, and gives back all memory that no caller or request needs any more. r
// may be nil.
func (r *Reader) GiveUp() {
	if r == nil {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()

	for _, b := range r.pieces {
		b.read.dropped = true
		b.releaseDropped()
	}
	r.pieces = nil
	r.next = r.opt.Units
	r.leave()
}

// releaseDropped releases the memory of a dropped piece. If the request or a caller still uses the
// memory, the last of them calls releaseDropped again. REQUIRES: the mutex of the Reader is held
func (b *Buf) releaseDropped() {
	if b.read.dropped && b.read.ended && b.read.callers == 0 {
		b.Release()
	}
}
