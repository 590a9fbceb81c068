package blockio

import (
	"io"
	"sync"
)

// An Assembler writes a file whose pieces arrive in any order. It divides the file into blocks of
// the size of a request. When all bytes of a block have arrived, a request writes it.
//
// Two kinds of blocks go through the page cache instead, so no page is written both ways. A block
// that is never completed, such as the last one of the file, is written by Flush. A block that
// begins when many others are incomplete gets no memory: its pieces are written as they arrive. If
// many callers write, such blocks can be a quarter of the file. Each is sent to the disk when it is
// complete. Otherwise dirty pages would collect until the system makes all writers wait, which
// happens soon if a cgroup limits the memory.
//
// The methods of an Assembler are safe for concurrent use, except where they say otherwise.
type Assembler struct {
	pool *Pool
	opt  AssemblerOptions
	size int64 // of a block

	mu        sync.Mutex
	gotMemory *sync.Cond       // signals that a block has its memory, or cannot get it
	begun     map[int64]*block // incomplete blocks by their position in the file
	spare     []*block         // blocks that can be used again
	batch     Batch            // the requests in progress
	failed    firstError
}

// AssemblerOptions describes the file that an Assembler writes.
type AssemblerOptions struct {
	File WritableFile // receives complete blocks

	// Rest is the same file for the blocks that go through the page cache. It takes any range.
	Rest CachedFile
}

// A CachedFile is written through the page cache.
type CachedFile interface {
	io.WriterAt

	// WriteBehind starts to write a range to the disk, and does not wait for that.
	WriteBehind(off, bytes int64)
}

// A block is a part of the file that is being filled.
type block struct {
	// inMemory is set if the block is assembled in memory. If not, because many other blocks are
	// incomplete, its pieces are written to Rest as they arrive.
	inMemory bool
	memory   *Buf       // nil until the pool provides it
	err      error      // the error of a pool that cannot allocate the memory
	pieces   [][2]int64 // the ranges that have arrived: from and to
	bytes    int64      // total size of pieces
}

// NewAssembler returns an Assembler that uses the requests of a pool.
func NewAssembler(p *Pool, o AssemblerOptions) *Assembler {
	a := &Assembler{
		pool:  p,
		opt:   o,
		size:  int64(p.RequestBytes()),
		begun: map[int64]*block{},
	}
	a.gotMemory = sync.NewCond(&a.mu)
	return a
}

// WriteAt copies p. Err returns the errors of complete blocks. REQUIRES: no other call writes the
// same range
func (a *Assembler) WriteAt(p []byte, off int64) (n int, err error) {
	for n < len(p) {
		from := (off + int64(n)) % a.size
		piece := p[n:min(int64(len(p)), int64(n)+a.size-from)]
		written, err := a.writePiece(piece, off+int64(n)-from, from)
		if n += written; err != nil {
			return n, err
		}
	}
	return n, nil
}

// writePiece writes a piece of the block at position at. The piece begins at byte from of the
// block.
func (a *Assembler) writePiece(piece []byte, at, from int64) (n int, err error) {
	b, err := a.blockAt(at)
	if err != nil {
		return 0, err
	}
	if b.inMemory {
		n = copy(b.memory.Bytes[from:], piece)
	} else if n, err = a.opt.Rest.WriteAt(piece, at+from); err != nil {
		return n, err
	}

	if a.addPiece(b, at, from, int64(n)) {
		a.opt.Rest.WriteBehind(at, a.size)
	}
	return n, nil
}

// addPiece notes that n bytes of a block have arrived, and starts writing the block if it is
// complete. It reports whether the block is complete in the page cache.
func (a *Assembler) addPiece(b *block, at, from, n int64) (cached bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	b.pieces = append(b.pieces, [2]int64{from, from + n})
	b.bytes += n
	if b.bytes < a.size {
		return false
	}
	cached = !b.inMemory
	a.startWriting(b, at)
	return cached
}

// blockAt returns the block at a position. If the block is assembled in memory, that memory is
// ready: the first caller gets it from the pool, and the others wait for the first one.
func (a *Assembler) blockAt(at int64) (*block, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	b := a.begun[at]
	if b == nil {
		b = a.newBlock()
		a.begun[at] = b
		if b.inMemory {
			a.mu.Unlock()
			memory, err := a.pool.waitForMemory(Write)
			a.mu.Lock()
			b.memory = memory
			b.err = err
			a.gotMemory.Broadcast()
		}
	}
	for b.inMemory && b.memory == nil && b.err == nil {
		a.gotMemory.Wait()
	}
	return b, b.err
}

// newBlock returns an empty block. REQUIRES: a.mu is held
func (a *Assembler) newBlock() *block {
	b := &block{}
	if last := len(a.spare) - 1; last >= 0 {
		b = a.spare[last]
		a.spare = a.spare[:last]
	}
	b.inMemory = a.pool.tryHold()
	return b
}

// forgetBlock ends the use of a block. It does not release the memory, which a request may still
// be writing. REQUIRES: a.mu is held
func (a *Assembler) forgetBlock(b *block, at int64) {
	delete(a.begun, at)
	if b.inMemory {
		a.pool.endHold(1)
	}
	b.memory = nil
	b.err = nil
	b.pieces = b.pieces[:0]
	b.bytes = 0
	a.spare = append(a.spare, b)
}

// startWriting ends a complete block. If the block is in memory, it starts the request that writes
// it. REQUIRES: a.mu is held
func (a *Assembler) startWriting(b *block, at int64) {
	if request := b.memory; request != nil {
		request.written = write{file: a.opt.File, off: at, bytes: a.size, batch: &a.batch}
		a.batch.running.Add(1)
		request.start(a)
	}
	a.forgetBlock(b, at)
}

// perform implements owner.
func (a *Assembler) perform(b *Buf) error { return b.write() }

// ended implements owner.
func (a *Assembler) ended(b *Buf, err error) {
	a.failed.note(err)
	b.Release()
	a.batch.running.Done()
}

// Err returns the first error of a write in the background. a may be nil.
func (a *Assembler) Err() error {
	if a == nil {
		return nil
	}
	return a.failed.load()
}

// Flush waits until everything is in the file. It writes the pieces of incomplete blocks to Rest. a
// may be nil. REQUIRES: no other call is in progress
func (a *Assembler) Flush() error {
	if a == nil {
		return nil
	}
	a.endBlocks(func(b *block, at int64) {
		for _, piece := range b.pieces {
			_, err := a.opt.Rest.WriteAt(b.memory.Bytes[piece[0]:piece[1]], at+piece[0])
			a.failed.note(err)
		}
	})
	return a.Err()
}

// Reset waits for the requests in progress and discards incomplete blocks. Afterwards, the whole
// file can be written again. a may be nil. REQUIRES: no other call is in progress
func (a *Assembler) Reset() {
	if a != nil {
		a.endBlocks(func(*block, int64) {})
	}
}

// endBlocks waits for the requests in progress and ends all incomplete blocks. It calls last for
// each of them that has memory, and then releases the memory.
func (a *Assembler) endBlocks(last func(b *block, at int64)) {
	a.mu.Lock()
	defer a.mu.Unlock()

	a.batch.running.Wait()

	for at, b := range a.begun {
		if b.memory != nil {
			last(b, at)
			b.memory.Release()
		}
		a.forgetBlock(b, at)
	}
}
