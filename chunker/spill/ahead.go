package spill

import "sync"

// blocksAhead reads blocks of a run ahead of whoever reads them, each once and about in order, past the page cache.
type blocksAhead struct {
	spill *Spill
	run   *Run

	mu       sync.Mutex
	next, to int              // the first block that nobody has asked for, and where they end
	fetched  map[int]*fetched // blocks that nobody has read
}

// fetched is a block that a request reads.
type fetched struct {
	memory []byte
	done   chan struct{}
	err    error
}

// begin asks for what there is memory for. REQUIRES: a.mu is held.
func (a *blocksAhead) begin() {
	for ; a.next < a.to; a.next++ {
		b := &a.run.blocks[a.next]
		v := a.spill.volumes[b.Volume]
		if v.behind == nil || aligned(b.Bytes) > int64(v.behind.RequestBytes()) {
			continue
		}
		memory := v.behind.TakeAhead()
		if memory == nil {
			return
		}
		f := &fetched{memory: memory, done: make(chan struct{})}
		a.fetched[a.next] = f
		v.behind.Go(func() {
			defer close(f.done)
			if n, err := v.file.ReadAt(memory[:aligned(b.Bytes)], b.Offset); n < b.Bytes {
				f.err = err
			}
		})
	}
}

// read is that of a Run.
func (a *blocksAhead) read(b *Block, dst []byte) ([]byte, error) {
	i := a.run.blockOf(b.First)
	a.mu.Lock()
	a.begin()
	f := a.fetched[i]
	delete(a.fetched, i)
	a.next = max(a.next, i+1)
	a.mu.Unlock()
	if f == nil {
		return a.spill.get(b, dst)
	}
	recs, err := a.spill.decode(b, dst, func(stored []byte) error {
		<-f.done
		copy(stored, f.memory)
		return f.err
	})
	<-f.done
	a.spill.behind.GiveAhead(f.memory)
	return recs, err
}
