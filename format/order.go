package format

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"slices"
	"sync"
)

// Order describes the order of consecutive records. Indexes count from the start of the stream
// and are -1 if there is no such record.
type Order struct {
	First          int64 // index of the first record
	Records        int64
	FirstDisorder  int64 // the first record that is less than its predecessor
	FirstDuplicate int64 // the first record whose key equals that of its predecessor
	Duplicates     int64 // number of such records

	firstKey, lastKey   []byte // normalized
	disorder, duplicate neighbors
}

// neighbors holds the normalized keys of a record and of its predecessor.
type neighbors struct{ key, before []byte }

// neighborsAt returns the keys of record i and its predecessor, or none if i is negative.
func neighborsAt(k *Keyer, recs []byte, i int64) neighbors {
	if i < 0 {
		return neighbors{}
	}
	size := int64(k.layout.RecordSize)
	return neighbors{k.Append(nil, recs[i*size:]), k.Append(nil, recs[(i-1)*size:])}
}

// CheckBlock determines the order of recs. The first record has the index first in the stream.
func CheckBlock(k *Keyer, first int64, recs []byte) Order {
	size := k.layout.RecordSize
	o := Order{
		First:          first,
		Records:        int64(len(recs) / size),
		FirstDisorder:  -1,
		FirstDuplicate: -1,
	}
	if o.Records == 0 {
		return o
	}
	o.firstKey = k.Append(nil, recs[:size])
	o.lastKey = k.Append(nil, recs[len(recs)-size:])
	var block [blockKeys]uint64
	previous := k.Prefix(recs)

	for at := int64(1); at < o.Records; at += blockKeys {
		n := min(o.Records-at, blockKeys)
		part := recs[(at-1)*int64(size) : (at+n)*int64(size)] // including the record before it
		k.Prefixes(block[:n], part[size:])

		for i, prefix := range block[:n] {
			if prefix <= previous {
				c := cmp.Compare(previous, prefix)
				if c == 0 && k.keySize > 8 {
					c = k.Compare(part[i*size:], part[(i+1)*size:])
				}
				o.noteComparison(first+at+int64(i), c)
			}
			previous = prefix
		}
	}

	o.disorder = neighborsAt(k, recs, o.FirstDisorder-first)
	o.duplicate = neighborsAt(k, recs, o.FirstDuplicate-first)
	return o
}

// noteComparison records the result c of comparing a record's predecessor with it.
func (o *Order) noteComparison(index int64, c int) {
	switch {
	case c > 0 && o.FirstDisorder < 0:
		o.FirstDisorder = index
	case c == 0:
		o.Duplicates++
		if o.FirstDuplicate < 0 {
			o.FirstDuplicate = index
		}
	}
}

// FirstFault returns the index of the first record that is out of order, or -1. If records must
// be unique, a record that equals its predecessor is out of order as well.
func (o Order) FirstFault(unique bool) int64 {
	if !unique {
		return o.FirstDisorder
	}
	// as a uint64, -1 is the greatest
	return int64(min(uint64(o.FirstDisorder), uint64(o.FirstDuplicate)))
}

// FaultKeys returns the normalized keys of the FirstFault and of its predecessor.
func (o Order) FaultKeys(unique bool) (key, before []byte) {
	if o.FirstFault(unique) == o.FirstDisorder {
		return o.disorder.key, o.disorder.before
	}
	return o.duplicate.key, o.duplicate.before
}

// Ends returns the normalized keys of the first and of the last record.
func (o Order) Ends() (first, last []byte) {
	return o.firstKey, o.lastKey
}

// Join returns the order of a followed by b. REQUIRES: b follows a
func (a Order) Join(b Order) Order {
	if a.Records == 0 {
		return b
	}
	if b.Records == 0 {
		return a
	}
	between := Order{FirstDisorder: -1, FirstDuplicate: -1}
	between.noteComparison(b.First, bytes.Compare(a.lastKey, b.firstKey))
	between.disorder = neighbors{b.firstKey, a.lastKey}
	between.duplicate = between.disorder
	joined := a
	joined.Records += b.Records
	joined.lastKey = b.lastKey

	for _, next := range []*Order{&between, &b} {
		joined.Duplicates += next.Duplicates
		if joined.FirstDisorder < 0 {
			joined.FirstDisorder = next.FirstDisorder
			joined.disorder = next.disorder
		}
		if joined.FirstDuplicate < 0 {
			joined.FirstDuplicate = next.FirstDuplicate
			joined.duplicate = next.duplicate
		}
	}

	return joined
}

// An OrderCheck joins the blocks of a stream, which arrive in any order. Its memory is
// proportional to the number of gaps. The zero OrderCheck is ready for use. It is safe for
// concurrent use.
type OrderCheck struct {
	mu    sync.Mutex
	parts []Order // in ascending order, with gaps between them
}

// Add adds the result of CheckBlock for a block.
func (c *OrderCheck) Add(o Order) {
	if o.Records == 0 {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()

	byFirst := func(part Order, first int64) int {
		return cmp.Compare(part.First, first)
	}
	at, _ := slices.BinarySearchFunc(c.parts, o.First, byFirst)

	if at < len(c.parts) && o.end() == c.parts[at].First {
		o = o.Join(c.parts[at])
		c.parts = slices.Delete(c.parts, at, at+1)
	}

	if at > 0 && c.parts[at-1].end() == o.First {
		c.parts[at-1] = c.parts[at-1].Join(o)
		return
	}

	c.parts = slices.Insert(c.parts, at, o)
}

func (a Order) end() int64 { return a.First + a.Records }

// Result returns the order of the whole stream, or an error if blocks are missing.
func (c *OrderCheck) Result() (Order, error) {
	c.mu.Lock()
	defer c.mu.Unlock()

	switch {
	case len(c.parts) == 0:
		return Order{FirstDisorder: -1, FirstDuplicate: -1}, nil
	case c.parts[0].First > 0:
		return Order{}, errors.New(
			"check order: records are missing after record 0",
		)
	case len(c.parts) > 1:
		return Order{}, fmt.Errorf(
			"check order: records are missing after record %d", c.parts[0].Records,
		)
	}

	return c.parts[0], nil
}
