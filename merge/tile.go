package merge

import (
	"slices"

	"github.com/extsort/extsort/device/arena"
	"github.com/extsort/extsort/format"
)

// A tiler merges the stretches of one tile with a balanced tree of two-way merges. This moves every
// record once per level, which is cheap within the cache. A k-way loser tree moves a record only
// once, but it makes log2(k) comparisons per record, and each comparison depends on the one before.
type tiler struct {
	keyer   *format.Keyer
	size    int                   // record size in bytes
	refs    bool                  // whether records are more than a key of one word
	tie     func(ra, rb ref) bool // nil if equal words are always equal keys
	order   func(ra, rb ref) int  // compares records with equal words; nil if they are equal
	union   bool                  // of equal keys, keep only the records of the first input
	marks   []byte                // for a union
	inputs  []stretch
	offsets []int // of the first record of each input within the tile
	scratch [2]sequence
}

// newTiler returns a tiler for tiles of n records. Its memory has the size given by
// plan.MergeWorker.
func newTiler(k *format.Keyer, n int, memory []uint64) *tiler {
	t := &tiler{
		keyer: k,
		size:  k.Layout().RecordSize,
		refs:  !isWord(k),
	}
	for i := range t.scratch {
		t.scratch[i].keys = memory[:n:n]
		memory = memory[n:]
		if t.refs {
			t.scratch[i].refs = arena.View[ref](arena.ByteView(memory[:n]))
			memory = memory[n:]
		}
	}

	if k.KeySize() > 8 {
		t.tie = func(ra, rb ref) bool {
			return k.Compare(t.record(ra), t.record(rb)) > 0
		}
		t.order = func(ra, rb ref) int {
			return k.Compare(t.record(ra), t.record(rb))
		}
	}
	return t
}

// isWord reports whether a record consists of a key of at most 8 bytes, so that the key alone
// determines the record.
func isWord(k *format.Keyer) bool {
	return k.Layout().IsBare() && k.KeySize() <= 8
}

// merge merges inputs. No input may be empty. The result is valid until the next call. If the
// inputs exceed a tile, which happens only if there are more inputs than records in a tile, the
// tiler allocates more memory.
func (t *tiler) merge(inputs []stretch) sequence {
	n := 0
	t.inputs = inputs
	t.offsets = t.offsets[:0]

	for _, in := range inputs {
		t.offsets = append(t.offsets, n)
		n += len(in.keys)
	}

	t.offsets = append(t.offsets, n)
	for i := range t.scratch {
		t.scratch[i].keys = slices.Grow(t.scratch[i].keys[:0], n)[:n]
		if t.refs {
			t.scratch[i].refs = slices.Grow(t.scratch[i].refs[:0], n)[:n]
		}
	}

	return t.build(0, len(inputs), 0)
}

// build merges the inputs from index from to to (exclusive). It writes the result to the scratch
// memory for even or odd levels, at the position of these records in the tile. So a merge never
// reads the memory that it writes.
func (t *tiler) build(from, to, level int) sequence {
	dst := t.scratch[level%2].slice(t.offsets[from], t.offsets[to])
	if to-from == 1 {
		return t.leaf(from, dst)
	}
	middle := t.middle(from, to)
	a := t.build(from, middle, level+1)
	b := t.build(middle, to, level+1)
	if t.union {
		half := t.scratch[(level+1)%2].slice(t.offsets[middle], t.offsets[to])
		b = t.without(half.slice(0, len(b.keys)), b, a)
		dst = dst.slice(0, len(a.keys)+len(b.keys))
	}
	switch {
	case len(b.keys) == 0:
		dst.copyFrom(a)
	case a.keys[len(a.keys)-1] < b.keys[0]:
		dst.copyFrom(a).copyFrom(b)
	case b.keys[len(b.keys)-1] < a.keys[0]:
		dst.copyFrom(b).copyFrom(a)
	case t.refs:
		mergeRefs(dst, a, b, t.tie)
	default:
		mergeKeys(dst.keys, a.keys, b.keys)
	}
	return dst
}

// leaf returns one input unchanged, with references to its records stored in dst.
func (t *tiler) leaf(input int, dst sequence) sequence {
	s := sequence{keys: t.inputs[input].keys}
	if !t.refs {
		return s
	}
	s.refs = dst.refs[:len(s.keys)]
	for i := range s.refs {
		s.refs[i] = ref(input)<<32 | ref(i)
	}
	return s
}

// middle splits the inputs from index from to to so that both halves have about the same number
// of records. This way the records of a long input take part in few merges.
func (t *tiler) middle(from, to int) int {
	half := (t.offsets[from] + t.offsets[to]) / 2
	m, _ := slices.BinarySearch(t.offsets[from+1:to], half)
	m += from + 1
	if m == to || m > from+1 && half-t.offsets[m-1] < t.offsets[m]-half {
		m--
	}
	return m
}

func (t *tiler) record(r ref) []byte {
	at := int(uint32(r)) * t.size
	return t.inputs[r>>32].recs[at : at+t.size]
}

func (t *tiler) put(dst []byte, s sequence) {
	if !t.refs {
		t.keyer.Records(dst, s.keys)
		return
	}
	for i, r := range s.refs {
		copy(dst[i*t.size:(i+1)*t.size], t.record(r))
	}
}
