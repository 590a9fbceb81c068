package format

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"slices"
	"sync"
)

// Order is what is known about the order of consecutive records. Indexes are those of the stream, -1 where there is
// no such record.
type Order struct {
	First          int64 // index of the first record
	Records        int64
	FirstDisorder  int64 // the first record that is less than the one before it
	FirstDuplicate int64 // the first record whose key equals that of the one before it
	Duplicates     int64 // how many such records there are

	firstKey, lastKey   []byte // normalized
	disorder, duplicate neighbours
}

// neighbours are the normalized keys of a record and of the one before it.
type neighbours struct{ key, before []byte }

// neighboursAt is of the record with index i; no keys if that is negative.
func neighboursAt(k *Keyer, recs []byte, i int64) neighbours {
	if i < 0 {
		return neighbours{}
	}
	size := int64(k.layout.RecordSize)
	return neighbours{k.Append(nil, recs[i*size:]), k.Append(nil, recs[(i-1)*size:])}
}

// CheckBlock looks at the order of recs, of which the first has the index first in its stream.
func CheckBlock(k *Keyer, first int64, recs []byte) Order {
	size := k.layout.RecordSize
	o := Order{First: first, Records: int64(len(recs) / size), FirstDisorder: -1, FirstDuplicate: -1}
	if o.Records == 0 {
		return o
	}
	o.firstKey = k.Append(nil, recs[:size])
	o.lastKey = k.Append(nil, recs[len(recs)-size:])
	var block [blockKeys]uint64
	previous := k.Prefix(recs)
	for at := int64(1); at < o.Records; at += blockKeys {
		n := min(o.Records-at, blockKeys)
		part := recs[(at-1)*int64(size) : (at+n)*int64(size)] // with the record before it
		k.Prefixes(block[:n], part[size:])
		for i, prefix := range block[:n] {
			if prefix <= previous {
				c := cmp.Compare(previous, prefix)
				if c == 0 && k.keySize > 8 {
					c = k.Compare(part[i*size:], part[(i+1)*size:])
				}
				o.note(first+at+int64(i), c)
			}
			previous = prefix
		}
	}
	o.disorder = neighboursAt(k, recs, o.FirstDisorder-first)
	o.duplicate = neighboursAt(k, recs, o.FirstDuplicate-first)
	return o
}

// note keeps that the record before one compares to it as c.
func (o *Order) note(index int64, c int) {
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

// FirstFault is the first record that is out of order, or -1. If records are to be unique, one that equals its
// predecessor is out of order too.
func (o Order) FirstFault(unique bool) int64 {
	if !unique {
		return o.FirstDisorder
	}
	return int64(min(uint64(o.FirstDisorder), uint64(o.FirstDuplicate))) // -1 is the greatest
}

// FaultKeys are the normalized keys of the FirstFault and of the record before it.
func (o Order) FaultKeys(unique bool) (key, before []byte) {
	if o.FirstFault(unique) == o.FirstDisorder {
		return o.disorder.key, o.disorder.before
	}
	return o.duplicate.key, o.duplicate.before
}

// Ends are the normalized keys of the first and of the last record.
func (o Order) Ends() (first, last []byte) { return o.firstKey, o.lastKey }

// Join is the order of a followed by b. REQUIRES: b follows a.
func (a Order) Join(b Order) Order {
	if a.Records == 0 {
		return b
	}
	if b.Records == 0 {
		return a
	}
	between := Order{FirstDisorder: -1, FirstDuplicate: -1}
	between.note(b.First, bytes.Compare(a.lastKey, b.firstKey))
	between.disorder = neighbours{b.firstKey, a.lastKey}
	between.duplicate = between.disorder
	joined := a
	joined.Records += b.Records
	joined.lastKey = b.lastKey
	for _, next := range []*Order{&between, &b} {
		joined.Duplicates += next.Duplicates
		if joined.FirstDisorder < 0 {
			joined.FirstDisorder, joined.disorder = next.FirstDisorder, next.disorder
		}
		if joined.FirstDuplicate < 0 {
			joined.FirstDuplicate, joined.duplicate = next.FirstDuplicate, next.duplicate
		}
	}
	return joined
}

// OrderCheck joins the blocks of a stream that come in any order. Its memory grows only with the number of
// gaps. The zero OrderCheck is ready for use, by several goroutines.
type OrderCheck struct {
	mu    sync.Mutex
	parts []Order // rising, with gaps between them
}

// Add adds a block that CheckBlock has looked at.
func (c *OrderCheck) Add(o Order) {
	if o.Records == 0 {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	byFirst := func(part Order, first int64) int { return cmp.Compare(part.First, first) }
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

// Result is the order of the whole stream, which is an error if blocks of it are missing.
func (c *OrderCheck) Result() (Order, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case len(c.parts) == 0:
		return Order{FirstDisorder: -1, FirstDuplicate: -1}, nil
	case c.parts[0].First > 0:
		return Order{}, errors.New("check order: records are missing after record 0")
	case len(c.parts) > 1:
		return Order{}, fmt.Errorf("check order: records are missing after record %d", c.parts[0].Records)
	}
	return c.parts[0], nil
}
