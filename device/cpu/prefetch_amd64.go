package cpu

// prefetchBytes asks for cache lines from start on. REQUIRES: lines ≥ 1.
//
//go:noescape
func prefetchBytes(start *byte, lines int)

// prefetchRecords asks for the cache lines of the records of elems. REQUIRES: elems is not empty.
//
//go:noescape
func prefetchRecords(kept *byte, elems []uint64, indexMask uint64, size int)
