package format

import (
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"math/bits"
	"slices"
)

// A Checksum is a fingerprint of a set of records that does not depend on their order: the sum,
// modulo 2^128, of the CRC-32 (IEEE 802.3) of each record, as valsort computes it
// (http://www.ordinal.com/gensort.html). A lost, duplicated or changed record changes the
// checksum. Unlike an exclusive or, a sum also detects a record that occurs twice in place of
// another.
//
// The Checksums of the parts of a file add up to that of the whole (Merge). Checksums are
// compared with ==. The zero Checksum is that of no records.
type Checksum struct{ hi, lo uint64 }

// summedRecords is the number of CRC-32s that are added up in 64 bits before the sum is added to
// a Checksum.
const summedRecords = 1 << 20

// Add adds records. REQUIRES: len(recs) is a multiple of recordSize
func (c *Checksum) Add(recs []byte, recordSize int) {
	for part := range slices.Chunk(recs, summedRecords*recordSize) {
		c.add(0, sumCRC(part, recordSize))
	}
}

// Merge adds the records of another Checksum.
func (c *Checksum) Merge(other Checksum) { c.add(other.hi, other.lo) }

func (c *Checksum) add(hi, lo uint64) {
	var carry uint64
	c.lo, carry = bits.Add64(c.lo, lo, 0)
	c.hi += hi + carry
}

// String returns the Checksum in hexadecimal, as valsort prints it.
func (c Checksum) String() string {
	if c.hi == 0 {
		return fmt.Sprintf("%x", c.lo)
	}
	return fmt.Sprintf("%x%016x", c.hi, c.lo)
}

// Without subtracts other: it returns the Checksum of the records that c covers and other does not.
func (c Checksum) Without(other Checksum) Checksum {
	lo, borrow := bits.Sub64(c.lo, other.lo, 0)
	return Checksum{c.hi - other.hi - borrow, lo}
}

// MarshalText returns all 32 hexadecimal digits.
func (c Checksum) MarshalText() ([]byte, error) {
	return fmt.Appendf(nil, "%016x%016x", c.hi, c.lo), nil
}

// UnmarshalText parses the result of MarshalText.
func (c *Checksum) UnmarshalText(text []byte) error {
	_, err := fmt.Sscanf(string(text), "%16x%16x", &c.hi, &c.lo)
	return err
}

// minFolded is the length in bytes from which the carry-less multiplications of hash/crc32 are
// faster than tables.
const minFolded = 64

func sumCRC(recs []byte, recordSize int) (sum uint64) {
	switch {
	case recordSize == 4:
		for ; len(recs) >= 4; recs = recs[4:] {
			sum += uint64(^crcOf4(^binary.LittleEndian.Uint32(recs)))
		}
	case recordSize%8 == 0 && recordSize < minFolded:
		for len(recs) >= recordSize {
			crc := ^uint32(0)
			for rest := len(recs) - recordSize; len(recs) > rest; recs = recs[8:] {
				crc = crcOf8(uint64(crc) ^ binary.LittleEndian.Uint64(recs))
			}
			sum += uint64(^crc)
		}
	default:
		for ; len(recs) >= recordSize; recs = recs[recordSize:] {
			sum += uint64(crcOf(recs[:recordSize]))
		}
	}
	return sum
}

// crcOf computes the same as crc32.ChecksumIEEE. For a record of 8 bytes, the call alone would
// double the time.
func crcOf(rec []byte) uint32 {
	if len(rec) >= minFolded {
		return crc32.ChecksumIEEE(rec)
	}
	crc := ^uint32(0)
	for ; len(rec) >= 8; rec = rec[8:] {
		crc = crcOf8(uint64(crc) ^ binary.LittleEndian.Uint64(rec))
	}
	if len(rec) >= 4 {
		crc = crcOf4(crc ^ binary.LittleEndian.Uint32(rec))
		rec = rec[4:]
	}
	for _, b := range rec {
		crc = crcTables[0][byte(crc)^b] ^ crc>>8
	}
	return ^crc
}

// crcTables are the tables for slicing-by-8 (Kounavis and Berry, Novel Table Lookup-Based
// Algorithms for High-Performance CRC Generation, 2008). Table i contains the remainders of a
// byte followed by i zero bytes.
var crcTables = makeCRCTables()

func makeCRCTables() (tables [8][256]uint32) {
	tables[0] = *crc32.IEEETable
	for i := 1; i < len(tables); i++ {
		for b, crc := range tables[i-1] {
			tables[i][b] = tables[0][byte(crc)] ^ crc>>8
		}
	}
	return tables
}

// crcOf8 returns the remainder of 8 bytes. The first of them is in the lowest bits.
func crcOf8(v uint64) uint32 {
	t := &crcTables
	return t[7][byte(v)] ^ t[6][byte(v>>8)] ^ t[5][byte(v>>16)] ^ t[4][byte(v>>24)] ^
		t[3][byte(v>>32)] ^ t[2][byte(v>>40)] ^ t[1][byte(v>>48)] ^ t[0][byte(v>>56)]
}

func crcOf4(v uint32) uint32 {
	t := &crcTables
	return t[3][byte(v)] ^ t[2][byte(v>>8)] ^ t[1][byte(v>>16)] ^ t[0][byte(v>>24)]
}
