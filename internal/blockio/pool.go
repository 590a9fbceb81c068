package blockio

import (
	"context"
	"slices"
	"sync"

	"github.com/extsort/extsort/device/arena"
	"github.com/extsort/extsort/internal/safely"
)

// A Class is the purpose of a request.
type Class uint8

// The classes of requests. Demand and Ahead share the memory for reads.
const (
	Demand Class = iota // reads data that a caller is waiting for
	Ahead               // reads data that will be needed later
	Write               // writes data
)

// Options describes the requests of a Pool.
type Options struct {
	Bytes  int // memory of one request, a multiple of Align
	Reads  int // number of requests that may read at a time
	Demand int // number of these that are never used to read ahead
	Writes int // number of requests that may write at a time

	// FreeIdle is set for a pool that is never closed. It frees its memory when no Reader is left,
	// and lends it to another pool while it does not need it.
	FreeIdle bool
}

// A Pool owns the memory of requests. It allocates the memory when the first request needs it. The
// methods of a Pool are safe for concurrent use.
type Pool struct {
	mu      sync.Mutex
	opt     Options
	reads   side
	writes  side
	ahead   int   // number of requests of the class Ahead
	held    int   // number of writes whose memory Assemblers hold between calls
	readers int   // number of Readers that share the class Ahead
	slab    *slab // nil if no memory is allocated

	lender   *Pool // lends memory for more writes; nil if there is none
	most     int   // maximum number of writes, including those in lent memory
	borrowed int   // number of writes in lent memory

	running sync.WaitGroup // counts requests in progress
}

// A side consists of the requests for one direction: reads or writes.
type side struct {
	limit   int
	used    int         // number of requests whose memory is in use, or lent to another pool
	free    []*Buf      // unused requests of the current slab, a stack
	waiting []chan *Buf // callers that wait for memory, in the order of their arrival
}

// A slab is the memory of all requests of a pool, allocated in one piece. If Resize replaces it
// while requests use it, the last of them frees it.
type slab struct {
	memory *arena.Memory
	used   int
}

// A Buf is the memory of one request. It belongs to one caller until it is released.
type Buf struct {
	Bytes []byte

	pool  *Pool
	slab  *slab
	class Class
	loan  int // number of requests that the lender gave up for this memory; 0 if it is not lent

	owner   owner
	read    piece
	written write
}

// An owner is a Reader, a Writer or an Assembler: it performs the request of a Buf.
type owner interface {
	perform(b *Buf) error    // called in a goroutine of the request
	ended(b *Buf, err error) // called with the error of perform; may release b
}

// NewPool returns a pool that has not allocated memory yet.
func NewPool(o Options) *Pool {
	p := &Pool{opt: o}
	p.reads.limit = o.Reads
	p.writes.limit = o.Writes
	return p
}

// RequestBytes returns the size of the memory of one request.
func (p *Pool) RequestBytes() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.opt.Bytes
}

// Used returns the number of requests that have memory. Those of the class Ahead are among reads.
func (p *Pool) Used() (reads, ahead, writes int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.reads.used, p.ahead, p.writes.used + p.borrowed
}

// mostAhead returns the maximum number of requests that read ahead. REQUIRES: p.mu is held
func (p *Pool) mostAhead() int { return max(p.opt.Reads-p.opt.Demand, 0) }

// Get waits until a request of the class Demand or Write has memory, or until ctx is done.
func (p *Pool) Get(ctx context.Context, c Class) (*Buf, error) {
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	b, turn, err := p.takeOrQueue(c)
	if b != nil || err != nil {
		return b, err
	}

	select {
	case b := <-turn:
		return b, nil
	case <-ctx.Done():
	}

	p.mu.Lock()
	defer p.mu.Unlock()
	s := p.sideOf(c)
	if i := slices.Index(s.waiting, turn); i >= 0 {
		s.waiting = slices.Delete(s.waiting, i, i+1)
	} else {
		p.release(<-turn)
	}
	return nil, context.Cause(ctx)
}

// waitForMemory is Get without a context, for requests of files: these end by themselves.
func (p *Pool) waitForMemory(c Class) (*Buf, error) {
	b, turn, err := p.takeOrQueue(c)
	if turn != nil {
		b = <-turn
	}
	return b, err
}

// takeOrQueue returns memory if some is free. Otherwise the caller joins the queue, and takeOrQueue
// returns the channel that will receive the memory.
func (p *Pool) takeOrQueue(c Class) (b *Buf, turn chan *Buf, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	b, err = p.takeFree(c)
	if b == nil && err == nil && c == Write {
		b = p.borrow()
	}
	if b != nil || err != nil {
		return b, nil, err
	}
	turn = make(chan *Buf, 1)
	s := p.sideOf(c)
	s.waiting = append(s.waiting, turn)
	return nil, turn, nil
}

// sideOf returns the reads or the writes.
func (p *Pool) sideOf(c Class) *side {
	if c == Write {
		return &p.writes
	}
	return &p.reads
}

// takeFree returns memory if some is free. REQUIRES: p.mu is held
func (p *Pool) takeFree(c Class) (*Buf, error) {
	s := p.sideOf(c)
	if s.used >= s.limit || c == Ahead && p.ahead >= p.mostAhead() {
		return nil, nil
	}
	if p.slab == nil {
		if err := p.allocate(); err != nil {
			return nil, err
		}
	}

	last := len(s.free) - 1
	b := s.free[last]
	s.free = s.free[:last]
	b.class = c
	s.used++
	b.slab.used++
	if c == Ahead {
		p.ahead++
	}
	return b, nil
}

// allocate allocates the memory of all requests. REQUIRES: p.mu is held, and there is no slab
func (p *Pool) allocate() error {
	n := p.opt.Reads + p.opt.Writes
	memory, err := arena.Alloc(n*p.opt.Bytes + Align)
	if err != nil {
		return err
	}

	p.slab = &slab{memory: memory}
	all := alignedPart(memory.Bytes())
	bufs := make([]Buf, n)
	for i := range bufs {
		bufs[i] = Buf{
			Bytes: all[i*p.opt.Bytes : (i+1)*p.opt.Bytes : (i+1)*p.opt.Bytes],
			pool:  p,
			slab:  p.slab,
		}
		if i < p.opt.Reads {
			p.reads.free = append(p.reads.free, &bufs[i])
		} else {
			p.writes.free = append(p.writes.free, &bufs[i])
		}
	}
	return nil
}

// Release gives the memory back. REQUIRES: the memory is not in use
func (b *Buf) Release() {
	b.pool.mu.Lock()
	defer b.pool.mu.Unlock()
	b.pool.release(b)
}

// release implements Release. REQUIRES: p.mu is held
func (p *Pool) release(b *Buf) {
	if b.loan > 0 {
		p.releaseLoan(b)
		return
	}
	s := p.sideOf(b.class)
	s.used--
	b.slab.used--
	if b.class == Ahead {
		p.ahead--
	}

	switch {
	case b.slab == p.slab:
		s.free = append(s.free, b)
	case b.slab.used == 0:
		_ = b.slab.memory.Free()
	}

	p.serveWaiting(s, b.class)
	p.freeIdle()
}

// releaseLoan passes lent memory to the next write that waits, unless the lender needs it again.
// REQUIRES: p.mu is held
func (p *Pool) releaseLoan(b *Buf) {
	if len(p.writes.waiting) > 0 && p.lender.isIdle() {
		p.writes.waiting[0] <- b
		p.writes.waiting = slices.Delete(p.writes.waiting, 0, 1)
		return
	}
	p.borrowed--
	_ = b.slab.memory.Free()
	p.lender.endLoan(b.loan)
}

// serveWaiting gives memory to the callers that wait. REQUIRES: p.mu is held
func (p *Pool) serveWaiting(s *side, c Class) {
	if c == Ahead {
		c = Demand
	}
	for len(s.waiting) > 0 {
		b, err := p.takeFree(c)
		if b == nil || err != nil {
			return
		}
		s.waiting[0] <- b
		s.waiting = slices.Delete(s.waiting, 0, 1)
	}
}

// Resize changes the number of requests that read, and the memory of each request. Requests in
// progress keep their memory.
func (p *Pool) Resize(reads, bytes int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.opt.Reads == reads && p.opt.Bytes == bytes {
		return
	}
	p.dropSlab()
	p.opt.Reads = reads
	p.opt.Bytes = bytes
	p.reads.limit = reads
}

// dropSlab ends the use of the slab. It frees the memory, unless requests use it: then the last of
// them frees it. REQUIRES: p.mu is held
func (p *Pool) dropSlab() {
	if p.slab == nil {
		return
	}
	if p.slab.used == 0 {
		_ = p.slab.memory.Free()
	}
	p.slab = nil
	p.reads.free = nil
	p.writes.free = nil
}

// freeIdle frees the memory if the pool has FreeIdle, and neither a Reader nor a request uses it.
// REQUIRES: p.mu is held
func (p *Pool) freeIdle() {
	if p.opt.FreeIdle && p.readers == 0 && p.slab != nil && p.slab.used == 0 {
		p.dropSlab()
	}
}

// Borrow allows the pool to have up to most writes at a time. Writes beyond the pool's own number
// borrow memory from another pool while that pool has no Reader. REQUIRES: the other pool has
// FreeIdle
func (p *Pool) Borrow(from *Pool, most int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.lender = from
	p.most = most
}

// borrow returns memory for a write from the lender, or nil. REQUIRES: p.mu is held
func (p *Pool) borrow() *Buf {
	if p.lender == nil || p.writes.used+p.borrowed >= p.most {
		return nil
	}
	loan := p.lender.lend(p.opt.Bytes)
	if loan == 0 {
		return nil
	}
	memory, err := arena.Alloc(p.opt.Bytes + Align)
	if err != nil {
		p.lender.endLoan(loan)
		return nil
	}
	p.borrowed++
	return &Buf{
		Bytes: alignedPart(memory.Bytes())[:p.opt.Bytes:p.opt.Bytes],
		pool:  p,
		slab:  &slab{memory: memory},
		class: Write,
		loan:  loan,
	}
}

// lend lets another pool allocate memory in place of some requests of this pool. It returns the
// number of these requests, or 0 if this pool needs its memory itself.
func (p *Pool) lend(bytes int) (requests int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	requests = (bytes + p.opt.Bytes - 1) / p.opt.Bytes
	if p.readers > 0 || p.slab != nil || p.reads.used+requests > p.reads.limit {
		return 0
	}
	p.reads.used += requests
	return requests
}

// isIdle reports whether no Reader uses the pool.
func (p *Pool) isIdle() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.readers == 0
}

// endLoan ends a loan that lend began. REQUIRES: its memory is freed
func (p *Pool) endLoan(requests int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.reads.used -= requests
	p.serveWaiting(&p.reads, Demand)
}

// tryHold reports whether an Assembler may hold the memory of one more write until its block is
// complete. At least a quarter of the writes is left for requests that end by themselves. So a
// caller that waits for memory never depends on another caller.
func (p *Pool) tryHold() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.held >= p.opt.Writes*3/4 {
		return false
	}
	p.held++
	return true
}

// endHold notes that an Assembler no longer holds the memory of n writes.
func (p *Pool) endHold(n int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.held -= n
}

// start performs the request of a Buf in a goroutine.
func (b *Buf) start(o owner) {
	b.owner = o
	b.pool.running.Add(1)
	go func() {
		defer b.pool.running.Done()
		err := safely.Call(func() error { return b.owner.perform(b) })
		b.owner.ended(b, err)
	}()
}

// Wait waits until no request is in progress. p may be nil. REQUIRES: no request is started in the
// meantime
func (p *Pool) Wait() {
	if p != nil {
		p.running.Wait()
	}
}

// Close waits for the requests in progress and frees the memory. p may be nil. REQUIRES: no memory
// of a request is in use
func (p *Pool) Close() error {
	if p == nil {
		return nil
	}
	p.Wait()
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.slab == nil {
		return nil
	}
	memory := p.slab.memory
	p.slab.used = 1 // dropSlab does not free it
	p.dropSlab()
	return memory.Free()
}
