package format

import (
	"encoding/binary"
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
	sum := *c
	switch recordSize {
	case 4:
		for ; len(recs) >= 4; recs = recs[4:] {
			number := uint64(binary.LittleEndian.Uint32(recs))
			sum.add(hashNumber(number|number<<32, 4))
		}
	case 8:
		for ; len(recs) >= 8; recs = recs[8:] {
			sum.add(hashNumber(binary.LittleEndian.Uint64(recs), 8))
		}
	default:
		for ; len(recs) >= recordSize; recs = recs[recordSize:] {
			h := xxh3.Hash128(recs[:recordSize])
			sum.add(h.Hi, h.Lo)
		}
	}
	*c = sum
}

func (c *Checksum) add(hi, lo uint64) {
	var carry uint64
	c.lo, carry = bits.Add64(c.lo, lo, 0)
	c.hi += hi + carry
}

// hashNumber is XXH3 for 4 or 8 bytes, without a seed (Collet, xxHash fast digest algorithm, xxhash_spec.md): in
// line, it takes less time than the call of the library. number has 4 bytes twice.
func hashNumber(number uint64, size uint64) (hi, lo uint64) {
	hi, lo = bits.Mul64(number^0xC4F023344DC994AC, 0x9E3779B185EBCA87+size<<2)
	hi += lo << 1
	lo ^= hi >> 3
	lo = (lo ^ lo>>35) * 0x9FB21C651E98DF25
	hi = (hi ^ hi>>37) * 0x165667919E3779F9
	return hi ^ hi>>32, lo ^ lo>>28
}

// Merge adds the records of another Checksum.
func (c *Checksum) Merge(other Checksum) { c.add(other.hi, other.lo) }

// String is the Checksum as 32 hexadecimal digits.
func (c Checksum) String() string { return fmt.Sprintf("%016x%016x", c.hi, c.lo) }
