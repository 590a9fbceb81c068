package columns

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"

	"github.com/extsort/extsort"
)

// A refiner completes the order of rows whose keys are longer than their slots, and selects rows.
// Rows of the sort arrive in the order of their slots. A group is a sequence of rows that are equal
// up to the first key that is longer than its slot; it is sorted in memory.
type refiner struct {
	layout *layout
	tails  []valuePlace // for each key
	next   func(row []byte) error
	pick   picker

	group      group
	groupBytes int // the most memory of a group
	last       []byte
	hasLast    bool
	count      int64 // rows that were passed on
}

// A picker describes which rows of the sort to write.
type picker struct {
	unique   bool
	keepLast bool
	limit    int64
	readsAll bool // also rows after the limit
	numeric  bool // see extsort.Record.NumericFloats
}

// A group contains rows in the order of the sort.
type group struct {
	data        []byte
	places      []span
	isShortened bool // the first row follows rows that were passed on
}

// A span is the place of a row in a group.
type span struct{ from, to int }

func (g *group) row(s span) []byte { return g.data[s.from:s.to] }

func (l *layout) refiner(pick picker, groupBytes int, next func(row []byte) error) *refiner {
	r := &refiner{layout: l, pick: pick, groupBytes: groupBytes, next: next}
	for _, c := range l.chosen {
		r.tails = append(r.tails, l.placeOf(c))
	}
	return r
}

// add adds the next row of the sort.
func (r *refiner) add(row []byte) error {
	if len(r.group.places) > 0 {
		if r.isTied(r.group.row(r.group.places[0]), row) {
			return r.addToGroup(row)
		}
		if err := r.endGroup(); err != nil {
			return err
		}
	}
	for _, c := range r.layout.chosen {
		if c.isTruncated(row) {
			return r.addToGroup(row)
		}
	}
	return r.selectRow(row)
}

// close ends the last group.
func (r *refiner) close() error {
	if err := r.endGroup(); err != nil {
		return err
	}
	if r.pick.unique && r.pick.keepLast && r.hasLast {
		return r.pass(r.last)
	}
	return nil
}

// isTied reports whether two rows are equal up to the first key that is longer than its slot, if
// there is one.
func (r *refiner) isTied(a, b []byte) bool {
	for _, c := range r.layout.chosen {
		if !r.sameSlot(c, a, b) {
			return false
		}
		if c.isTruncated(a) {
			return true
		}
	}
	return false
}

// sameSlot reports whether two rows have equal slots of a column.
func (r *refiner) sameSlot(c *column, a, b []byte) bool {
	if c.isNullableKey && a[c.orderPlace] != b[c.orderPlace] {
		return false
	}
	x := a[c.offset : c.offset+c.width]
	y := b[c.offset : c.offset+c.width]
	return bytes.Equal(x, y) || r.pick.numeric && c.isFloat() && sameFloats(x, y)
}

func (r *refiner) addToGroup(row []byte) error {
	const perRow = 32 // span and index
	g := &r.group
	if len(g.places) > 0 && len(g.data)+len(row)+(len(g.places)+1)*perRow > r.groupBytes {
		if err := r.shorten(); err != nil {
			return err
		}
	}
	g.places = append(g.places, span{len(g.data), len(g.data) + len(row)})
	g.data = append(g.data, row...)
	return nil
}

// shorten passes on a group that fills the memory, except for its last row. It must be in order, as
// equal values are, and later rows must not belong before its last row.
func (r *refiner) shorten() error {
	g := &r.group
	last := len(g.places) - 1
	for i := 1; i <= last; i++ {
		if r.compare(g, i-1, i) > 0 {
			return r.tooLarge()
		}
	}
	for _, s := range g.places[:last] {
		if err := r.selectRow(g.row(s)); err != nil {
			return err
		}
	}
	kept := copy(g.data, g.row(g.places[last]))
	g.data = g.data[:kept]
	g.places = append(g.places[:0], span{0, kept})
	g.isShortened = true
	return nil
}

func (r *refiner) tooLarge() error {
	row := r.group.row(r.group.places[0])
	for _, c := range r.layout.chosen {
		if c.isTruncated(row) {
			return fmt.Errorf("too many values of key %s begin with the same %d bytes: increase the memory limit",
				c.name, c.prefix)
		}
	}
	return errPieces
}

// compare compares rows of a group, which differ at first in a key that is longer than its slot.
// Rows that differ in another key are in the order of the sort.
func (r *refiner) compare(g *group, i, j int) int {
	a := g.row(g.places[i])
	b := g.row(g.places[j])
	for k, c := range r.layout.chosen {
		if !r.sameSlot(c, a, b) {
			return cmp.Compare(i, j)
		}
		if !c.isTruncated(a) {
			continue
		}
		if order := bytes.Compare(r.tails[k].tail(a), r.tails[k].tail(b)); order != 0 {
			if r.layout.desc[k] {
				return -order
			}
			return order
		}
	}
	return cmp.Compare(i, j)
}

// endGroup sorts the group and passes on its rows.
func (r *refiner) endGroup() error {
	g := &r.group
	order := make([]int, len(g.places))
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(i, j int) int { return r.compare(g, i, j) })
	if g.isShortened && order[0] != 0 {
		return r.tooLarge()
	}
	for _, i := range order {
		if err := r.selectRow(g.row(g.places[i])); err != nil {
			return err
		}
	}
	g.data = g.data[:0]
	g.places = g.places[:0]
	g.isShortened = false
	return nil
}

// selectRow receives the rows in their final order.
func (r *refiner) selectRow(row []byte) error {
	if !r.pick.unique {
		return r.pass(row)
	}
	isEqual := r.hasLast && r.sameKeys(r.last, row)
	switch {
	case isEqual && !r.pick.keepLast:
		return nil
	case !isEqual && r.hasLast && r.pick.keepLast:
		if err := r.pass(r.last); err != nil {
			return err
		}
	}
	r.last = append(r.last[:0], row...)
	r.hasLast = true
	if r.pick.keepLast {
		return nil
	}
	return r.pass(row)
}

// sameKeys reports whether the keys of two rows are equal.
func (r *refiner) sameKeys(a, b []byte) bool {
	for k, c := range r.layout.chosen {
		if !r.sameSlot(c, a, b) {
			return false
		}
		if c.isTruncated(a) && !bytes.Equal(r.tails[k].tail(a), r.tails[k].tail(b)) {
			return false
		}
	}
	return true
}

// errEnough ends a sort whose other rows are not needed.
var errEnough = errors.New("the limit of rows has been reached")

// pass passes on a selected row.
func (r *refiner) pass(row []byte) error {
	switch {
	case !r.isFull():
		r.count++
		return r.next(row)
	case r.pick.readsAll:
		return nil
	}
	return errEnough
}

// isFull reports whether no more rows are written.
func (r *refiner) isFull() bool { return r.count == r.pick.limit }

// isFloat reports whether the values are little-endian floats.
func (c *column) isFloat() bool {
	switch c.fields[0].Type {
	case "f16", extsort.F32, extsort.F64:
		return true
	}
	return false
}

// sameFloats reports whether two floats are both zeros or both NaNs.
func sameFloats(a, b []byte) bool {
	kind := floatKind(a)
	return kind != otherFloat && kind == floatKind(b)
}

const (
	otherFloat = iota
	zeroFloat
	nanFloat
)

// floatKind returns the kind of a little-endian float of 2, 4 or 8 bytes.
func floatKind(b []byte) int {
	var value, infinity uint64
	switch len(b) {
	case 2:
		value = uint64(binary.LittleEndian.Uint16(b)) << 48
		infinity = 0x7c00 << 48
	case 4:
		value = uint64(binary.LittleEndian.Uint32(b)) << 32
		infinity = 0x7f80 << 48
	default:
		value = binary.LittleEndian.Uint64(b)
		infinity = 0x7ff0 << 48
	}
	value &^= 1 << 63
	switch {
	case value == 0:
		return zeroFloat
	case value > infinity:
		return nanFloat
	}
	return otherFloat
}
