package sift

import (
	"bytes"
	"cmp"
	"math"

	"github.com/zeebo/xxh3"

	"github.com/extsort/extsort/format"
)

// view is a block of records and those of them that stay, in order.
type view struct {
	keyer *format.Keyer
	recs  []byte
	first int64 // index of the first record in the data
	n     int
	sum   uint64 // XXH3 (64 bits) of all of them

	lower, upper []byte // normalized keys that those that stay are not below and not above; nil: there is none

	prefixes []uint64
	stay     []int32 // indexes in the block
	strays   []int32 // the others
	leaves   []bool  // that a record was chosen once and given up
	key      []byte
}

func newView(k *format.Keyer, records int) *view {
	return &view{keyer: k, recs: make([]byte, records*k.Layout().RecordSize), prefixes: make([]uint64, records),
		stay: make([]int32, 0, records), strays: make([]int32, 0, records/fewStrays), leaves: make([]bool, records)}
}

// fewStrays is of how many records one leaves, or fewer, in data that are worth to be sifted.
const fewStrays = 16

// begin enters what was read into recs.
func (v *view) begin(first int64, n int) {
	v.first, v.n, v.sum = first, n, xxh3.Hash(v.recs[:n*v.keyer.Layout().RecordSize])
	v.keyer.Prefixes(v.prefixes[:n], v.recs[:n*v.keyer.Layout().RecordSize])
}

func (v *view) rec(i int) []byte {
	size := v.keyer.Layout().RecordSize
	return v.recs[i*size : (i+1)*size]
}

// keyOf is the normalized key of a record, until the next call.
func (v *view) keyOf(i int) []byte {
	v.key = v.keyer.Append(v.key[:0], v.rec(i))
	return v.key
}

// compare orders two records of the block by their keys.
func (v *view) compare(i, j int) int {
	if c := cmp.Compare(v.prefixes[i], v.prefixes[j]); c != 0 || v.keyer.KeySize() <= 8 {
		return c
	}
	return v.keyer.Compare(v.rec(i), v.rec(j))
}

// compareKey orders a record and a normalized key.
func (v *view) compareKey(i int, key []byte) int {
	if c := cmp.Compare(v.prefixes[i], format.PrefixOf(key)); c != 0 || v.keyer.KeySize() <= 8 {
		return c
	}
	return bytes.Compare(v.keyOf(i), key)
}

// last is the last record that stays; -1: none does.
func (v *view) last() int {
	if len(v.stay) == 0 {
		return -1
	}
	return int(v.stay[len(v.stay)-1])
}

// fits reports whether a record can stay after one, -1: none, that does.
func (v *view) fits(i, last int) bool {
	if last >= 0 {
		return v.compare(i, last) >= 0
	}
	return v.lower == nil || v.compareKey(i, v.lower) >= 0
}

// mostSteps bounds the looks at a record, on average, that giving others up takes.
const mostSteps = 8

// choose chooses the records that stay: each that is not less than the last of them. Of those that are less it follows
// the last that rise. Where no more of those that stay are greater than the first of these, they leave in their place,
// and what came after them is looked at again. So whatever leaves is strictly less, or strictly greater, than the last
// before it that stays, on which the order of equal keys rests.
func (v *view) choose(lower, upper []byte) {
	v.lower, v.upper, v.stay = lower, upper, v.stay[:0]
	clear(v.leaves[:v.n])
	last, steps := -1, mostSteps*v.n
	var less rising
	for i := 0; i < v.n; i++ {
		steps--
		switch {
		case v.leaves[i] || upper != nil && v.compareKey(i, upper) > 0:
		case v.fits(i, last):
			i = v.keep(i)
			last, less.n = i, 0
		default:
			if v.follow(&less, i); steps > 0 && len(v.stay) > 0 && v.fits(less.first, v.before(less.n)) {
				i = v.giveUp(less.first)
				last, less.n = v.last(), 0
			}
		}
	}
	v.settle()
}

// keep has a record stay, and those behind it whose prefixes rise, and returns the last of them.
func (v *view) keep(i int) int {
	prefixes, leaves, stay := v.prefixes[:v.n], v.leaves[:v.n], append(v.stay, int32(i))
	last, most := prefixes[i], uint64(math.MaxUint64)
	if v.upper != nil {
		most = format.PrefixOf(v.upper)
	}
	for i++; i < len(prefixes) && i < len(leaves); i++ {
		next := prefixes[i]
		if next <= last || next >= most || leaves[i] {
			break
		}
		stay, last = append(stay, int32(i)), next
	}
	v.stay = stay
	return i - 1
}

// rising is the last so many records, from one on, that are less than the last that stays and do not fall.
type rising struct{ n, first, last int }

func (v *view) follow(r *rising, i int) {
	if r.n == 0 || v.compare(i, r.last) < 0 {
		r.n, r.first = 0, i
	}
	r.n, r.last = r.n+1, i
}

// before is the record that stays before the last so many that do; -1: there is none.
func (v *view) before(many int) int {
	if many >= len(v.stay) {
		return -1
	}
	return int(v.stay[len(v.stay)-1-many])
}

// giveUp has those leave that record i is less than, and returns the first of them.
func (v *view) giveUp(i int) (first int) {
	for len(v.stay) > 0 && v.compare(i, v.last()) < 0 {
		first = v.last()
		v.leaves[first] = true
		v.stay = v.stay[:len(v.stay)-1]
	}
	return first
}

// settle finds the records that leave, once it is settled which stay.
func (v *view) settle() {
	v.strays = v.strays[:0]
	next := 0
	for stay := v.stay; len(stay) > 0; {
		for ; next < int(stay[0]); next++ {
			v.strays = append(v.strays, int32(next))
		}
		n := together(stay)
		next, stay = next+n, stay[n:]
	}
	for ; next < v.n; next++ {
		v.strays = append(v.strays, int32(next))
	}
}

// together is how many of rising indexes, from the first on, are of neighbours.
func together(indexes []int32) int {
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

// eachStray calls f for each record that leaves. early: it is greater than the last before it that stays, and comes
// before all that equal it; else it is less, and comes after them.
func (v *view) eachStray(f func(rec []byte, early bool) error) error {
	next := 0 // of those that stay, behind the stray
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
