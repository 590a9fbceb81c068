package lookup

import (
	"bytes"
	"math"
	"sort"
)

const (
	pageBytes  = 4 << 10  // minimum size of a read
	blockBytes = 64 << 10 // a range of at most this size is read as a whole
)

// maxMisses is the maximum number of windows that do not halve the range of a search. After more of
// them, the search falls back to binary search.
const maxMisses = 8

// A Cursor looks up keys in ascending order. It keeps the last window that it read, so that
// look-ups of nearby keys do not read the same records again. It is not safe for concurrent use.
type Cursor struct {
	table *Table
	// batch is set for many look-ups. Windows are then as small as possible, and only the order of
	// their first and last records is checked.
	batch bool

	previous []byte // the previous key
	next     int64  // position at which Find found it

	window window
	state  search // state of the current search

	// memory for normalized keys
	scratch, lowKey, highKey []byte
}

// A window contains consecutive records that have been read.
type window struct {
	first     int64
	recs      []byte
	buffer    []byte
	low, high []byte // the normalized keys of the first and of the last record
}

// NewCursor returns a cursor for look-ups. With batch, it is fast for many keys. Without, it checks
// the order of all records that it reads.
func (t *Table) NewCursor(batch bool) *Cursor {
	return &Cursor{table: t, batch: batch}
}

// Find is Table.Find. It is fast if key is not less than the previous key.
func (c *Cursor) Find(key []byte) (Range, error) {
	if bytes.Compare(key, c.previous) < 0 {
		c.next = 0
	}
	r, err := c.find(key, c.next)
	if err != nil {
		return Range{}, err
	}
	c.next = r.First
	c.previous = append(c.previous[:0], key...)
	return r, nil
}

// find returns the records with a key. None of them may be before from.
func (c *Cursor) find(key []byte, from int64) (r Range, err error) {
	b := newBoundary(c.table.keyer, key, false)
	r.First, err = c.search(b, from)
	if err != nil {
		return Range{}, err
	}
	b.after = true
	r.End, err = c.search(b, r.First)
	return r, err
}

// A search is the state of the search for a boundary.
type search struct {
	boundary
	// The records before low precede the boundary, and the records from high on do not.
	low, high int64
	// The normalized keys of records low-1 and high; nil if unknown.
	lowKey, highKey []byte

	missed    bool // the last window did not halve the range
	misses    int  // number of windows that did not halve the range
	overshoot int  // consecutive misses of windows that were expected to contain the boundary
	indexed   bool // the index has limited the range to a few blocks
}

func (s *search) span() int64 { return s.high - s.low }

// search returns the position of a boundary. The boundary must not be before from.
func (c *Cursor) search(b boundary, from int64) (int64, error) {
	t := c.table
	s := &c.state
	*s = search{boundary: b, low: from, high: t.records}
	c.probe(s)
	if s.span() == 0 {
		return s.low, nil
	}
	if err := c.narrow(s); err != nil {
		return 0, err
	}
	for s.span() > 0 {
		first, n, final := c.guess(s)
		before := s.span()
		if err := c.read(s, first, n); err != nil {
			return 0, err
		}
		c.probe(s)
		s.missed = s.span() > before/2
		switch {
		case !s.missed:
			s.overshoot = 0
		case final:
			s.overshoot++
		}
		if s.missed {
			s.misses++
		}
	}
	return s.low, nil
}

// narrow limits a search by the index, or by the first and the last record.
func (c *Cursor) narrow(s *search) error {
	t := c.table
	switch {
	case s.lowKey != nil && s.highKey != nil:
		return nil
	case t.index != nil:
		s.indexed = true
		return t.index.narrow(s)
	case s.span() <= c.blockRecords():
		return nil // one window contains all
	}

	e, err := t.bothEnds()
	if err != nil {
		return err
	}
	if s.high == t.records {
		if s.precedesKey(e.last) {
			s.low = s.high
			return nil
		}
		s.high--
		s.highKey = e.last
	}
	if s.low == 0 {
		if !s.precedesKey(e.first) {
			s.high = 0
			return nil
		}
		s.low = 1
		s.lowKey = e.first
	}
	return nil
}

// bothEnds returns the keys of the first and of the last record. REQUIRES: there is a record
func (t *Table) bothEnds() (*ends, error) {
	if e := t.ends.Load(); e != nil {
		return e, nil
	}
	rec := make([]byte, t.size)
	e := &ends{}
	if err := t.readRecords(rec, 0); err != nil {
		return nil, err
	}
	e.first = t.keyer.Append(nil, rec)
	if err := t.readRecords(rec, t.records-1); err != nil {
		return nil, err
	}
	e.last = t.keyer.Append(nil, rec)
	if err := t.compare(e.first, e.last, 0, t.records-1); err != nil {
		return nil, err
	}
	t.ends.Store(e)
	return e, nil
}

func (c *Cursor) pageRecords() int64  { return int64(max(pageBytes/c.table.size, 1)) }
func (c *Cursor) blockRecords() int64 { return int64(max(blockBytes/c.table.size, 1)) }

// guess returns the window to read next. final is set if it is expected to contain the boundary.
func (c *Cursor) guess(s *search) (first, n int64, final bool) {
	span := s.span()
	page := c.pageRecords()
	block := c.blockRecords()
	known := s.lowKey != nil && s.highKey != nil
	switch {
	case span <= page:
		return s.low, span, true
	case span <= block && (!known || s.misses > 0 || s.indexed && !c.batch):
		return s.low, span, true
	case !known || s.misses > maxMisses:
		return s.low + (span-page)/2, page, false
	}

	distance := s.fraction(s.lowKey, s.highKey) * float64(span)
	near := min(distance, float64(span)-distance) // the distance from the nearer known record
	const deviations = 8                          // the standard deviation is at most √near
	n = max(int64(deviations*math.Sqrt(near)), page)
	final = n <= block
	if !final {
		n = page
	}
	if far := s.farther(near, n, final); far > near {
		if distance > near { // the nearer record is the upper one
			far = float64(span) - far
		}
		distance = far
	}
	n = min(n, span)
	first = s.low + int64(distance) - n/2
	return min(max(first, s.low), s.high-n), n, final
}

// farther returns the distance to use for the next window, which has n records. It is greater than
// near if the last window missed: if keys grow unevenly, interpolation can approach a boundary from
// one side only, in many small steps.
func (s *search) farther(near float64, n int64, final bool) float64 {
	const growth = 16
	switch {
	case s.overshoot > 0:
		near = (4*near + float64(n)) * math.Pow(growth, float64(s.overshoot-1))
	case s.missed && !final:
		near *= 2
	}
	return min(near, float64(s.span())/2)
}

// read reads a window and checks its order, also against the keys that the search knows.
func (c *Cursor) read(s *search, first, n int64) error {
	t := c.table
	w := &c.window
	size := int(n) * t.size
	if cap(w.buffer) < size {
		w.buffer = make([]byte, max(size, blockBytes))
	}
	w.recs = nil
	recs := w.buffer[:size]
	if err := t.readRecords(recs, first); err != nil {
		return err
	}

	w.low = t.keyer.Append(w.low[:0], recs)
	w.high = t.keyer.Append(w.high[:0], recs[len(recs)-t.size:])
	if err := t.compare(s.lowKey, w.low, s.low-1, first); err != nil {
		return err
	}
	if err := t.compare(w.high, s.highKey, first+n-1, s.high); err != nil {
		return err
	}
	if err := t.compare(w.low, w.high, first, first+n-1); err != nil {
		return err
	}
	if !c.batch {
		if _, err := t.checkAll(recs, first, nil); err != nil {
			return err
		}
	}
	w.first = first
	w.recs = recs
	return nil
}

// probe compares the records of the window with the boundary.
func (c *Cursor) probe(s *search) {
	t := c.table
	w := &c.window
	size := int64(t.size)
	windowEnd := w.first + int64(len(w.recs))/size
	first := max(s.low, w.first)
	end := min(s.high, windowEnd)
	if first >= end {
		if len(w.recs) > 0 && s.low == windowEnd {
			s.lowKey = append(c.lowKey[:0], w.high...)
			c.lowKey = s.lowKey
		}
		return
	}

	record := func(at int64) []byte { return w.recs[(at-w.first)*size:][:size] }
	precedes := func(at int64) (before bool) {
		before, c.scratch = s.precedes(t.keyer, record(at), c.scratch)
		return before
	}
	switch {
	case !precedes(first):
		s.high = first
		s.highKey = t.keyer.Append(c.highKey[:0], record(first))
		c.highKey = s.highKey
	case precedes(end - 1):
		s.low = end
		s.lowKey = t.keyer.Append(c.lowKey[:0], record(end-1))
		c.lowKey = s.lowKey
	default: // at least two records
		n := s.firstOf(int(end-first-2), func(i int) bool {
			return !precedes(first + 1 + int64(i))
		})
		s.low = first + 1 + int64(n)
		s.high = s.low
	}
}

// firstOf is sort.Search. If the boundary is the end of a range, which has few records as a rule,
// it looks at the first positions first.
func (b *boundary) firstOf(n int, is func(i int) bool) int {
	if !b.after {
		return sort.Search(n, is)
	}
	low := 0
	high := 1
	for high <= n && !is(high-1) {
		low = high
		high *= 2
	}
	return low + sort.Search(min(high-1, n)-low, func(i int) bool { return is(low + i) })
}

// KeyOf returns the normalized key of a record.
func (t *Table) KeyOf(rec []byte) []byte { return t.keyer.Append(nil, rec) }
