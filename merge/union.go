package merge

import (
	"math/bits"

	"github.com/extsort/extsort/format"
)

// A Tile merges sorted records that are in memory. It is not safe for concurrent use.
type Tile struct {
	tiler  *tiler
	inputs []stretch
	merged sequence
}

// NewTile returns a tile for about the given number of records. It allocates more memory when it is
// needed.
func NewTile(k *format.Keyer, records int) *Tile {
	return &Tile{tiler: newTiler(k, records, make([]uint64, TileBytes(k, records)/8))}
}

// TileBytes returns the memory of a tile for the given number of records.
func TileBytes(k *format.Keyer, records int) int {
	words := 2 // two buffers for keys
	if !isWord(k) {
		words = 4 // and two for references
	}
	return 8 * words * records
}

// Add adds an input: sorted records, with their prefixes. Nothing is copied.
func (t *Tile) Add(prefixes []uint64, recs []byte) {
	if len(prefixes) > 0 {
		t.inputs = append(t.inputs, stretch{keys: prefixes, recs: recs})
	}
}

// Merge merges all inputs and returns the number of records in the result. Of records with equal
// keys, those of earlier inputs come first. With union, only the records of the first input with
// this key remain.
func (t *Tile) Merge(union bool) int {
	t.merged = sequence{}
	if len(t.inputs) > 0 {
		t.tiler.union = union
		t.merged = t.tiler.merge(t.inputs)
	}
	return len(t.merged.keys)
}

// Copy copies records of the result to dst, which must have room for whole records, from the
// given index on.
func (t *Tile) Copy(dst []byte, from int) {
	t.tiler.put(dst, t.merged.slice(from, from+len(dst)/t.tiler.size))
}

// Reset removes all inputs.
func (t *Tile) Reset() {
	clear(t.inputs)
	t.inputs = t.inputs[:0]
}

// without removes the keys of b that a has, and returns the rest in dst. b may be in dst already.
// If two keys are equal prefixes, order compares their records.
func without(dst, b, a sequence, order func(ofB, ofA ref) int) sequence {
	i, j, k := 0, 0, 0
	for i < len(b.keys) && j < len(a.keys) {
		x := b.keys[i]
		y := a.keys[j]
		_, less := bits.Sub64(x, y, 0)
		_, more := bits.Sub64(y, x, 0)
		if order != nil && x == y {
			switch c := order(b.refs[i], a.refs[j]); {
			case c < 0:
				less = 1
			case c > 0:
				more = 1
			}
		}
		dst.keys[k] = x
		if dst.refs != nil {
			dst.refs[k] = b.refs[i]
		}
		k += int(less)
		i += int(1 - more)
		j += int(more)
	}
	rest := dst.slice(k, len(dst.keys)).copyFrom(b.slice(i, len(b.keys)))
	return dst.slice(0, len(dst.keys)-len(rest.keys))
}
