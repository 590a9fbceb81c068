// Package arena allocates large pieces of memory outside the Go heap.
//
// Only the root package of this module is stable: this package may change in any version.
//
// The garbage collector neither scans nor counts an arena. Its pages are zero and unallocated until
// first use, and Free returns them to the system immediately. So an arena may reserve address space
// for the worst case and cost only the pages it touches, and a chunk of many GiB does not cause the
// collector to let the heap double. On Linux, an arena of 2 MiB or more asks for huge pages: the
// scatter of 2^27 keys into 2048 buckets touches more pages than the TLB holds.
//
// On systems without anonymous mappings, an arena is an ordinary slice.
package arena

import (
	"fmt"
	"os"
	"unsafe"

	"github.com/extsort/extsort/internal/human"
	"github.com/extsort/extsort/internal/option"
)

// align is the alignment of every arena in bytes. It is the size of a cache line, so that the
// sort's stores of whole lines never straddle two lines.
const align = 64

// HugePage is the size of a huge page in bytes, on amd64 and arm64 with 4 KiB pages.
const HugePage = 2 << 20

// Memory is one arena. Its bytes, and views of them, must not be used after Free.
type Memory struct {
	bytes   []byte
	mapping []byte // mapping is the whole mapping; nil if bytes is on the Go heap
}

// Alloc reserves an arena of the given size, which may be 0.
func Alloc(bytes int) (*Memory, error) {
	if bytes < 0 {
		return nil, fmt.Errorf(
			"allocate %d bytes of memory: negative size", bytes,
		)
	}
	if bytes == 0 {
		return &Memory{}, nil
	}
	m, err := reserve(bytes)
	if err != nil {
		return nil, fmt.Errorf("allocate %s of memory: %w (lower %v, or raise ulimit -v)",
			human.Bytes(int64(bytes)), err, option.MemoryBytes)
	}
	return m, nil
}

// Bytes returns the arena's memory, aligned to a cache line.
func (m *Memory) Bytes() []byte { return m.bytes }

// Discard returns the whole pages in [from, to) to the system, if it supports that. Afterwards
// each byte there is either zero or unchanged.
func (m *Memory) Discard(from, to int) {
	page := os.Getpagesize()
	from = (from + page - 1) / page * page
	to = min(to, len(m.bytes))
	if to < len(m.bytes) {
		to = to / page * page
	}
	if m.mapping != nil && from < to {
		discard(m.bytes[from:to]) // a mapping starts at a page, and so do the bytes in it
	}
}

// Free returns the memory to the system. It may be called again, and on nil.
func (m *Memory) Free() error {
	if m == nil {
		return nil
	}
	mapping := m.mapping
	m.bytes = nil
	m.mapping = nil
	if mapping == nil {
		return nil
	}
	return release(mapping)
}

// Word is the type of the words that View accepts.
type Word interface{ ~uint32 | ~uint64 | [2]uint64 }

// View returns b as words in native byte order, without an incomplete last word. REQUIRES: b is
// aligned to a word, like the start of an arena.
func View[E Word](b []byte) []E {
	var e E
	n := len(b) / int(unsafe.Sizeof(e))
	if n == 0 {
		return nil
	}
	return unsafe.Slice((*E)(unsafe.Pointer(unsafe.SliceData(b))), n)
}

// ByteView returns the bytes of words. It is the inverse of View.
func ByteView[E Word](words []E) []byte {
	var e E
	if len(words) == 0 {
		return nil
	}
	return unsafe.Slice(
		(*byte)(unsafe.Pointer(unsafe.SliceData(words))),
		len(words)*int(unsafe.Sizeof(e)),
	)
}

// alignUp returns n bytes of b that start at a multiple of to, which is a power of two. REQUIRES:
// len(b) ≥ n+to-1, or b is already aligned.
func alignUp(b []byte, to uintptr, n int) []byte {
	skip := -uintptr(unsafe.Pointer(unsafe.SliceData(b))) & (to - 1)
	return b[skip : skip+uintptr(n) : skip+uintptr(n)]
}
