package output

import (
	"os"
	"sync"
	"sync/atomic"

	"github.com/extsort/extsort/chunker/spill"
)

// A directWriter writes a file with direct I/O, bypassing the page cache. It collects writes
// at any position in blocks of the size of a request. When a block is complete, a request of the
// queue writes it. A block that is never completed, such as the last one of the file, goes
// through the page cache. So no page is written both ways.
type directWriter struct {
	rawFile
	direct *os.File
	queue  *spill.Queue
	// most is the maximum number of blocks that have memory. The rest of the queue's memory is
	// for requests in progress.
	most int

	mu      sync.Mutex
	begun   map[int64]*fileBlock // incomplete blocks by their position in the file
	held    int                  // number of blocks that have memory or wait for it
	writing sync.WaitGroup
	failed  atomic.Pointer[error] // the first error of a request
}

// A fileBlock is a part of the file that is being filled.
type fileBlock struct {
	inMemory bool // if not, writes go directly through the page cache
	taken    sync.Once
	memory   []byte
	pieces   [][2]int // the ranges written so far: from and to
	bytes    int      // total size of pieces
}

// newDirectWriter returns a writer of a file that is also open for direct I/O.
func newDirectWriter(f rawFile, direct *os.File, queue *spill.Queue) *directWriter {
	return &directWriter{
		rawFile: f,
		direct:  direct,
		queue:   queue,
		most:    queue.Writers() * 3 / 4,
		begun:   map[int64]*fileBlock{},
	}
}

// WriteAt copies p. REQUIRES: p lies within one block, and no other call writes to the same range
func (w *directWriter) WriteAt(p []byte, offset int64) (n int, err error) {
	if err := w.err(); err != nil {
		return 0, err
	}
	from := int(offset % int64(w.queue.RequestBytes))
	at := offset - int64(from)
	block := w.block(at)

	if n = len(p); block.inMemory {
		copy(block.memory[from:], p)
	} else if n, err = w.rawFile.WriteAt(p, offset); err != nil {
		return n, err
	}

	w.mu.Lock()
	defer w.mu.Unlock()
	block.pieces = append(block.pieces, [2]int{from, from + n})
	block.bytes += n
	if block.bytes < w.queue.RequestBytes {
		return n, nil
	}
	delete(w.begun, at)
	if block.inMemory {
		w.held--
		w.writing.Add(1)
		w.queue.Go(func() error { return w.write(block, at) }, func(err error) {
			w.note(err)
			w.queue.GiveWrite(block.memory)
			w.writing.Done()
		})
	}

	return n, nil
}

// block returns the block at a position. If many blocks are incomplete, a further block gets no
// memory.
func (w *directWriter) block(at int64) *fileBlock {
	w.mu.Lock()
	block := w.begun[at]
	if block == nil {
		block = &fileBlock{inMemory: w.held < w.most}
		if w.begun[at] = block; block.inMemory {
			w.held++
		}
	}

	w.mu.Unlock()
	if block.inMemory {
		block.taken.Do(func() { block.memory = w.queue.TakeWrite() })
	}
	return block
}

// write writes a complete block.
func (w *directWriter) write(block *fileBlock, at int64) error {
	n, err := attempt(w.ops, "write output", func() (int, error) {
		return w.direct.WriteAt(block.memory, at)
	})
	if err != nil {
		return writeError(w.name, at+int64(n), err)
	}
	return nil
}

// note keeps the first error.
func (w *directWriter) note(err error) {
	if err != nil {
		w.failed.CompareAndSwap(nil, &err)
	}
}

// err returns the first error of a request.
func (w *directWriter) err() error {
	if failed := w.failed.Load(); failed != nil {
		return *failed
	}
	return nil
}

// flush waits for the requests and writes incomplete blocks.
func (w *directWriter) flush() error {
	w.finishBlocks(func(block *fileBlock, at int64) {
		for _, p := range block.pieces {
			_, err := w.file.WriteAt(block.memory[p[0]:p[1]], at+int64(p[0]))
			if err != nil {
				w.note(writeError(w.name, at+int64(p[0]), err))
			}
		}
	})
	return w.err()
}

// discard waits for the requests and forgets incomplete blocks.
func (w *directWriter) discard() { w.finishBlocks(func(*fileBlock, int64) {}) }

// close closes the file for direct I/O. It ignores errors, because the file is synced.
func (w *directWriter) close() {
	w.discard()
	w.direct.Close()
}

// finishBlocks waits for the requests, calls last for each incomplete block with memory, and returns
// the memory of these blocks.
func (w *directWriter) finishBlocks(last func(block *fileBlock, at int64)) {
	w.mu.Lock()
	defer w.mu.Unlock()

	w.writing.Wait()

	for at, block := range w.begun {
		if block.inMemory {
			last(block, at)
			w.queue.GiveWrite(block.memory)
		}
	}

	clear(w.begun)
	w.held = 0
}
