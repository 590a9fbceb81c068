package sorttest

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"slices"

	"github.com/zeebo/xxh3"

	"github.com/extsort/extsort/format"
)

// countBytes is the size of the number that Selection.Count appends to each record.
const countBytes = 8

// A Selection says which of the sorted records are written, and in which form. The zero value means
// all records, in ascending order.
type Selection struct {
	Reverse    bool
	Unique     bool // one record of each key
	KeepLast   bool // with Unique, the last one
	Count      bool // with Unique, followed by the number of records with the key
	Duplicates bool // the first record of each key that occurs more than once

	Combined []CombinedField // with Unique, fields of the record to combine

	Limit int64 // the number of records to write; 0: all; negative: none

	ArgsortBytes int     // write positions of that many bytes instead of records; 0: records
	Shuffle      *uint64 // seed of a random order; nil: the order of the keys
	Before       int64   // number of records before recs, added to all positions
}

// A Reference is the expected output of a sort.
type Reference struct {
	Bytes []byte // all records of the output
	Size  int    // record size in bytes
}

// Records returns the number of records to write.
func (r Reference) Records() int64 { return int64(len(r.Bytes) / r.Size) }

// NewReference sorts records with the standard library. It shares no code with the product except
// the description of the key fields: it decodes the fields itself.
func NewReference(layout format.Layout, recs []byte, s Selection) Reference {
	size := layout.RecordSize
	if s.Reverse { // not the order of the keys: NaNs stay at their end
		layout.Key = slices.Clone(layout.Key)
		for i := range layout.Key {
			layout.Key[i].Desc = !layout.Key[i].Desc
		}
	}
	keys, width := keysOf(layout, recs)
	key := func(i int) []byte { return keys[i*width : (i+1)*width] }

	order := s.order(len(recs)/size, key)
	groups := s.groups(order, key)

	out := Reference{Size: size}
	switch {
	case s.ArgsortBytes > 0:
		out.Size = s.ArgsortBytes
	default:
		out.Size += s.appendedBytes()
	}
	for _, g := range groups {
		out.Bytes = s.append(out.Bytes, recs, size, g)
	}
	return out
}

// group is a record to write and all records with its key.
type group struct {
	record  int
	members []int
}

// order returns the indexes of all records in their sorted order.
func (s Selection) order(n int, key func(i int) []byte) []int {
	order := make([]int, n)
	for i := range order {
		order[i] = i
	}
	if s.Shuffle != nil {
		slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(s.shuffleKey(a), s.shuffleKey(b)) })
		return order
	}
	slices.SortFunc(order, func(a, b int) int {
		return cmp.Or(bytes.Compare(key(a), key(b)), cmp.Compare(a, b))
	})
	return order
}

// shuffleKey returns the hash of the seed and the position of a record, by which a shuffle sorts.
func (s Selection) shuffleKey(i int) uint64 {
	seed := binary.LittleEndian.AppendUint64(nil, *s.Shuffle)
	return xxh3.Hash(binary.LittleEndian.AppendUint64(seed, uint64(s.Before)+uint64(i)))
}

// groups returns the records to write.
func (s Selection) groups(order []int, key func(i int) []byte) (groups []group) {
	if s.Limit < 0 {
		return nil
	}
	for from, to := 0, 0; from < len(order); from = to {
		to = from + 1
		for to < len(order) && s.Shuffle == nil && bytes.Equal(key(order[from]), key(order[to])) {
			to++
		}
		all := order[from:to]
		members := all
		switch {
		case s.Duplicates && len(members) == 1:
			continue
		case s.KeepLast:
			members = members[len(members)-1:]
		case s.Unique || s.Duplicates:
			members = members[:1]
		}
		for _, record := range members {
			groups = append(groups, group{record, all})
		}
	}
	if s.Limit > 0 {
		groups = groups[:min(int(s.Limit), len(groups))]
	}
	return groups
}

// append appends the output of a group.
func (s Selection) append(out, recs []byte, size int, g group) []byte {
	if s.ArgsortBytes > 0 {
		position := binary.LittleEndian.AppendUint64(nil, uint64(s.Before)+uint64(g.record))
		return append(out, position[:s.ArgsortBytes]...)
	}
	start := len(out)
	out = append(out, recs[g.record*size:(g.record+1)*size]...)
	for _, c := range s.Combined {
		value := c.combine(recs, size, g.members)
		if c.Name == "" {
			copy(out[start+c.Field.Offset:], value)
		} else {
			out = append(out, value...)
		}
	}
	if s.Count {
		out = binary.LittleEndian.AppendUint64(out, uint64(len(g.members)))
	}
	return out
}

// keysOf returns the keys of all records as byte strings of the same width, one after another.
// bytes.Compare orders them like the keys.
func keysOf(layout format.Layout, recs []byte) (keys []byte, width int) {
	for at := 0; at < len(recs); at += layout.RecordSize {
		keys = appendKeys(keys, layout, recs[at:])
		width = cmp.Or(width, len(keys))
	}
	return keys, width
}

// appendKeys appends the bytes of all fields of a record.
func appendKeys(keys []byte, layout format.Layout, rec []byte) []byte {
	for _, f := range layout.Key {
		keys = appendKey(keys, rec[f.Offset:f.Offset+f.Type.Size], f)
	}
	return keys
}

// EqualKeys reports whether two records have equal keys.
func EqualKeys(layout format.Layout, a, b []byte) bool {
	return bytes.Equal(appendKeys(nil, layout, a), appendKeys(nil, layout, b))
}

// appendKey appends the bytes of a value, most significant first. It changes them so that
// bytes.Compare orders them like the values.
func appendKey(keys, value []byte, f format.Field) []byte {
	switch f.Type.Kind {
	case format.Float, format.Brain, format.Extended:
		return appendFloat(keys, value, f)
	case format.Zoned, format.Packed:
		return appendDecimal(keys, value, f)
	}
	start := len(keys)
	keys = append(keys, value...)
	digits := keys[start:]
	switch {
	case f.Type.Kind == format.Bytes || f.Type.BigEndian:
	case f.Type.Kind == format.UCS:
		for character := range slices.Chunk(digits, 4) {
			slices.Reverse(character)
		}
	default:
		slices.Reverse(digits)
	}

	if f.Type.Kind == format.Signed {
		digits[0] ^= 0x80
	}
	if f.Desc {
		invert(digits)
	}
	return keys
}

func invert(b []byte) {
	for i := range b {
		b[i] = ^b[i]
	}
}

// FirstDifference returns the index of the first record in which got and want differ.
func FirstDifference(got, want []byte, size int) int {
	n := min(len(got), len(want))
	for i := range n {
		if got[i] != want[i] {
			return i / size
		}
	}
	return n / size
}
