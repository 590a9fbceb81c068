package cpu

import (
	"github.com/extsort/extsort/device/cpu/radix"
	"github.com/extsort/extsort/format"
)

// elementKind says what an element is made of.
type elementKind int

const (
	key32   elementKind = iota // the normalized key in 32 bits
	key64                      // the normalized key in 64 bits
	indexed                    // leading bits of the normalized key, then the index of the record
)

func elementOf(k *format.Keyer) elementKind {
	switch l := k.Layout(); {
	case l.IsBare() && l.RecordSize <= 4:
		return key32
	case l.IsBare() && l.RecordSize <= 8:
		return key64
	default:
		return indexed
	}
}

func (k elementKind) bytes() int {
	if k == key32 {
		return 4
	}
	return 8
}

// codec turns records into elements and sorted elements into records. There are two: keys and records.
//
// Elements hold the bits of the key from some bit on, which only records too wide for one element ever move.
type codec[E radix.Element] interface {
	// place is the memory that n records from index first on are read into; unit is scratch that may serve.
	place(unit []byte, first int64, n int) []byte

	// fromPrefix is the least element that a record with the given Keyer.Prefix can have.
	fromPrefix(prefix uint64) E

	// extract gives the elements of recs, the first of which has index first: in dst, or a view of recs if that
	// is the same. REQUIRES: dst has an entry for each record.
	extract(dst []E, recs []byte, first int64) []E

	// records gives the records of elems: in dst, or a view of elems if that is the same.
	records(dst []byte, elems []E) []byte

	// room gives dst as elements if their bytes are those of the records, else nil. REQUIRES: dst begins at a cache line
	// or records after one.
	room(dst []byte) []E

	// tieBits is the number of low bits that count only when the rest of the key ties: elements that hold the
	// key from bit from on and differ in no other bit are ordered by the bits of the key after those, first.
	tieBits(from int) uint

	// next is where to go on in the key after the bits from from on that the elements hold, or -1 if so much is left
	// that it pays to look for the first bits that differ.
	next(from int) int

	// agreement is the number of leading bits of the key, in whole bytes, that all elems share with pivot. REQUIRES:
	// they hold the key from bit from on, and tie.
	agreement(elems []E, pivot E, from int) int

	// rewindow replaces elements by those that hold the key from bit from on.
	rewindow(elems []E, from int)

	// prefetch asks for the records of elems.
	prefetch(elems []E)

	// less is the wanted order, whatever bits of the key the elements hold.
	less(a, b E) bool
}
