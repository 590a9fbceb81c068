package radix

// PrefetchRecords asks for the cache lines of the records of elems. REQUIRES: elems is not empty.
//
//go:noescape
func PrefetchRecords(kept *byte, elems []uint64, indexMask uint64, size int)
