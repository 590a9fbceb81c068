package merge

import (
	"cmp"
	"slices"

	"github.com/extsort/extsort/device/arena"
	"github.com/extsort/extsort/format"
	"github.com/extsort/extsort/merge/match"
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
	t := &Tile{tiler: newTiler(k, records, make([]uint64, tileWords(k)*records))}
	t.tiler.marks = make([]byte, 0, records)
	return t
}

// TileBytes returns the memory of a tile for the given number of records.
func TileBytes(k *format.Keyer, records int) int {
	const mark = 1
	return (8*tileWords(k) + mark) * records
}

// tileWords returns the number of words that a tile needs for each record.
func tileWords(k *format.Keyer) int {
	if isWord(k) {
		return 2 // two buffers for keys
	}
	return 4 // and two for references
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

// Bytes returns the records of the result if they are in memory of the tile, one after another, and
// otherwise nil. They are valid until the next Merge.
func (t *Tile) Bytes() []byte {
	if len(t.inputs) < 2 || !isNative(t.tiler.keyer) { // a single input is not copied
		return nil
	}
	return arena.ByteView(t.merged.keys)
}

// Reset removes all inputs.
func (t *Tile) Reset() {
	clear(t.inputs)
	t.inputs = t.inputs[:0]
}

// without removes the keys of b that a has, and returns the rest in dst. b may be in dst already.
func (t *tiler) without(dst, b, a sequence) sequence {
	t.marks = slices.Grow(t.marks[:0], len(a.keys)+len(b.keys))[:len(a.keys)+len(b.keys)]
	clear(t.marks)
	ofB := t.marks[:len(b.keys)]
	if t.order == nil {
		match.Mark(ofB, t.marks[len(b.keys):], b.keys, a.keys)
	} else {
		t.markWide(ofB, b, a)
	}
	n := match.Keep(dst.keys, b.keys, ofB, 0)
	if dst.refs != nil {
		match.Keep(dst.refs, b.refs, ofB, 0)
	}
	return dst.slice(0, n)
}

// markWide marks the keys of b that a has, for keys that are longer than a word.
func (t *tiler) markWide(ofB []byte, b, a sequence) {
	i, j := 0, 0
	for i < len(b.keys) && j < len(a.keys) {
		order := cmp.Compare(b.keys[i], a.keys[j])
		if order == 0 {
			order = t.order(b.refs[i], a.refs[j])
		}
		if order > 0 {
			j++
			continue
		}
		if order == 0 {
			ofB[i] = 1
		}
		i++
	}
}
