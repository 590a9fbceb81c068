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
	count int
	sum   uint64 // XXH3 (64 bits) of all records

	lower, upper []byte // bounds of the records that stay, as normalized keys; nil for no bound

	prefixes []uint64
	staying  []int32 // indexes within the block
	strays   []int32 // indexes of the other records
	givenUp  []bool  // whether a record was selected once and given up
	key      []byte
}

func newView(k *format.Keyer, records int) *view {
	return &view{
		keyer:    k,
		recs:     make([]byte, records*k.Layout().RecordSize),
		prefixes: make([]uint64, records),
		staying:  make([]int32, 0, records),
		strays:   make([]int32, 0, records/fewStrays),
		givenUp:  make([]bool, records),
	}
}

// fewStrays is the minimum ratio of records to strays in data that is worth sifting.
const fewStrays = 16

// examine examines the records that were read into recs.
func (v *view) examine(first int64, n int) {
	v.first, v.count, v.sum = first, n, xxh3.Hash(
		v.recs[:n*v.keyer.Layout().RecordSize],
	)
	v.keyer.Prefixes(v.prefixes[:n], v.recs[:n*v.keyer.Layout().RecordSize])
}

func (v *view) record(i int) []byte {
	size := v.keyer.Layout().RecordSize
	return v.recs[i*size : (i+1)*size]
}

// keyOf returns the normalized key of a record. The result is valid until the next call.
func (v *view) keyOf(i int) []byte {
	v.key = v.keyer.Append(v.key[:0], v.record(i))
	return v.key
}

// compare compares two records of the block by their keys.
func (v *view) compare(i, j int) int {
	c := cmp.Compare(v.prefixes[i], v.prefixes[j])
	if c != 0 || v.keyer.KeySize() <= 8 {
		return c
	}
	return v.keyer.Compare(v.record(i), v.record(j))
}

// compareKey compares a record with a normalized key.
func (v *view) compareKey(i int, key []byte) int {
	c := cmp.Compare(v.prefixes[i], format.PrefixOf(key))
	if c != 0 || v.keyer.KeySize() <= 8 {
		return c
	}
	return bytes.Compare(v.keyOf(i), key)
}

// none stands in for the index of a staying record if there is no such record.
const none = -1

// lastStaying returns the index of the last staying record, or none.
func (v *view) lastStaying() int {
	if len(v.staying) == 0 {
		return none
	}
	return int(v.staying[len(v.staying)-1])
}

// canStay reports whether record i can stay after record last, or as the first staying record if
// last is none.
func (v *view) canStay(i, last int) bool {
	if last != none {
		return v.compare(i, last) >= 0
	}
	return v.lower == nil || v.compareKey(i, v.lower) >= 0
}

// maxSteps limits the average number of times that a record is examined. A record is examined
// again when an earlier one is given up.
const maxSteps = 8

// selectStaying divides the records into staying records, which are in order, and strays. It is
// greedy: a record stays if it is at least the last staying record. So a few large records could
// turn all following ones into strays. Therefore selectStaying may change its mind:
//
//   - It tracks the rising sequence, which consists of the most recent strays that are in order.
//   - It compares this sequence with the staying records that are greater than its first record.
//     As soon as the sequence has as many records, those are given up: they become strays, and the
//     records after the first of them are examined again.
//
// For example, the two 9s turn out to be strays:
//
//	records   1  2  9  9  3  4  5
//	staying   1  2  9  9               greedy
//	rising                3  4         as many records as the 9s, which are greater than 3
//	staying   1  2        3  4  5      after the 9s are given up
//
// In the end, each stray is strictly less or strictly greater than the last staying record before
// it, or than lower if there is no such record. The order of equal keys depends on this.
func (v *view) selectStaying(lower, upper []byte) {
	v.lower = lower
	v.upper = upper
	v.staying = v.staying[:0]
	clear(v.givenUp[:v.count])

	last := none // the last staying record
	var less rising
	steps := maxSteps * v.count // once they are used up, no more records are given up
	for i := 0; i < v.count; i++ {
		steps--
		switch {
		case v.givenUp[i] || v.isAboveUpper(i):
			// This record is a stray.

		case v.canStay(i, last):
			i = v.keepRising(i)
			last = i
			less.count = 0

		default:
			v.extendRising(&less, i)
			if steps > 0 && v.outweighs(&less) {
				i = v.giveUp(less.first)
				last = v.lastStaying()
				less.count = 0
			}
		}
	}

	v.collectStrays()
}

// follows reports whether the block can come after a record with a normalized key that stays,
// without that key as its lower bound: whether the first staying record is at least the key, and
// every stray before it is greater. A stray with an equal key would have to come after that record
// and before the staying records of this block.
func (v *view) follows(key []byte) bool {
	first := int(v.staying[0])
	for i := range first {
		if v.compareKey(i, key) <= 0 {
			return false
		}
	}
	return v.compareKey(first, key) >= 0
}

// outweighs reports whether a rising sequence has at least as many records as there are staying
// records greater than its first record.
func (v *view) outweighs(r *rising) bool {
	return len(v.staying) > 0 && v.canStay(r.first, v.stayingBefore(r.count))
}

// isAboveUpper reports whether a record is greater than the upper bound of the staying records.
func (v *view) isAboveUpper(i int) bool {
	return v.upper != nil && v.compareKey(i, v.upper) > 0
}

// keepRising makes a record stay, together with the following records whose prefixes rise. It
// returns the last of them.
func (v *view) keepRising(i int) int {
	prefixes := v.prefixes[:v.count]
	leaves := v.givenUp[:v.count]
	stay := append(v.staying, int32(i))
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
	v.staying = stay
	return i - 1
}

// A rising sequence consists of the most recent records that are less than the last staying record
// and in order among themselves.
type rising struct {
	count       int // number of records
	first, last int // their indexes
}

// extendRising adds record i to a rising sequence. If record i is less than the last record of the
// sequence, it begins a new one.
func (v *view) extendRising(r *rising, i int) {
	if r.count == 0 || v.compare(i, r.last) < 0 {
		r.count = 0
		r.first = i
	}
	r.count++
	r.last = i
}

// stayingBefore returns the index of the staying record before the last n staying records, or none.
func (v *view) stayingBefore(n int) int {
	if n >= len(v.staying) {
		return none
	}
	return int(v.staying[len(v.staying)-1-n])
}

// giveUp gives up the staying records that are greater than record i, and returns the first of
// them.
func (v *view) giveUp(i int) (first int) {
	for len(v.staying) > 0 && v.compare(i, v.lastStaying()) < 0 {
		first = v.lastStaying()
		v.givenUp[first] = true
		v.staying = v.staying[:len(v.staying)-1]
	}
	return first
}

// collectStrays determines the strays after the staying records have been selected.
func (v *view) collectStrays() {
	v.strays = v.strays[:0]
	next := 0
	for stay := v.staying; len(stay) > 0; {
		for ; next < int(stay[0]); next++ {
			v.strays = append(v.strays, int32(next))
		}
		n := countConsecutive(stay)
		next += n
		stay = stay[n:]
	}

	for ; next < v.count; next++ {
		v.strays = append(v.strays, int32(next))
	}
}

// countConsecutive returns how many leading indexes are consecutive.
func countConsecutive(indexes []int32) int {
	const step = 32
	n := 1
	for n+step <= len(indexes) && int(indexes[n+step-1]-indexes[0]) == n+step-1 {
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
		last := none
		if next > 0 {
			last = int(v.staying[next-1])
		}
		if err := f(v.record(int(i)), v.canStay(int(i), last)); err != nil {
			return err
		}
	}

	return nil
}
