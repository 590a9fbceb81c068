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

// vectorKeys is Prefixes, or Prefixes32, for the first records: as many as it returns.
func vectorKeys[T uint32 | uint64](k *Keyer, dst []T, recs []byte) (done int) {
	if done = k.inVectors(len(dst)); done == 0 {
		return 0
	}
	to, from := pointer(dst), pointer(recs[:done*k.layout.RecordSize])
	switch {
	case k.layout.RecordSize == 8:
		convert64(to, from, done, &k.toKeys)
	case unsafe.Sizeof(dst[0]) == 8:
		convertWider(to, from, done, &k.toKeys)
	default:
		convert32(to, from, done, &k.toKeys)
	}
	return done
}

// vectorRecords is Records, or Records32, for the first keys: as many as it returns.
func vectorRecords[T uint32 | uint64](k *Keyer, dst []byte, keys []T) (done int) {
	size := k.layout.RecordSize
	if done = k.inVectors(len(keys)); done == 0 || size != int(unsafe.Sizeof(keys[0])) {
		return 0
	}
	to, from := pointer(dst[:done*size]), pointer(keys)
	if size == 8 {
		convert64(to, from, done, &k.toRecords)
	} else {
		convert32(to, from, done, &k.toRecords)
	}
	return done
}

// The assembly converts n numbers at src to numbers at dst: of 8 bytes, of 4, and from 4 to 8.
// REQUIRES: hasVectors; n is a multiple of vectorNumbers, and not 0.

//go:noescape
func convert64(dst, src unsafe.Pointer, n int, c *conversion)

//go:noescape
func convert32(dst, src unsafe.Pointer, n int, c *conversion)

//go:noescape
func convertWider(dst, src unsafe.Pointer, n int, c *conversion)
