package format

import (
	"fmt"
	"math/bits"

	"github.com/zeebo/xxh3"
)

// Checksum is a fingerprint of a set of records that does not depend on their order: the sum, modulo 2^128, of
// the XXH3 128-bit hashes of the records. A lost, doubled or changed record changes it (valsort sums CRC-32s
// in the same way; a sum, unlike an exclusive or, also notices a record that came twice in place of another).
// Two Checksums are compared by ==. The zero Checksum is that of no records.
type Checksum struct{ hi, lo uint64 }

// Add adds records. REQUIRES: len(recs) is a multiple of recordSize.
func (c *Checksum) Add(recs []byte, recordSize int) {
	recs = recs[c.addVectors(recs, recordSize)*recordSize:]
	hi, lo := c.hi, c.lo
	for ; len(recs) >= recordSize; recs = recs[recordSize:] {
		h := xxh3.Hash128(recs[:recordSize])
		var carry uint64
		lo, carry = bits.Add64(lo, h.Lo, 0)
		hi += h.Hi + carry
	}
	c.hi, c.lo = hi, lo
}

// Merge adds the records of another Checksum.
func (c *Checksum) Merge(other Checksum) {
	var carry uint64
	c.lo, carry = bits.Add64(c.lo, other.lo, 0)
	c.hi += other.hi + carry
}

// String is the Checksum as 32 hexadecimal digits.
func (c Checksum) String() string { return fmt.Sprintf("%016x%016x", c.hi, c.lo) }
