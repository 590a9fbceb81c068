package blockio

import (
	"sync"
	"sync/atomic"
)

// A Writer writes blocks behind its callers. Its methods are safe for concurrent use.
type Writer struct {
	pool   *Pool
	failed firstError
}

// NewWriter returns a Writer that uses the requests of a pool.
func NewWriter(p *Pool) *Writer { return &Writer{pool: p} }

// A Batch is a group of blocks that a caller waits for together. The zero value has no blocks.
type Batch struct {
	running sync.WaitGroup
	failed  firstError
}

// Wait waits until the blocks of the batch are in their files, and returns the first error.
// REQUIRES: no block is added in the meantime
func (b *Batch) Wait() error {
	b.running.Wait()
	return b.failed.load()
}

// A firstError keeps the first error that it gets.
type firstError struct{ err atomic.Pointer[error] }

func (f *firstError) note(err error) {
	if err != nil {
		f.err.CompareAndSwap(nil, &err)
	}
}

func (f *firstError) load() error {
	if err := f.err.Load(); err != nil {
		return *err
	}
	return nil
}

// A write is the state of a request that writes.
type write struct {
	file  WritableFile
	off   int64
	bytes int64 // a multiple of the alignment
	batch *Batch
}

// Write copies a block and starts to write it. It returns the first error of all earlier writes,
// also of those in other batches. If the file needs alignment, Write also writes the bytes between
// the end of the block and the next multiple of the alignment; their content is arbitrary.
// REQUIRES: off is a multiple of the alignment
func (w *Writer) Write(f WritableFile, block []byte, off int64, batch *Batch) error {
	align := int64(max(f.Props().Align, 1))
	for len(block) > 0 {
		b, err := w.pool.waitForMemory(Write)
		if err != nil {
			return err
		}
		n := copy(b.Bytes, block)
		b.written = write{file: f, off: off, bytes: roundUp(int64(n), align), batch: batch}
		batch.running.Add(1)
		b.start(w)
		block = block[n:]
		off += int64(n)
	}

	return w.failed.load()
}

// write performs a request that writes.
func (b *Buf) write() error {
	to := &b.written
	_, err := to.file.WriteAt(b.Bytes[:to.bytes], to.off)
	return err
}

// perform implements owner.
func (w *Writer) perform(b *Buf) error { return b.write() }

// ended implements owner.
func (w *Writer) ended(b *Buf, err error) {
	w.failed.note(err)
	batch := b.written.batch
	batch.failed.note(err)
	b.Release()
	batch.running.Done()
}
