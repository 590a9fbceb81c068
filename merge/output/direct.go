package output

import (
	"fmt"
	"os"
	"sync"
	"sync/atomic"

	"github.com/extsort/extsort/chunker/spill"
)

// windows writes an output past the page cache, by the requests of a queue. What is written at any place is collected
// in windows of the file, each in the memory of a request, which writes it when all of it is there. One that never is
// whole, as the last of a file, goes through the page cache: so no page is written both ways. nil: there are none.
type windows struct {
	of     *Output
	direct *os.File
	queue  *spill.Queue
	most   int // that may have memory at a time, so that requests can write from the rest

	mu      sync.Mutex
	begun   map[int64]*window // by their place in the file
	held    int               // of these, how many have memory, or wait for it
	writing sync.WaitGroup
	failed  atomic.Pointer[error] // the first error of a request
}

// window is a stretch of the file that is being filled.
type window struct {
	inMemory bool // else it goes through the page cache as it comes
	taken    sync.Once
	memory   []byte
	pieces   [][2]int // that are there: from and to
	bytes    int      // of these
}

// goPast has an output be written past the page cache from now on, where its file system can.
func goPast(o *Output, queue *spill.Queue) {
	if queue == nil || o.at != o.file {
		return
	}
	if direct := spill.Direct(o.file, os.O_WRONLY); direct != nil {
		w := &windows{of: o, direct: direct, queue: queue, most: queue.Writers() * 3 / 4, begun: map[int64]*window{}}
		o.past, o.at = w, w
	}
}

// WriteAt takes a copy of p. REQUIRES: it lies within one window, and nobody else writes there.
func (w *windows) WriteAt(p []byte, offset int64) (n int, err error) {
	from := int(offset % int64(w.queue.RequestBytes))
	at := offset - int64(from)
	one := w.window(at)
	if n = len(p); one.inMemory {
		copy(one.memory[from:], p)
	} else if n, err = w.of.file.WriteAt(p, offset); err != nil {
		return n, err
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	one.pieces, one.bytes = append(one.pieces, [2]int{from, from + n}), one.bytes+n
	if one.bytes < w.queue.RequestBytes {
		return n, nil
	}
	delete(w.begun, at)
	if one.inMemory {
		w.held--
		w.writing.Add(1)
		w.queue.Go(func() error { return w.write(one, at) }, func(err error) {
			w.note(err)
			w.queue.GiveWrite(one.memory)
			w.writing.Done()
		})
	}
	return n, nil
}

// window is the one at a place. Where many have been begun and are not whole, another gets no memory.
func (w *windows) window(at int64) *window {
	w.mu.Lock()
	one := w.begun[at]
	if one == nil {
		one = &window{inMemory: w.held < w.most}
		if w.begun[at] = one; one.inMemory {
			w.held++
		}
	}
	w.mu.Unlock()
	if one.inMemory {
		one.taken.Do(func() { one.memory = w.queue.TakeWrite() })
	}
	return one
}

// write is the request of a window that is whole.
func (w *windows) write(one *window, at int64) error {
	n, err := attempt(w.of, "write output", func() (int, error) { return w.direct.WriteAt(one.memory, at) })
	if err != nil {
		return writeError(w.of, at+int64(n), err)
	}
	return nil
}

func (w *windows) fail(at int64, err error) {
	if err != nil {
		w.note(writeError(w.of, at, err))
	}
}

// note keeps the first error.
func (w *windows) note(err error) {
	if err != nil {
		w.failed.CompareAndSwap(nil, &err)
	}
}

// err is the first error of a request.
func (w *windows) err() error {
	if w == nil || w.failed.Load() == nil {
		return nil
	}
	return *w.failed.Load()
}

// settle waits until all that was written is in the file. REQUIRES: nobody writes.
func (w *windows) settle() error {
	if w == nil {
		return nil
	}
	w.end(func(one *window, at int64) {
		for _, p := range one.pieces {
			n, err := w.of.file.WriteAt(one.memory[p[0]:p[1]], at+int64(p[0]))
			w.fail(at+int64(p[0]+n), err)
		}
	})
	return w.err()
}

// giveUp waits for the requests, and forgets what they do not write. REQUIRES: nobody writes.
func (w *windows) giveUp() {
	if w != nil {
		w.end(func(*window, int64) {})
	}
}

// end ends what was begun, and gives its memory back.
func (w *windows) end(last func(one *window, at int64)) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.writing.Wait()
	for at, one := range w.begun {
		if one.inMemory {
			last(one, at)
			w.queue.GiveWrite(one.memory)
		}
	}
	clear(w.begun)
	w.held = 0
}

// Restart forgets what was written, so that all of it can be written again. REQUIRES: nobody writes.
func (o *Output) Restart() { o.past.giveUp() }

func writeError(o *Output, at int64, err error) error {
	return fmt.Errorf("write %s at byte %d: %w", o.name, at, advise(err))
}
