package output

import (
	"context"
	"encoding/binary"

	"github.com/extsort/extsort/device"
	"github.com/extsort/extsort/format"
)

// CountBytes is the size of the count behind a record: a little-endian u64.
const CountBytes = 8

// GroupForm says what Groups writes of the records with equal keys. The zero value is the first of them.
type GroupForm struct {
	Last     bool // the last record, not the first
	Count    bool // behind it, how many there are
	Repeated bool // nothing where there is but one
}

// Groups is a BlockWriter that writes one record for all that have equal keys, under new indexes without gaps. Blocks
// are reduced side by side; only their ends are joined in order. The first of equal records goes on with its block.
// Which is the last of them, and how many there are, may only be known with the next block, or when Flush is called.
// Every call in progress holds a buffer of the size of what it writes.
type Groups struct {
	keyer *format.Keyer
	form  GroupForm
	next  device.BlockWriter

	turns turns // whose turn it is may touch what follows
	kept  int64
	open  equals // what the next block may continue
}

// equals is what is to be known of records with equal keys.
type equals struct {
	rec   []byte // the one that is written
	count uint64 // 0: there are none, or that one has been written
}

// NewGroups makes a Groups that writes to next.
func NewGroups(k *format.Keyer, form GroupForm, next device.BlockWriter) *Groups {
	return &Groups{keyer: k, form: form, next: next}
}

// recordSize is that of what is written.
func (g *Groups) recordSize() int {
	if g.form.Count {
		return g.keyer.Layout().RecordSize + CountBytes
	}
	return g.keyer.Layout().RecordSize
}

// WriteBlock writes what is known to be complete.
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
	if err := g.turns.wait(ctx, first); err != nil {
		return err
	}
	at, out := g.kept, buf.recs
	if unique {
		out = g.dropKnown(out)
	} else {
		out = g.join(out, head, tail)
	}
	g.kept += int64(len(out) / g.recordSize())
	g.turns.pass(first+int64(len(recs)/g.keyer.Layout().RecordSize), nil)
	if len(out) == 0 {
		return nil
	}
	return g.next.WriteBlock(ctx, at, out)
}

// Flush writes the last group. REQUIRES: all blocks have been written.
func (g *Groups) Flush(ctx context.Context) error {
	out := g.put(nil, g.open)
	g.open.count = 0
	if len(out) == 0 {
		return nil
	}
	return g.next.WriteBlock(ctx, g.kept, out)
}

// compact copies to buf the records of recs that differ in key from the one before, the first one included.
func (g *Groups) compact(buf *scratch, recs []byte) {
	size, wide := g.keyer.Layout().RecordSize, g.keyer.KeySize() > 8
	buf.recs = buf.recs[:0]
	from := 0 // where the records that stay and have not been copied begin
	drop := func(at, end int) {
		buf.recs = append(buf.recs, recs[from:at]...)
		from = end
	}
	var before uint64
	for base, end := 0, 0; base < len(recs); base = end {
		end = min(base+len(buf.keys)*size, len(recs))
		if base > 0 && g.keyer.Compare(recs[base-size:base], recs[end-size:end]) == 0 { // then so are all between them
			drop(base, end)
			continue
		}
		keys := buf.keys[:(end-base)/size]
		g.keyer.Prefixes(keys, recs[base:end])
		for i, key := range keys {
			at := base + i*size
			if key == before && at > 0 && (!wide || g.keyer.Compare(recs[at-size:at], recs[at:at+size]) == 0) {
				drop(at, at+size)
			}
			before = key
		}
	}
	drop(len(recs), len(recs))
}

// dropKnown drops the first record of a block if what came before ends with its key.
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

// reduce puts into buf, behind room for two records, what is written of all groups but the first and the last, and
// gives those; tail has none where there is one group.
func (g *Groups) reduce(buf *scratch, recs []byte) (head, tail equals) {
	size, wide := g.keyer.Layout().RecordSize, g.keyer.KeySize() > 8
	buf.recs = append(buf.recs[:0], make([]byte, 2*g.recordSize())...)
	from := 0
	end := func(at int) {
		buf.recs = g.put(buf.recs, tail)
		if tail = g.equals(recs[from:at]); from == 0 {
			head, tail = tail, equals{}
		}
		from = at
	}
	var before uint64
	for base := 0; base < len(recs); base += len(buf.keys) * size {
		block := recs[base:min(base+len(buf.keys)*size, len(recs))]
		keys := buf.keys[:len(block)/size]
		g.keyer.Prefixes(keys, block)
		for i, key := range keys {
			at := base + i*size
			if at > 0 && (key != before || wide && g.keyer.Compare(recs[at-size:at], recs[at:at+size]) != 0) {
				end(at)
			}
			before = key
		}
	}
	end(len(recs))
	return head, tail
}

// equals is a group that is these records.
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

// join joins a block to what came before, and gives all that is complete then.
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
