package format

import (
	"unsafe"

	"github.com/klauspost/cpuid/v2"
)

// hasVectors is whether the processor converts vectors of numbers.
var hasVectors = cpuid.CPU.Has(cpuid.AVX2)

// vectorNumbers is how many numbers vectors convert at a time.
const vectorNumbers = 8

// inVectors is how many of n records, or of their keys, vectors convert.
func (k *Keyer) inVectors(n int) int {
	if !hasVectors || k.toKeys == (conversion{}) {
		return 0
	}
	return n &^ (vectorNumbers - 1)
}

// vectorKeys is Prefixes for the first records: as many as it returns.
func (k *Keyer) vectorKeys(dst []uint64, recs []byte) (done int) {
	if done = k.inVectors(len(dst)); done == 0 {
		return 0
	}
	from, to := first(recs[:done*k.layout.RecordSize]), unsafe.Pointer(&dst[:done][0])
	if k.layout.RecordSize == 4 {
		convertWider(to, from, done, &k.toKeys)
	} else {
		convert64(to, from, done, &k.toKeys)
	}
	return done
}

// vectorRecords is Records for the first keys: as many as it returns.
func (k *Keyer) vectorRecords(dst []byte, keys []uint64) (done int) {
	if done = k.inVectors(len(keys)); done == 0 {
		return 0
	}
	from, to := unsafe.Pointer(&keys[:done][0]), first(dst[:done*k.layout.RecordSize])
	if k.layout.RecordSize == 4 {
		convertNarrower(to, from, done, &k.toRecords)
	} else {
		convert64(to, from, done, &k.toRecords)
	}
	return done
}

// vectorKeys32 is vectorKeys for Prefixes32, whose records have 4 bytes if they have a conversion.
func (k *Keyer) vectorKeys32(dst []uint32, recs []byte) (done int) {
	if done = k.inVectors(len(dst)); done == 0 {
		return 0
	}
	convert32(unsafe.Pointer(&dst[:done][0]), first(recs[:4*done]), done, &k.toKeys)
	return done
}

// vectorRecords32 is vectorRecords for Records32.
func (k *Keyer) vectorRecords32(dst []byte, keys []uint32) (done int) {
	if done = k.inVectors(len(keys)); done == 0 {
		return 0
	}
	convert32(first(dst[:4*done]), unsafe.Pointer(&keys[:done][0]), done, &k.toRecords)
	return done
}

func first(b []byte) unsafe.Pointer { return unsafe.Pointer(unsafe.SliceData(b)) }

// The assembly converts n numbers at src to numbers at dst. REQUIRES: hasVectors; n is a multiple of vectorNumbers, and not 0.

//go:noescape
func convert64(dst, src unsafe.Pointer, n int, c *conversion)

//go:noescape
func convert32(dst, src unsafe.Pointer, n int, c *conversion)

// convertWider converts numbers of 4 bytes to numbers of 8, convertNarrower those of 8 to numbers of 4.
//
//go:noescape
func convertWider(dst, src unsafe.Pointer, n int, c *conversion)

//go:noescape
func convertNarrower(dst, src unsafe.Pointer, n int, c *conversion)
