package spill

import (
	"fmt"
	"hash/crc32"
	"math/bits"
)

// Written describes the progress of the last merge: the first records of the output, divided into
// stretches with checksums.
type Written struct {
	Of        []RunRecords // the merged runs
	Stretches []Stretch    // consecutive, from the start of the output
}

// RunRecords describes the input records of a run.
type RunRecords struct{ First, Records int64 }

// A Stretch is a part of the output. It begins at the end of the previous one.
type Stretch struct {
	Records int64 // number of output records up to the end of the stretch
	// Taken holds, for each run, how many of its records are among these.
	Taken []int64
	Sum   StretchSum // checksum of the bytes of the stretch
}

// maxStretches limits the number of stretches of a Written. Taken has an entry per run, so they
// can be large.
const maxStretches = 64

// Records returns the number of records written. w may be nil.
func (w *Written) Records() int64 {
	if w == nil || len(w.Stretches) == 0 {
		return 0
	}
	return w.Stretches[len(w.Stretches)-1].Records
}

// With returns a copy of w with one more stretch. If there are too many stretches, it joins pairs
// of them.
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
		first := all[i]
		second := all[i+1]
		bytes := (second.Records - first.Records) * int64(recordSize)
		second.Sum = first.Sum.Join(second.Sum, bytes)
		fewer = append(fewer, second)
	}

	return fewer
}

// A StretchSum is a checksum of bytes. The checksum of two adjacent stretches can be computed
// from theirs, so blocks can be summed in any order. It consists of two CRCs whose polynomials
// have no common factor; together they detect the same errors as a 64-bit CRC. The zero
// StretchSum is that of no bytes.
type StretchSum struct{ ieee, castagnoli uint32 }

var castagnoliTable = crc32.MakeTable(crc32.Castagnoli)

// SumOf returns the checksum of p.
func SumOf(p []byte) StretchSum { return StretchSum{}.Add(p) }

// Add returns the checksum of the bytes of s followed by p.
func (s StretchSum) Add(p []byte) StretchSum {
	return StretchSum{
		ieee:       crc32.Update(s.ieee, crc32.IEEETable, p),
		castagnoli: crc32.Update(s.castagnoli, castagnoliTable, p),
	}
}

// Join returns the checksum of the bytes of s followed by the given number of bytes, whose checksum
// is next.
func (s StretchSum) Join(next StretchSum, bytes int64) StretchSum {
	return StretchSum{
		ieee:       shifted(s.ieee, crc32.IEEE, bytes) ^ next.ieee,
		castagnoli: shifted(s.castagnoli, crc32.Castagnoli, bytes) ^ next.castagnoli,
	}
}

// MarshalText returns 16 hexadecimal digits.
func (s StretchSum) MarshalText() ([]byte, error) {
	return fmt.Appendf(nil, "%08x%08x", s.ieee, s.castagnoli), nil
}

// UnmarshalText parses the result of MarshalText.
func (s *StretchSum) UnmarshalText(text []byte) error {
	_, err := fmt.Sscanf(string(text), "%8x%8x", &s.ieee, &s.castagnoli)
	return err
}

// A CRC is the remainder of a polynomial over GF(2) divided by another one. As in hash/crc32, the
// highest bit is the coefficient of x^0 and the lowest that of x^31.
const polynomialOne = 1 << 31

// shifted returns the CRC of the same data followed by the given number of zero bytes: crc times
// x^(8·bytes). It omits the inversions at the beginning and the end, which cancel each other in
// Join.
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

// product returns the product of two polynomials modulo a third.
func product(a, b, modulo uint32) (sum uint32) {
	for a != 0 {
		coefficient := bits.LeadingZeros32(a)
		a &^= polynomialOne >> coefficient
		sum ^= timesX(b, coefficient, modulo)
	}
	return sum
}

// timesX returns the product of a polynomial and x^n.
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
