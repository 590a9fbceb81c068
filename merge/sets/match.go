package sets

import (
	"math/bits"
	"slices"
	"unsafe"
)

// A choice says which records of a stretch are selected, depending on another stretch.
type choice struct {
	shared    bool // select records whose keys are in the other stretch; false: the others
	oneForOne bool // each record of the other stretch matches at most one record
}

// A selection is a list of records of a stretch, in order.
type selection struct {
	of   *stretch
	keys []uint64 // their prefixes
	refs []uint32 // their indexes; nil for all records
}

// all returns the selection of all records.
func (s *stretch) all() selection { return selection{of: s, keys: s.keys} }

// at returns the index of the k-th selected record.
func (s *selection) at(k int) int {
	if s.refs == nil {
		return k
	}
	return int(s.refs[k])
}

// A matcher selects records. It has memory for two results, because a result may be selected from
// the previous one.
type matcher struct {
	refs [2][]uint32
	turn int // index of the memory in refs for the next result
	keys []uint64
}

// choose selects from a selection by comparing it with b. The result is valid until the next call.
// It may overwrite the memory of from.
func (m *matcher) choose(from selection, b *stretch, c choice) selection {
	room := len(from.keys) + 1
	refs := slices.Grow(m.refs[m.turn][:0], room)[:room]
	m.refs[m.turn] = refs
	i, k := 0, 0
	if from.of.isWide() {
		i, k = chooseWide(refs, from, b, c)
	} else {
		i, k = chooseSteps(refs, from.keys, b.keys, c)
	}
	if !c.shared { // the keys of the rest are larger than those of b
		for ; i < len(from.keys); i++ {
			refs[k] = uint32(i)
			k++
		}
	}
	if k == len(from.keys) {
		return from
	}
	m.turn = 1 - m.turn
	return m.selected(from, refs[:k])
}

// selected returns the records of a selection that have the given indexes in this selection.
func (m *matcher) selected(from selection, indexes []uint32) selection {
	result := selection{
		of:   from.of,
		keys: m.gather(from.keys, indexes),
		refs: indexes,
	}
	if from.refs == nil {
		return result
	}
	for k, i := range indexes {
		indexes[k] = from.refs[i]
	}
	return result
}

// gather returns the keys with the given indexes, which are in ascending order. The result may
// replace the keys of an earlier selection.
func (m *matcher) gather(keys []uint64, refs []uint32) []uint64 {
	m.keys = slices.Grow(m.keys[:0], len(refs))[:len(refs)]
	for k, i := range refs {
		m.keys[k] = keys[i]
	}
	return m.keys
}

// chooseSteps walks through the keys of a and b, until one of them ends, and writes the indexes of
// the selected keys of a to dst. It returns the number of keys of a that it has handled, and the
// number of selected ones. One step handles a key of a if it is at most the next key of b, and
// otherwise skips the key of b. There is no branch that depends on the keys. REQUIRES: dst has room
// for len(a)+1 indexes
func chooseSteps(dst []uint32, a, b []uint64, c choice) (handled, selected int) {
	if len(a) == 0 || len(b) == 0 {
		return 0, 0
	}
	var onLess, onEqual, both uint64
	if c.shared {
		onEqual = 1
	} else {
		onLess = 1
	}
	if c.oneForOne {
		both = 1
	}
	to := unsafe.Pointer(unsafe.SliceData(dst))
	ofA := unsafe.Pointer(unsafe.SliceData(a))
	ofB := unsafe.Pointer(unsafe.SliceData(b))
	var i, j, k uint64
	for i < uint64(len(a)) && j < uint64(len(b)) {
		x := *(*uint64)(unsafe.Add(ofA, i*8))
		y := *(*uint64)(unsafe.Add(ofB, j*8))
		_, less := bits.Sub64(x, y, 0)
		_, more := bits.Sub64(y, x, 0)
		equal := 1 ^ less ^ more
		*(*uint32)(unsafe.Add(to, k*4)) = uint32(i)
		k += less&onLess | equal&onEqual
		i += 1 - more
		j += more | equal&both
	}
	return int(i), int(k)
}

// chooseWide is chooseSteps for keys that are longer than their prefixes.
func chooseWide(dst []uint32, from selection, b *stretch, c choice) (handled, selected int) {
	i, j, k := 0, 0, 0
	for i < len(from.keys) && j < len(b.keys) {
		order := 0
		switch x, y := from.keys[i], b.keys[j]; {
		case x < y:
			order = -1
		case x > y:
			order = 1
		default:
			order = from.of.compareRest(from.at(i), b, j)
		}
		if order > 0 {
			j++
			continue
		}
		if (order == 0) == c.shared {
			dst[k] = uint32(i)
			k++
		}
		if order == 0 && c.oneForOne {
			j++
		}
		i++
	}
	return i, k
}

// countKeys returns the number of different keys of a selection.
func (s *selection) countKeys() (n int64) {
	for k, key := range s.keys {
		if k > 0 && key == s.keys[k-1] && (!s.of.isWide() || s.of.compareRest(s.at(k-1), s.of, s.at(k)) == 0) {
			continue
		}
		n++
	}
	return n
}
