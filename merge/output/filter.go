package output

import (
	"context"
	"slices"
	"sync"

	"github.com/extsort/extsort/device"
)

// Clip forwards the records with indexes from (inclusive) to to (exclusive) and drops the others:
// records that next already has, and records beyond a limit. A merge or a device that applies a
// limit itself is more efficient, so Clip is meant for the output of Groups.
func Clip(from, to int64, next device.BlockWriter, recordSize int) device.BlockWriter {
	return device.BlockWriterFunc(func(ctx context.Context, first int64, recs []byte) error {
		end := min(first+int64(len(recs)/recordSize), to)
		begin := max(first, from)
		if begin >= end {
			return nil
		}
		return next.WriteBlock(
			ctx, begin, recs[(begin-first)*int64(recordSize):(end-first)*int64(recordSize)],
		)
	})
}

// Offset appends a stream to the records that next already has: record 0 becomes record base. In
// this way consecutive sorted parts become one output.
func Offset(base int64, next device.BlockWriter) device.BlockWriter {
	return device.BlockWriterFunc(func(ctx context.Context, first int64, recs []byte) error {
		return next.WriteBlock(ctx, base+first, recs)
	})
}

// Observe calls see with every block before it forwards the block: for progress, checksums and
// checks of the order. It calls see concurrently, with blocks in any order. An error from see
// ends the writing.
func Observe(see func(first int64, recs []byte) error, next device.BlockWriter) device.BlockWriter {
	return device.BlockWriterFunc(func(ctx context.Context, first int64, recs []byte) error {
		if err := see(first, recs); err != nil {
			return err
		}
		return next.WriteBlock(ctx, first, recs)
	})
}

// Excerpt forwards the bytes from (inclusive) to to (exclusive) of each record as shorter
// records.
func Excerpt(from, to, recordSize int, next device.BlockWriter) device.BlockWriter {
	return device.BlockWriterFunc(func(ctx context.Context, first int64, recs []byte) error {
		buf := scratches.Get().(*scratch)
		defer scratches.Put(buf)
		size := to - from
		buf.recs = slices.Grow(buf.recs[:0], len(recs)/recordSize*size)[:len(recs)/recordSize*size]
		out := buf.recs
		for at := from; at < len(recs); at += recordSize {
			copy(out[:size], recs[at:])
			out = out[size:]
		}
		return next.WriteBlock(ctx, first, buf.recs)
	})
}

// scratch is the memory of one call of WriteBlock.
type scratch struct {
	recs []byte
	keys [512]uint64
}

var scratches = sync.Pool{New: func() any { return new(scratch) }}
