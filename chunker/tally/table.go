package tally

import (
	"errors"
	"math"
	"math/bits"
	"slices"
	"unsafe"

	"github.com/extsort/extsort/device/arena"
	"github.com/extsort/extsort/format"
)

// ErrFull is the error of a Table that would need more memory than it may use.
var ErrFull = errors.New("there are more distinct keys than fit in memory")

// Options describe a Table.
type Options struct {
	Keyer *format.Keyer // of the records. REQUIRES: KeySize ≤ 8

	// Aggregation combines the records of a key. It is nil if records are only counted.
	// REQUIRES: Aggregation.Measures returns true
	Aggregation *format.Aggregation

	MaxKeys int
}

const (
	wordBytes = 8

	// minEntries is the number of entries of a new Table. They stay in the cache of a processor.
	minEntries = 1 << 13

	// entryBytes is the maximum memory for the entries of a key: after it has grown, a Table is a
	// quarter full. While it grows, the old entries are there, too.
	entryBytes = int(unsafe.Sizeof(entry{})) * (4 + 2)

	// maxProbes limits the number of entries that are searched for a key.
	maxProbes = 256

	// blockKeys is the number of records that are processed together.
	blockKeys = 512
)

// KeyBytes returns the maximum memory for a key in a Table. aggregation may be nil.
func KeyBytes(aggregation *format.Aggregation) int {
	return entryBytes + wordBytes*newRow(aggregation).words
}

// An entry belongs to one key. If rows are used, value is one more than the index of the row in
// Table.rows. Otherwise it is the number of records. An entry whose value is 0 is free.
type entry struct{ key, value uint64 }

// A Table contains the distinct keys of the records that were added to it. It is not safe for
// concurrent use.
type Table struct {
	opt     Options
	row     row
	used    int // number of keys
	entries []entry
	shift   uint // 64 minus the logarithm of the number of entries
	memory  *arena.Memory

	rows      []uint64
	rowsInUse int
	rowMemory *arena.Memory

	keys   [blockKeys]uint64
	places [blockKeys]uint64 // of the rows of keys
	values [blockKeys]uint64
}

// New returns an empty Table. REQUIRES: Close is called
func New(opt Options) (*Table, error) {
	t := &Table{opt: opt, row: newRow(opt.Aggregation)}
	var err error
	if t.rowMemory, err = arena.Alloc(t.row.words * opt.MaxKeys * wordBytes); err != nil {
		return nil, err
	}
	t.rows = arena.View[uint64](t.rowMemory.Bytes())
	if err := t.resize(minEntries); err != nil {
		return nil, errors.Join(err, t.Close())
	}
	return t, nil
}

// Keys returns the number of distinct keys.
func (t *Table) Keys() int { return t.used }

// Close frees the memory.
func (t *Table) Close() error {
	if t == nil {
		return nil
	}
	t.entries = nil
	t.rows = nil
	return errors.Join(t.memory.Free(), t.rowMemory.Free())
}

// resize moves the keys to a new array of entries.
func (t *Table) resize(entries int) error {
	memory, err := arena.Alloc(entries * int(unsafe.Sizeof(entry{})))
	if err != nil {
		return err
	}
	old := t.entries
	words := memory.Bytes()
	t.entries = unsafe.Slice((*entry)(unsafe.Pointer(unsafe.SliceData(words))), entries)
	t.shift = uint(64 - bits.TrailingZeros(uint(entries)))
	for _, e := range old {
		if e.value != 0 {
			t.entries[t.free(e.key)] = e
		}
	}
	err = t.memory.Free()
	t.memory = memory
	return err
}

// hash returns the first entry to search for a key.
func (t *Table) hash(key uint64) int {
	const golden = 0x9e3779b97f4a7c15 // 2^64 divided by the golden ratio
	return int((key ^ key>>32) * golden >> (t.shift & 63))
}

// free returns the entry for a key that is not in the Table.
func (t *Table) free(key uint64) int {
	at := t.hash(key)
	for t.entries[at].value != 0 {
		at = (at + 1) & (len(t.entries) - 1)
	}
	return at
}

// insert adds a key that is not in the Table and returns its entry, whose value is still 0.
func (t *Table) insert(key uint64) (*entry, error) {
	if t.used >= t.opt.MaxKeys {
		return nil, ErrFull
	}
	t.used++
	if t.used > len(t.entries)/2 {
		if err := t.resize(2 * len(t.entries)); err != nil {
			return nil, err
		}
	}
	at := t.free(key)
	if (at-t.hash(key))&(len(t.entries)-1) > maxProbes {
		return nil, ErrFull // the hash function does not suit the keys
	}
	t.entries[at].key = key
	return &t.entries[at], nil
}

// Add adds consecutive records of the input. position is the index of the first one. Add returns
// ErrFull if there are too many keys. REQUIRES: position is greater than that of all records so far
func (t *Table) Add(position int64, recs []byte) error {
	size := t.opt.Keyer.Layout().RecordSize
	for len(recs) > 0 {
		n := min(len(recs)/size, blockKeys)
		block := recs[:n*size]
		t.opt.Keyer.Prefixes(t.keys[:n], block)
		add := t.addRows
		if t.opt.Aggregation == nil {
			add = t.count
		}
		if err := add(position, block, t.keys[:n]); err != nil {
			return err
		}
		position += int64(n)
		recs = recs[n*size:]
	}
	return nil
}

// count counts keys.
func (t *Table) count(_ int64, _ []byte, keys []uint64) error {
	entries := t.entries
	mask := len(entries) - 1
	for _, key := range keys {
		at := t.hash(key)
		e := &entries[at]
		for e.key != key && e.value != 0 {
			at = (at + 1) & mask
			e = &entries[at]
		}
		if e.value == 0 {
			var err error
			if e, err = t.insert(key); err != nil {
				return err
			}
			entries = t.entries
			mask = len(entries) - 1
		}
		e.value++
	}
	return nil
}

// addRows adds records to the rows of their keys.
func (t *Table) addRows(position int64, recs []byte, keys []uint64) error {
	size := t.opt.Keyer.Layout().RecordSize
	for i, key := range keys {
		at := t.hash(key)
		e := &t.entries[at]
		for e.key != key && e.value != 0 {
			at = (at + 1) & (len(t.entries) - 1)
			e = &t.entries[at]
		}
		if e.value == 0 {
			var err error
			if e, err = t.insert(key); err != nil {
				return err
			}
			e.value = uint64(t.newRow()) + 1
			t.row.begin(t.rowAt(e.value-1), position+int64(i), recs[i*size:(i+1)*size])
		}
		t.places[i] = e.value - 1
	}
	t.update(position, recs, t.places[:len(keys)])
	return nil
}

// newRow returns the place of the next row.
func (t *Table) newRow() int {
	at := t.rowsInUse
	t.rowsInUse += t.row.words
	return at
}

func (t *Table) rowAt(place uint64) []uint64 { return t.rows[place : place+uint64(t.row.words)] }

// update adds records to the rows at places.
func (t *Table) update(position int64, recs []byte, places []uint64) {
	rows := t.rows
	for _, place := range places {
		rows[place]++ // the number of records is the first word
	}
	values := t.values[:len(places)]
	for i, m := range t.row.measures {
		m.Keyer.Prefixes(values, recs)
		add := addTo[m.Kind]
		add(rows[t.row.totals[i]:], places, values)
	}
	if t.row.last == 0 {
		return
	}
	size := t.opt.Keyer.Layout().RecordSize
	for i, place := range places {
		t.row.setLast(t.rowAt(place), position+int64(i), recs[i*size:(i+1)*size])
	}
}

// addTo contains the function for each kind of measure that adds values to the totals at places.
var addTo = map[format.MeasureKind]func(totals, places, values []uint64){
	format.MeasureSum:      addSums,
	format.MeasureLeast:    takeLeast,
	format.MeasureGreatest: takeGreatest,
}

func addSums(totals, places, values []uint64) {
	for i, place := range places {
		sum := totals[place : place+2]
		var carry uint64
		sum[0], carry = bits.Add64(sum[0], values[i], 0)
		sum[1] += carry
	}
}

func takeLeast(totals, places, values []uint64) {
	for i, place := range places {
		totals[place] = min(totals[place], values[i])
	}
}

func takeGreatest(totals, places, values []uint64) {
	for i, place := range places {
		totals[place] = max(totals[place], values[i])
	}
}

// Join adds the keys of another Table. The table grows first: the entries of the other one are in the
// order of their hashes, so they would fill the front of a small table and not its back.
func (t *Table) Join(other *Table) error {
	if err := t.reserve(min(t.used+other.used, t.opt.MaxKeys)); err != nil {
		return err
	}
	for i := range other.entries {
		e := &other.entries[i]
		if e.value == 0 {
			continue
		}
		if err := t.joinEntry(other, e); err != nil {
			return err
		}
	}
	return nil
}

// reserve makes room for a number of keys in total.
func (t *Table) reserve(keys int) error {
	entries := len(t.entries)
	for entries/2 < keys {
		entries *= 2
	}
	if entries == len(t.entries) {
		return nil
	}
	return t.resize(entries)
}

func (t *Table) joinEntry(other *Table, e *entry) error {
	at := t.hash(e.key)
	for t.entries[at].value != 0 && t.entries[at].key != e.key {
		at = (at + 1) & (len(t.entries) - 1)
	}
	own := &t.entries[at]
	isNew := own.value == 0
	if isNew {
		var err error
		if own, err = t.insert(e.key); err != nil {
			return err
		}
	}
	switch {
	case t.opt.Aggregation == nil:
		own.value += e.value
	case isNew:
		own.value = uint64(t.newRow()) + 1
		copy(t.rowAt(own.value-1), other.rowAt(e.value-1))
	default:
		t.row.join(t.rowAt(own.value-1), other.rowAt(e.value-1))
	}
	return nil
}

// Sort sorts the keys for Count and Fold. Nothing may be added afterwards.
func (t *Table) Sort() {
	sorted := slices.DeleteFunc(t.entries, func(e entry) bool { return e.value == 0 })
	slices.SortFunc(sorted, func(a, b entry) int {
		if a.key < b.key {
			return -1
		}
		return 1
	})
	t.entries = sorted
}

// Count returns key i in sort order and the number of its records. REQUIRES: no Aggregation; Sort
func (t *Table) Count(i int) (key uint64, records int64) {
	return t.entries[i].key, int64(t.entries[i].value)
}

// Fold sets fold to the records of key i in sort order. REQUIRES: an Aggregation; Sort
func (t *Table) Fold(i int, fold *format.Fold) {
	r := t.rowAt(t.entries[i].value - 1)
	size := t.opt.Keyer.Layout().RecordSize
	totals := make([]format.Total, len(t.row.measures))
	for m, at := range t.row.totals {
		totals[m].Low = r[at]
		if t.row.measures[m].Kind == format.MeasureSum {
			totals[m].High = r[at+1]
		}
	}
	var first, last []byte
	if t.row.first > 0 {
		first = recordAt(r, t.row.first, size)
	}
	if t.row.last > 0 {
		last = recordAt(r, t.row.last, size)
	}
	fold.SetTotals(int64(r[0]), first, last, totals)
}

// A row describes the words of a row. A place of 0 means that the row does not contain the word.
type row struct {
	words    int
	measures []format.Measure
	totals   []int // place of the total of each measure
	first    int   // place of the position of the first record, before its bytes
	last     int   // place of the position of the last record, before its bytes
	size     int   // of a record
}

// newRow returns the row for an Aggregation. Without one, there are no rows.
func newRow(g *format.Aggregation) row {
	if g == nil {
		return row{}
	}
	r := row{words: 1, size: g.Keyer().Layout().RecordSize}
	r.measures, _ = g.Measures()
	for _, m := range r.measures {
		r.totals = append(r.totals, r.words)
		r.words++
		if m.Kind == format.MeasureSum {
			r.words++
		}
	}
	record := 1 + (r.size+wordBytes-1)/wordBytes
	if g.NeedsFirst() {
		r.first = r.words
		r.words += record
	}
	if g.NeedsLast() {
		r.last = r.words
		r.words += record
	}
	return r
}

// recordAt returns the record after a position.
func recordAt(r []uint64, place, size int) []byte { return arena.ByteView(r[place+1:])[:size] }

// begin initializes a new row of zeros with the first record.
func (w *row) begin(r []uint64, position int64, rec []byte) {
	for i, m := range w.measures {
		if m.Kind == format.MeasureLeast {
			r[w.totals[i]] = math.MaxUint64
		}
	}
	if w.first > 0 {
		r[w.first] = uint64(position)
		copy(recordAt(r, w.first, w.size), rec)
	}
}

func (w *row) setLast(r []uint64, position int64, rec []byte) {
	r[w.last] = uint64(position)
	copy(recordAt(r, w.last, w.size), rec)
}

// join adds another row of the same key to r.
func (w *row) join(r, other []uint64) {
	r[0] += other[0]
	for i, m := range w.measures {
		at := w.totals[i]
		addTo[m.Kind](r[at:], []uint64{0}, other[at:])
		if m.Kind == format.MeasureSum {
			r[at+1] += other[at+1]
		}
	}
	if w.first > 0 && other[w.first] < r[w.first] {
		r[w.first] = other[w.first]
		copy(recordAt(r, w.first, w.size), recordAt(other, w.first, w.size))
	}
	if w.last > 0 && other[w.last] > r[w.last] {
		w.setLast(r, int64(other[w.last]), recordAt(other, w.last, w.size))
	}
}
