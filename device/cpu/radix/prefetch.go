package radix

import (
	"unsafe"

	"github.com/extsort/extsort/device/arena"
)

const pageBytes = 4 << 10

// Prefetch asks for the start of each page of a block that will be counted soon: the processor's own prefetcher
// finds the rest of a page, but does not go from one to the next. Eight lines of each are enough.
func Prefetch[E Element](block []E) {
	const cacheLine = 64
	for bytes := arena.ByteView(block); len(bytes) > 0; bytes = bytes[min(pageBytes, len(bytes)):] {
		prefetchBytes(unsafe.SliceData(bytes), min(8, (len(bytes)+cacheLine-1)/cacheLine))
	}
}

// prefetchAhead asks for what comes a page or more after block i, which is about to be counted, and for that before
// it with the first one. Memory answers later than a block of less is counted.
func prefetchAhead[E Element](blocks [][]E, i int) {
	ahead := 1 + (pageBytes-1)/max(1, len(arena.ByteView(blocks[0])))
	if i == 0 {
		for _, block := range blocks[1:min(ahead, len(blocks))] {
			Prefetch(block)
		}
	}
	if i+ahead < len(blocks) {
		Prefetch(blocks[i+ahead])
	}
}
