package output

import (
	"context"

	"github.com/extsort/extsort/device"
)

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
