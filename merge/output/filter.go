package output

import (
	"context"
	"sync"

	"github.com/extsort/extsort/device"
	"github.com/extsort/extsort/format"
)

// Window passes on the records from from to to and drops the others: those that next has already, and those beyond a
// limit. A merge or a device that knows its limit does better; Window is for what comes after Unique.
func Window(from, to int64, next device.BlockWriter, recordSize int) device.BlockWriter {
	return device.BlockWriterFunc(func(ctx context.Context, first int64, recs []byte) error {
		end := min(first+int64(len(recs)/recordSize), to)
		begin := max(first, from)
		if begin >= end {
			return nil
		}
		return next.WriteBlock(ctx, begin, recs[(begin-first)*int64(recordSize):(end-first)*int64(recordSize)])
	})
}

// Offset appends a stream to what next has already: record 0 becomes record base. So parts that follow each
// other without overlap, each sorted by itself, become one output.
func Offset(base int64, next device.BlockWriter) device.BlockWriter {
	return device.BlockWriterFunc(func(ctx context.Context, first int64, recs []byte) error {
		return next.WriteBlock(ctx, base+first, recs)
	})
}

// Observe calls see with every block before it is passed on: for progress, checksums and checks of the order.
// see is called from several goroutines at once, in any order of blocks; an error from it ends the writing.
func Observe(see func(first int64, recs []byte) error, next device.BlockWriter) device.BlockWriter {
	return device.BlockWriterFunc(func(ctx context.Context, first int64, recs []byte) error {
		if err := see(first, recs); err != nil {
			return err
		}
		return next.WriteBlock(ctx, first, recs)
	})
}

// Excerpt passes on the bytes from from to to of each record, which are records of their own.
func Excerpt(from, to, recordSize int, next device.BlockWriter) device.BlockWriter {
	return device.BlockWriterFunc(func(ctx context.Context, first int64, recs []byte) error {
		buf := scratches.Get().(*scratch)
		defer scratches.Put(buf)
		buf.recs = buf.recs[:0]
		for at := 0; at < len(recs); at += recordSize {
			buf.recs = append(buf.recs, recs[at+from:at+to]...)
		}
		return next.WriteBlock(ctx, first, buf.recs)
	})
}

// Unique is a BlockWriter that passes on the first of the records with equal keys, under new indexes without
// gaps. Blocks are compacted side by side; only the number of records that stay is passed from each block to the
// next in order. Every call in progress holds a buffer of the size of its block.
type Unique struct {
	keyer *format.Keyer
	next  device.BlockWriter

	turns turns // whose turn it is may touch what follows
	kept  int64
	last  []byte // the last record passed on
}

// NewUnique makes a Unique that writes to next.
func NewUnique(k *format.Keyer, next device.BlockWriter) *Unique {
	return &Unique{keyer: k, next: next}
}

// scratch is the memory of one call of WriteBlock.
type scratch struct {
	recs []byte
	keys [512]uint64
}

var scratches = sync.Pool{New: func() any { return new(scratch) }}

// WriteBlock drops the records of recs whose key is that of the record before them and passes on the others.
func (u *Unique) WriteBlock(ctx context.Context, first int64, recs []byte) error {
	buf := scratches.Get().(*scratch)
	defer scratches.Put(buf)
	u.compact(buf, recs)
	at, out, err := u.place(ctx, first, recs, buf.recs)
	if err != nil || len(out) == 0 {
		return err
	}
	return u.next.WriteBlock(ctx, at, out)
}

// compact copies to buf the records of recs that differ in key from the one before, the first one included.
func (u *Unique) compact(buf *scratch, recs []byte) {
	size, wide := u.keyer.Layout().RecordSize, u.keyer.KeySize() > 8
	buf.recs = buf.recs[:0]
	from := 0 // where the records that stay and have not been copied begin
	drop := func(at, end int) {
		buf.recs = append(buf.recs, recs[from:at]...)
		from = end
	}
	var before uint64
	for base, end := 0, 0; base < len(recs); base = end {
		end = min(base+len(buf.keys)*size, len(recs))
		if base > 0 && u.keyer.Compare(recs[base-size:base], recs[end-size:end]) == 0 { // then so are all between them
			drop(base, end)
			continue
		}
		keys := buf.keys[:(end-base)/size]
		u.keyer.Prefixes(keys, recs[base:end])
		for i, key := range keys {
			at := base + i*size
			if key == before && at > 0 && (!wide || u.keyer.Compare(recs[at-size:at], recs[at:at+size]) == 0) {
				drop(at, at+size)
			}
			before = key
		}
	}
	drop(len(recs), len(recs))
}

// place waits until the blocks before this one are counted, drops its first record if they end with that key,
// and says where the rest belongs.
func (u *Unique) place(ctx context.Context, first int64, recs, out []byte) (at int64, rest []byte, err error) {
	size := u.keyer.Layout().RecordSize
	if err := u.turns.wait(ctx, first); err != nil {
		return 0, nil, err
	}
	if u.last != nil && u.keyer.Compare(u.last, out[:size]) == 0 {
		out = out[size:]
	}
	at = u.kept
	u.kept += int64(len(out) / size)
	if len(out) > 0 {
		u.last = append(u.last[:0], out[len(out)-size:]...)
	}
	u.turns.pass(first+int64(len(recs)/size), nil)
	return at, out, nil
}
