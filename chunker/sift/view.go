package sift

import (
	"bytes"
	"cmp"
	"math"

	"github.com/zeebo/xxh3"

	"github.com/extsort/extsort/format"
)

// A view is a block of records, together with the list of its staying records.
type view struct {
	keyer *format.Keyer
	recs  []byte
	first int64 // index of its first record within the data
	n     int
	sum   uint64 // XXH3 (64 bits) of all records

	lower, upper []byte // bounds of the records that stay, as normalized keys; nil for no bound

	prefixes []uint64
	stay     []int32 // indexes within the block
	strays   []int32 // indexes of the other records
	leaves   []bool  // whether a record was selected once and given up
	key      []byte
}

func newView(k *format.Keyer, records int) *view {
	return &view{
		keyer:    k,
		recs:     make([]byte, records*k.Layout().RecordSize),
		prefixes: make([]uint64, records),
		stay:     make([]int32, 0, records),
		strays:   make([]int32, 0, records/fewStrays),
		leaves:   make([]bool, records),
	}
}

// fewStrays is the minimum ratio of records to strays in data that is worth sifting.
const fewStrays = 16

// begin examines the records that were read into recs.
func (v *view) begin(first int64, n int) {
	v.first, v.n, v.sum = first, n, xxh3.Hash(
		v.recs[:n*v.keyer.Layout().RecordSize],
	)
	v.keyer.Prefixes(v.prefixes[:n], v.recs[:n*v.keyer.Layout().RecordSize])
}

func (v *view) rec(i int) []byte {
	size := v.keyer.Layout().RecordSize
	return v.recs[i*size : (i+1)*size]
}

// keyOf returns the normalized key of a record. The result is valid until the next call.
func (v *view) keyOf(i int) []byte {
	v.key = v.keyer.Append(v.key[:0], v.rec(i))
	return v.key
}

// compare compares two records of the block by their keys.
func (v *view) compare(i, j int) int {
	c := cmp.Compare(v.prefixes[i], v.prefixes[j])
	if c != 0 ||
		v.keyer.KeySize() <= 8 {
		return c
	}
	return v.keyer.Compare(v.rec(i), v.rec(j))
}

// compareKey compares a record with a normalized key.
func (v *view) compareKey(i int, key []byte) int {
	c := cmp.Compare(v.prefixes[i], format.PrefixOf(key))
	if c != 0 ||
		v.keyer.KeySize() <= 8 {
		return c
	}
	return bytes.Compare(v.keyOf(i), key)
}

// last returns the last record that stays, or -1.
func (v *view) last() int {
	if len(v.stay) == 0 {
		return -1
	}
	return int(v.stay[len(v.stay)-1])
}

// fits reports whether a record can stay after record last, or as the first record if last is -1.
func (v *view) fits(i, last int) bool {
	if last >= 0 {
		return v.compare(i, last) >= 0
	}
	return v.lower == nil || v.compareKey(i, v.lower) >= 0
}

// mostSteps limits the average number of times that a record is examined because others are given
// up.
const mostSteps = 8

// choose selects the records that stay, which are in order. It is greedy but corrects itself:
//
//   - A record stays if it is greater than or equal to the last staying record.
//   - Other records are collected in a rising sequence. When it is as long as the list of staying
//     records that are greater than its first record, those turn out to be the strays. They are
//     given up, and the records after them are examined again.
//
// For example, the two 9s are strays:
//
//	records   1  2  9  9  3  4  5
//	stay      1  2  9  9               the 9s are greater than 3
//	rising                3  4         as long as the list of 9s: give them up
//	stay      1  2        3  4  5
//
// So each stray is strictly less or strictly greater than the last staying record before it. The
// order of equal keys depends on this.
func (v *view) choose(lower, upper []byte) {
	v.lower = lower
	v.upper = upper
	v.stay = v.stay[:0]
	clear(v.leaves[:v.n])

	last := -1 // the last staying record
	steps := mostSteps * v.n
	var less rising
	for i := 0; i < v.n; i++ {
		steps--
		switch {
		case v.leaves[i] || v.isAboveUpper(i):
			// This record is a stray.

		case v.fits(i, last):
			i = v.keep(i)
			last = i
			less.n = 0

		default:
			v.follow(&less, i)
			if steps > 0 && len(v.stay) > 0 &&
				v.fits(less.first, v.before(less.n)) {
				i = v.giveUp(less.first)
				last = v.last()
				less.n = 0
			}
		}
	}

	v.settle()
}

// isAboveUpper reports whether a record is greater than the upper bound of the staying records.
func (v *view) isAboveUpper(i int) bool {
	return v.upper != nil && v.compareKey(i, v.upper) > 0
}

// keep makes a record stay, together with the following records whose prefixes rise. It returns
// the last of them.
func (v *view) keep(i int) int {
	prefixes := v.prefixes[:v.n]
	leaves := v.leaves[:v.n]
	stay := append(v.stay, int32(i))
	last := prefixes[i]
	most := uint64(math.MaxUint64)
	if v.upper != nil {
		most = format.PrefixOf(v.upper)
	}
	for i++; i < len(prefixes) && i < len(leaves); i++ {
		next := prefixes[i]
		if next <= last || next >= most || leaves[i] {
			break
		}
		stay = append(stay, int32(i))
		last = next
	}
	v.stay = stay
	return i - 1
}

// A rising sequence consists of the last n records that are less than the last staying record and
// in order among themselves.
type rising struct{ n, first, last int }

func (v *view) follow(r *rising, i int) {
	if r.n == 0 || v.compare(i, r.last) < 0 {
		r.n = 0
		r.first = i
	}
	r.n = r.n + 1
	r.last = i
}

// before returns the staying record before the last many ones, or -1.
func (v *view) before(many int) int {
	if many >= len(v.stay) {
		return -1
	}
	return int(v.stay[len(v.stay)-1-many])
}

// giveUp gives up the staying records that are greater than record i, and returns the first of
// them.
func (v *view) giveUp(i int) (first int) {
	for len(v.stay) > 0 && v.compare(i, v.last()) < 0 {
		first = v.last()
		v.leaves[first] = true
		v.stay = v.stay[:len(v.stay)-1]
	}
	return first
}

// settle determines the strays after the staying records have been selected.
func (v *view) settle() {
	v.strays = v.strays[:0]
	next := 0
	for stay := v.stay; len(stay) > 0; {
		for ; next < int(stay[0]); next++ {
			v.strays = append(v.strays, int32(next))
		}
		n := together(stay)
		next += n
		stay = stay[n:]
	}

	for ; next < v.n; next++ {
		v.strays = append(v.strays, int32(next))
	}
}

// together returns how many leading indexes are consecutive.
func together(indexes []int32) int {
	const step = 32
	n := 1
	for n+step <= len(indexes) &&
		int(indexes[n+step-1]-indexes[0]) == n+step-1 {
		n += step
	}
	for n < len(indexes) && int(indexes[n]-indexes[0]) == n {
		n++
	}
	return n
}

// eachStray calls f for each stray. If early is true, the stray is greater than the last staying
// record before it, and precedes all records with an equal key. Otherwise it is less and follows
// them.
func (v *view) eachStray(f func(rec []byte, early bool) error) error {
	next := 0 // index of the staying record after the stray
	for n, i := range v.strays {
		next = int(i) - n
		last := -1
		if next > 0 {
			last = int(v.stay[next-1])
		}
		if err := f(v.rec(int(i)), v.fits(int(i), last)); err != nil {
			return err
		}
	}

	return nil
}
