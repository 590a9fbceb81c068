package columns

import (
	"math/bits"
	"sync"

	"github.com/apache/arrow-go/v18/arrow/memory"
)

// A pageMemory is an allocator of arrow-go that reuses the memory of pages. All row groups need similar
// buffers, and fresh ones cost more than their pages: the system and Go clear them, and Go collects them.
// Unlike fresh memory, reused memory is not zero. arrow-go reads only the bytes that it has written, which
// tests verify with freed memory that is overwritten.
type pageMemory struct {
	memory.GoAllocator
	max int // bytes of buffers in use and free buffers; more free buffers are left to Go's collector

	mu   sync.Mutex
	used int
	kept int
	free map[int][][]byte // by size; nil: freed memory is not kept
}

func newPageMemory(max int64) *pageMemory {
	return &pageMemory{max: int(max), free: map[int][][]byte{}}
}

// minKept is the size of the smallest buffer that is reused.
const minKept = 16 << 10

// overwritesFreed makes tests fail that read freed memory.
var overwritesFreed = false

// keptSize returns the size of the buffer for a number of bytes, rounded up to three significant bits, so
// that pages of similar sizes share buffers.
func keptSize(size int) int {
	unit := 1 << max(bits.Len(uint(size-1))-3, 0)
	return (size + unit - 1) / unit * unit
}

func (m *pageMemory) Allocate(size int) []byte {
	if size < minKept {
		return m.GoAllocator.Allocate(size)
	}
	whole := keptSize(size)
	b := m.take(whole)
	if b == nil {
		b = m.GoAllocator.Allocate(whole)
	}
	return b[:size]
}

// take counts a buffer as used. It returns a free buffer, or nil.
func (m *pageMemory) take(size int) []byte {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.used += size
	if last := len(m.free[size]) - 1; last >= 0 {
		b := m.free[size][last]
		m.free[size] = m.free[size][:last]
		m.kept -= size
		return b
	}
	if m.used+m.kept > m.max {
		clear(m.free)
		m.kept = 0
	}
	return nil
}

func (m *pageMemory) Reallocate(size int, b []byte) []byte {
	if size <= cap(b) {
		return b[:size]
	}
	larger := m.Allocate(size)
	copy(larger, b)
	m.Free(b)
	return larger
}

func (m *pageMemory) Free(b []byte) {
	size := cap(b)
	if size < minKept || size != keptSize(size) { // not from Allocate
		return
	}
	b = b[:size]
	if overwritesFreed {
		for i := range b {
			b[i] = 0xa5
		}
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.used -= size
	if m.free != nil && m.used+m.kept+size <= m.max {
		m.free[size] = append(m.free[size], b)
		m.kept += size
	}
}

// drop releases all free buffers. Buffers that are freed later are not kept.
func (m *pageMemory) drop() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.free = nil
	m.kept = 0
}
