package spill

import (
	"fmt"
	"hash/crc32"
	"math/bits"
)

// Written is how far the last merge has come: the first records of the output, in stretches with checksums.
type Written struct {
	Of        []RunRecords // the runs that are merged
	Stretches []Stretch    // which follow each other
}

// RunRecords are the records of the input that a run is made of.
type RunRecords struct{ First, Records int64 }

// Stretch is a stretch of the output. It begins where the one before it ends.
type Stretch struct {
	Records int64      // of the output, up to the end of the stretch
	Taken   []int64    // how many records of each run these are
	Sum     StretchSum // of the bytes of the stretch
}

// maxStretches bounds the stretches of a Written, whose Taken have an entry for each run.
const maxStretches = 64

// Records is the number of records that are written. w may be nil.
func (w *Written) Records() int64 {
	if w == nil || len(w.Stretches) == 0 {
		return 0
	}
	return w.Stretches[len(w.Stretches)-1].Records
}

// With is w with one more stretch, of records of recordSize bytes. Where it would have too many, two at a time are
// joined. w does not change.
func (w *Written) With(next Stretch, recordSize int) *Written {
	all := w.Stretches
	if len(all) >= maxStretches {
		all = joined(all, recordSize)
	}
	return &Written{Of: w.Of, Stretches: append(all[:len(all):len(all)], next)}
}

func joined(all []Stretch, recordSize int) (fewer []Stretch) {
	for i := 0; i < len(all); i += 2 {
		if i+1 == len(all) {
			return append(fewer, all[i])
		}
		first, second := all[i], all[i+1]
		bytes := (second.Records - first.Records) * int64(recordSize)
		second.Sum = first.Sum.Join(second.Sum, bytes)
		fewer = append(fewer, second)
	}
	return fewer
}

// StretchSum is a checksum of bytes. That of two stretches together can be made from theirs, so that blocks are summed
// in any order, by whoever writes them. It has two CRCs, whose polynomials have no common factor: together they notice
// what a CRC of 64 bits does. The zero StretchSum is that of no bytes.
type StretchSum struct{ ieee, castagnoli uint32 }

var castagnoliTable = crc32.MakeTable(crc32.Castagnoli)

// SumOf is the checksum of p.
func SumOf(p []byte) StretchSum { return StretchSum{}.Add(p) }

// Add is the checksum of what s is of, and p behind it.
func (s StretchSum) Add(p []byte) StretchSum {
	return StretchSum{
		ieee:       crc32.Update(s.ieee, crc32.IEEETable, p),
		castagnoli: crc32.Update(s.castagnoli, castagnoliTable, p),
	}
}

// Join is the checksum of what s is of, and behind it the bytes that next is of.
func (s StretchSum) Join(next StretchSum, bytes int64) StretchSum {
	return StretchSum{
		ieee:       shifted(s.ieee, crc32.IEEE, bytes) ^ next.ieee,
		castagnoli: shifted(s.castagnoli, crc32.Castagnoli, bytes) ^ next.castagnoli,
	}
}

// MarshalText gives 16 hexadecimal digits.
func (s StretchSum) MarshalText() ([]byte, error) {
	return fmt.Appendf(nil, "%08x%08x", s.ieee, s.castagnoli), nil
}

// UnmarshalText reads what MarshalText gives.
func (s *StretchSum) UnmarshalText(text []byte) error {
	_, err := fmt.Sscanf(string(text), "%8x%8x", &s.ieee, &s.castagnoli)
	return err
}

// A CRC is the remainder of a polynomial over GF(2) by another one. As hash/crc32 has it, the highest bit is the
// coefficient of x^0, and the lowest that of x^31.
const polynomialOne = 1 << 31

// shifted is a CRC as it is after as many bytes of zeros: times x^(8·bytes), without the inversions at the begin and
// the end, which cancel each other in Join.
func shifted(crc, polynomial uint32, bytes int64) uint32 {
	power := uint32(polynomialOne >> 8) // x^8, and then its squares
	for n := uint64(bytes); n > 0; n >>= 1 {
		if n&1 == 1 {
			crc = product(crc, power, polynomial)
		}
		power = product(power, power, polynomial)
	}
	return crc
}

// product is the product of two polynomials modulo a third.
func product(a, b, modulo uint32) (sum uint32) {
	for a != 0 {
		coefficient := bits.LeadingZeros32(a)
		a &^= polynomialOne >> coefficient
		sum ^= timesX(b, coefficient, modulo)
	}
	return sum
}

// timesX is a polynomial times x^n.
func timesX(a uint32, n int, modulo uint32) uint32 {
	for range n {
		overflow := a & 1
		a >>= 1
		if overflow == 1 {
			a ^= modulo
		}
	}
	return a
}
