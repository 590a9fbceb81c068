package lookup

import (
	"context"
	"fmt"
	"iter"
	"sync"
	"sync/atomic"

	"github.com/extsort/extsort/format"
)

// A Source contains sorted records. Several goroutines may read it at once. *input.Files is a
// Source.
type Source interface {
	Records() int64
	// ReadRecords fills p with consecutive records, starting with the record at index first.
	ReadRecords(p []byte, first int64) error
}

// A Table finds records in a source. It is safe for concurrent use.
type Table struct {
	name    string // name of the file, for messages
	source  Source
	records int64
	keyer   *format.Keyer
	size    int    // record size in bytes
	index   *Index // nil if there is none

	ends    atomic.Pointer[ends]
	cursors sync.Pool // of *Cursor

	counted struct{ reads, bytes atomic.Int64 } // the reads of look-ups
}

// ends contains the normalized keys of the first and of the last record.
type ends struct{ first, last []byte }

// NewTable returns a table of the records of a source. index may be nil.
func NewTable(name string, source Source, keyer *format.Keyer, index *Index) *Table {
	return &Table{
		name:    name,
		source:  source,
		records: source.Records(),
		keyer:   keyer,
		size:    keyer.Layout().RecordSize,
		index:   index,
	}
}

// Reads returns the number and the total size of the reads that look-ups made.
func (t *Table) Reads() (reads, bytes int64) { return t.counted.reads.Load(), t.counted.bytes.Load() }

// readRecords fills p with the records at first, for a look-up.
func (t *Table) readRecords(p []byte, first int64) error {
	t.counted.reads.Add(1)
	t.counted.bytes.Add(int64(len(p)))
	return t.source.ReadRecords(p, first)
}

// Records returns the number of records.
func (t *Table) Records() int64 { return t.records }

// Keyer returns the keyer of the records.
func (t *Table) Keyer() *format.Keyer { return t.keyer }

// A Range contains the consecutive records from First (inclusive) to End (exclusive).
type Range struct{ First, End int64 }

// Len returns the number of records.
func (r Range) Len() int64 { return r.End - r.First }

// Find returns the records whose normalized keys begin with key. If there are none, the range is
// empty, and First is the position where they would be.
func (t *Table) Find(key []byte) (Range, error) {
	c := t.cursor()
	defer t.cursors.Put(c)
	return c.find(key, 0)
}

// Between returns the records whose keys k satisfy from <= k < to. If from is nil, they start with
// the first record of the table. If to is nil, they end with the last one.
func (t *Table) Between(from, to []byte) (Range, error) {
	c := t.cursor()
	defer t.cursors.Put(c)
	r := Range{End: t.records}
	var err error
	if from != nil {
		r.First, err = c.search(newBoundary(t.keyer, from, false), 0)
	}
	if to != nil && err == nil {
		r.End, err = c.search(newBoundary(t.keyer, to, false), 0)
	}
	r.End = max(r.First, r.End)
	return r, err
}

// cursor returns a cursor for one look-up.
func (t *Table) cursor() *Cursor {
	if c, ok := t.cursors.Get().(*Cursor); ok {
		return c
	}
	return t.NewCursor(false)
}

// All iterates over the records of a range, in blocks of whole records. It checks their order.
// A block is valid until the next iteration.
func (t *Table) All(ctx context.Context, r Range) iter.Seq2[[]byte, error] {
	return func(yield func([]byte, error) bool) {
		const bufferBytes = 256 << 10
		perBlock := int64(max(bufferBytes/t.size, 1))
		buffer := make([]byte, min(perBlock, r.Len())*int64(t.size))
		var last []byte // the key of the previous record
		for at := r.First; at < r.End; {
			if ctx.Err() != nil {
				yield(nil, context.Cause(ctx))
				return
			}
			n := min(perBlock, r.End-at)
			recs := buffer[:n*int64(t.size)]
			err := t.source.ReadRecords(recs, at)
			if err == nil {
				last, err = t.checkAll(recs, at, last)
			}
			if err != nil {
				yield(nil, err)
				return
			}
			if !yield(recs, nil) {
				return
			}
			at += n
		}
	}
}

// Read fills p with consecutive records, starting with the record at index first. It checks their
// order.
func (t *Table) Read(p []byte, first int64) error {
	if err := t.source.ReadRecords(p, first); err != nil {
		return err
	}
	_, err := t.checkAll(p, first, nil)
	return err
}

// checkAll checks the order of records. before is the key of the record before them, or nil if
// there is none. It returns the key of the last record.
func (t *Table) checkAll(recs []byte, first int64, before []byte) (last []byte, err error) {
	order := format.CheckBlock(t.keyer, first, recs)
	from, last := order.Ends()
	if err := t.compare(before, from, first-1, first); err != nil {
		return nil, err
	}
	if at := order.FirstFault(false); at >= 0 {
		key, previous := order.FaultKeys(false)
		return nil, t.disorder(previous, key, at-1, at)
	}
	return last, nil
}

// compare returns an error if record a, which is before record b, has a greater key. A nil key is
// unknown, and is not compared.
func (t *Table) compare(keyA, keyB []byte, a, b int64) error {
	if keyA == nil || keyB == nil || string(keyA) <= string(keyB) {
		return nil
	}
	return t.disorder(keyA, keyB, a, b)
}

// A DisorderError reports that a file is not sorted: the record at index Record follows the record
// at index After, but has a smaller key.
type DisorderError struct {
	File          string
	Record, After int64 // from 0
	Key, AfterKey string
}

func (e *DisorderError) Error() string {
	return fmt.Sprintf("%s is not sorted: record %d (%s) must not come after record %d (%s) in this order",
		e.File, e.Record+1, e.Key, e.After+1, e.AfterKey)
}

func (t *Table) disorder(keyA, keyB []byte, a, b int64) error {
	textB, textA, _ := t.keyer.Layout().KeyTexts(keyB, keyA)
	return &DisorderError{
		File:     t.name,
		Record:   b,
		After:    a,
		Key:      textB,
		AfterKey: textA,
	}
}
