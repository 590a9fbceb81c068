package radix

import (
	"unsafe"

	"github.com/extsort/extsort/device/arena"
)

// putElements is putLoop with stores that bypass the caches. A line that is written to its block
// is not read again before Store, and a plain store would first read it from memory. REQUIRES:
// elems is not empty
func putElements[E arena.Word](
	c *combiner[E],
	elems []E,
	numbers []uint32,
	majority []E,
) (done, full int) {
	switch e := any(elems).(type) {
	case []uint32:
		c := any(c).(*combiner[uint32])
		if majority != nil {
			return putCounted32(e, &numbers[0], c, firstWord[uint32](majority))
		}
		return put32(e, &numbers[0], c)
	case []uint64:
		c := any(c).(*combiner[uint64])
		if majority != nil {
			return putCounted64(e, &numbers[0], c, firstWord[uint64](majority))
		}
		return put64(e, &numbers[0], c)
	case [][2]uint64:
		return put128(e, &numbers[0], any(c).(*combiner[[2]uint64]))
	}

	panic("unreachable")
}

func firstWord[W Element, E arena.Word](s []E) *W {
	return (*W)(unsafe.Pointer(unsafe.SliceData(s)))
}

// put32 is putLoop for elements of 32 bits. Each element, except the last ones (see unprefetched),
// prefetches the line of the element 16 places later.
//
//go:noescape
func put32(
	elems []uint32,
	numbers *uint32,
	c *combiner[uint32],
) (done, full int)

// put64 is put32 for elements of 64 bits.
//
//go:noescape
func put64(
	elems []uint64,
	numbers *uint32,
	c *combiner[uint64],
) (done, full int)

// put128 is put32 for elements of 128 bits.
//
//go:noescape
func put128(
	elems [][2]uint64,
	numbers *uint32,
	c *combiner[[2]uint64],
) (done, full int)

// putCounted32 is put32, but counts the majority key of each bucket; see putLoop.
//
//go:noescape
func putCounted32(
	elems []uint32,
	numbers *uint32,
	c *combiner[uint32],
	majority *uint32,
) (done, full int)

// putCounted64 is putCounted32 for elements of 64 bits.
//
//go:noescape
func putCounted64(
	elems []uint64,
	numbers *uint32,
	c *combiner[uint64],
	majority *uint64,
) (done, full int)

// StoreFence makes stores that bypass the caches visible to other processors before any later
// store.
func StoreFence()
