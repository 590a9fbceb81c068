package output

import (
	"context"
	"encoding/binary"
	"slices"

	"github.com/extsort/extsort/device"
	"github.com/extsort/extsort/format"
	"github.com/extsort/extsort/internal/turns"
)

// CountBytes is the size of the count that follows a record: a little-endian u64.
const CountBytes = 8

// GroupForm describes what Groups writes for records with equal keys. The zero value writes the
// first record of each group.
type GroupForm struct {
	Last     bool // write the last record of a group instead of the first
	Count    bool // append the number of records in the group
	Repeated bool // skip groups of a single record
}

// Groups is a BlockWriter that writes one record per group of records with equal keys. It gives
// the written records new consecutive indexes. Blocks are reduced concurrently, and only their
// ends are joined in order. With the zero GroupForm, the first record of a group is written with
// its block. With other forms, the last record and the count of a group may be known only with
// the next block, or when Flush is called. Every call in progress holds a buffer of the size of
// its output.
type Groups struct {
	keyer *format.Keyer
	form  GroupForm
	next  device.BlockWriter

	turns turns.Queue // the call whose turn it is may access the fields below
	kept  int64
	open  equals // the last group so far, which the next block may continue
}

// equals summarizes a group of records with equal keys.
type equals struct {
	rec   []byte // the record that is written
	count uint64 // 0 if there is no group, or if it has been written
}

// NewGroups returns a Groups that writes to next.
func NewGroups(k *format.Keyer, form GroupForm, next device.BlockWriter) *Groups {
	return &Groups{keyer: k, form: form, next: next}
}

// recordSize returns the size of the written records in bytes.
func (g *Groups) recordSize() int {
	if g.form.Count {
		return g.keyer.Layout().RecordSize + CountBytes
	}
	return g.keyer.Layout().RecordSize
}

// WriteBlock writes the groups that are known to be complete.
func (g *Groups) WriteBlock(ctx context.Context, first int64, recs []byte) error {
	buf := scratches.Get().(*scratch)
	defer scratches.Put(buf)

	var head, tail equals
	unique := g.form == GroupForm{}

	if unique {
		g.compact(buf, recs)
	} else {
		head, tail = g.reduce(buf, recs)
	}

	if err := g.turns.Wait(ctx, first); err != nil {
		return err
	}
	at, out := g.kept, buf.recs
	if unique {
		out = g.dropKnown(out)
	} else {
		out = g.join(out, head, tail)
	}

	g.kept += int64(len(out) / g.recordSize())
	g.turns.Pass(first+int64(len(recs)/g.keyer.Layout().RecordSize), nil)
	if len(out) == 0 {
		return nil
	}
	return g.next.WriteBlock(ctx, at, out)
}

// Flush writes the last group. REQUIRES: all blocks have been written
func (g *Groups) Flush(ctx context.Context) error {
	out := g.put(nil, g.open)
	g.open.count = 0
	if len(out) == 0 {
		return nil
	}
	return g.next.WriteBlock(ctx, g.kept, out)
}

// compact copies to buf the first record of every group of recs.
func (g *Groups) compact(buf *scratch, recs []byte) {
	size := g.keyer.Layout().RecordSize
	wide := g.keyer.KeySize() > 8
	buf.recs = slices.Grow(buf.recs[:0], len(recs))
	from := 0 // start of the records that are kept and not yet copied
	drop := func(at, end int) {
		buf.recs = append(buf.recs, recs[from:at]...)
		from = end
	}
	var before uint64
	for base, end := 0, 0; base < len(recs); base = end {
		end = min(base+len(buf.keys)*size, len(recs))
		// all records between these two have the same key
		if base > 0 && g.keyer.Compare(recs[base-size:base], recs[end-size:end]) == 0 {
			drop(base, end)
			continue
		}

		keys := buf.keys[:(end-base)/size]
		g.keyer.Prefixes(keys, recs[base:end])
		for i, key := range keys {
			at := base + i*size
			if key == before && at > 0 &&
				(!wide || g.keyer.Compare(recs[at-size:at], recs[at:at+size]) == 0) {
				drop(at, at+size)
			}
			before = key
		}
	}

	drop(len(recs), len(recs))
}

// dropKnown drops the first record of a block if it belongs to the last group of the previous
// block.
func (g *Groups) dropKnown(recs []byte) []byte {
	size := g.keyer.Layout().RecordSize
	if g.open.rec != nil && g.keyer.Compare(g.open.rec, recs[:size]) == 0 {
		recs = recs[size:]
	}
	if len(recs) > 0 {
		g.open.rec = append(g.open.rec[:0], recs[len(recs)-size:]...)
	}
	return recs
}

// reduce summarizes the groups of recs. It returns the first and the last group; tail is empty if
// there is only one group. It appends all other groups to buf in their written form, after free
// space for two records.
func (g *Groups) reduce(buf *scratch, recs []byte) (head, tail equals) {
	groups := len(recs)/g.keyer.Layout().RecordSize + 2
	buf.recs = slices.Grow(buf.recs[:0], groups*g.recordSize())[:2*g.recordSize()]
	eachGroup(g.keyer, buf.keys[:], recs, func(from, to int) {
		buf.recs = g.put(buf.recs, tail)
		tail = g.equals(recs[from:to])
		if from == 0 {
			head = tail
			tail = equals{}
		}
	})
	return head, tail
}

// equals summarizes the group that consists of recs.
func (g *Groups) equals(recs []byte) equals {
	size := g.keyer.Layout().RecordSize
	e := equals{recs[:size], uint64(len(recs) / size)}
	if g.form.Last {
		e.rec = recs[len(recs)-size:]
	}
	return e
}

func (g *Groups) put(dst []byte, e equals) []byte {
	if e.count == 0 || g.form.Repeated && e.count == 1 {
		return dst
	}
	dst = append(dst, e.rec...)
	if g.form.Count {
		dst = binary.LittleEndian.AppendUint64(dst, e.count)
	}
	return dst
}

// join combines a block with the last group so far. It returns everything that is now complete.
func (g *Groups) join(reduced []byte, head, tail equals) []byte {
	var done []byte
	if g.open.count > 0 && g.keyer.Compare(g.open.rec, head.rec) == 0 {
		g.extend(head)
	} else {
		done = g.put(done, g.open)
		g.begin(head)
	}

	if tail.count > 0 {
		done = g.put(done, g.open)
		g.begin(tail)
	}

	out := reduced[2*g.recordSize()-len(done):]
	copy(out, done)
	return out
}

// begin makes e the group that the next block may continue.
func (g *Groups) begin(e equals) { g.open = equals{append(g.open.rec[:0], e.rec...), e.count} }

func (g *Groups) extend(e equals) {
	g.open.count += e.count
	if g.form.Last {
		g.open.rec = append(g.open.rec[:0], e.rec...)
	}
}

// eachGroup calls group with the bounds of each group of neighbors with equal keys, in bytes. keys
// is memory for key prefixes.
func eachGroup(k *format.Keyer, keys []uint64, recs []byte, group func(from, to int)) {
	size := k.Layout().RecordSize
	isWide := k.KeySize() > 8
	from := 0
	var before uint64
	for base := 0; base < len(recs); base += len(keys) * size {
		block := recs[base:min(base+len(keys)*size, len(recs))]
		prefixes := keys[:len(block)/size]
		k.Prefixes(prefixes, block)

		for i, key := range prefixes {
			at := base + i*size
			if at > 0 && (key != before || isWide && k.Compare(recs[at-size:at], recs[at:at+size]) != 0) {
				group(from, at)
				from = at
			}
			before = key
		}
	}
	group(from, len(recs))
}
