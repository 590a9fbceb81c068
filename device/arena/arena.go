// Package arena allocates large pieces of memory outside the Go heap.
//
// Only the root package of this module is stable: this package may change in any version.
//
// The garbage collector neither scans nor counts an arena, its pages are zero and untouched until first use, and
// Free gives them back to the system at once. So an arena may reserve for the worst case and cost only what is
// touched, and a chunk of many GiB does not make the collector let the heap grow to twice its size. On Linux an
// arena of 2 MiB or more asks for huge pages: the scatter of 2^27 keys into 2048 buckets touches more pages than
// the TLB holds.
//
// Where the system has no anonymous mappings, an arena is an ordinary slice.
package arena

import (
	"fmt"
	"os"
	"unsafe"

	"github.com/extsort/extsort/internal/human"
	"github.com/extsort/extsort/internal/option"
)

// align is what the start of every arena is a multiple of, in bytes: a cache line, so that the line-wise stores
// of the sort never straddle two.
const align = 64

// HugePage is the size of a huge page in bytes, on amd64 and arm64 with 4 KiB pages.
const HugePage = 2 << 20

// Memory is one arena. It is not safe to use its bytes, or views of them, after Free.
type Memory struct {
	bytes   []byte
	mapping []byte // what the system gave, nil where bytes is of the Go heap
}

// Alloc reserves an arena of the given size, which may be 0.
func Alloc(bytes int) (*Memory, error) {
	if bytes < 0 {
		return nil, fmt.Errorf("allocate %d bytes of memory: negative size", bytes)
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

// Bytes is the arena's memory, aligned to a cache line.
func (m *Memory) Bytes() []byte { return m.bytes }

// Discard gives back what the bytes [from, to) have touched, in whole pages and where the system can: from then on they
// are zero, or as they were.
func (m *Memory) Discard(from, to int) {
	page := os.Getpagesize()
	from, to = (from+page-1)/page*page, min(to, len(m.bytes))
	if to < len(m.bytes) {
		to = to / page * page
	}
	if m.mapping != nil && from < to {
		discard(m.bytes[from:to]) // a mapping starts at a page, and so do the bytes in it
	}
}

// Free gives the memory back. It may be called again, and on nil.
func (m *Memory) Free() error {
	if m == nil {
		return nil
	}
	mapping := m.mapping
	m.bytes, m.mapping = nil, nil
	if mapping == nil {
		return nil
	}
	return release(mapping)
}

// Word is what an arena can be viewed as.
type Word interface{ ~uint32 | ~uint64 | [2]uint64 }

// View reads bytes as words in the machine's own byte order; what is left of the last word is cut off.
// REQUIRES: b is aligned to a word, as the start of an arena is.
func View[E Word](b []byte) []E {
	var e E
	n := len(b) / int(unsafe.Sizeof(e))
	if n == 0 {
		return nil
	}
	return unsafe.Slice((*E)(unsafe.Pointer(unsafe.SliceData(b))), n)
}

// ByteView is the inverse of View: the bytes of words.
func ByteView[E Word](words []E) []byte {
	var e E
	if len(words) == 0 {
		return nil
	}
	return unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(words))), len(words)*int(unsafe.Sizeof(e)))
}

// alignUp cuts b so that its start is a multiple of to, which is a power of two, and it has n bytes.
// REQUIRES: len(b) ≥ n+to-1, or b is aligned already.
func alignUp(b []byte, to uintptr, n int) []byte {
	skip := -uintptr(unsafe.Pointer(unsafe.SliceData(b))) & (to - 1)
	return b[skip : skip+uintptr(n) : skip+uintptr(n)]
}
