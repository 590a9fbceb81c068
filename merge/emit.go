package merge

import (
	"context"

	"github.com/extsort/extsort/device"
)

// emitter collects records into blocks and writes them.
type emitter struct {
	w     device.BlockWriter
	size  int    // record size
	first int64  // index of the first record in buf
	left  int64  // records that may follow what is in buf
	buf   []byte // its capacity is the size of a block
}

// room makes place for up to n more records, at least one if any may come, and returns it.
func (e *emitter) room(ctx context.Context, n int) ([]byte, error) {
	if len(e.buf) == cap(e.buf) {
		if err := e.flush(ctx); err != nil {
			return nil, err
		}
	}
	n = int(min(int64(n), e.left, int64((cap(e.buf)-len(e.buf))/e.size)))
	at := len(e.buf)
	e.buf = e.buf[:at+n*e.size]
	e.left -= int64(n)
	return e.buf[at:], nil
}

// copy appends records. What fills a block is written from where it lies.
func (e *emitter) copy(ctx context.Context, recs []byte) error {
	recs = recs[:min(int64(len(recs)), e.left*int64(e.size))]
	for len(recs) > 0 {
		if len(e.buf) == 0 && len(recs) >= cap(e.buf) {
			if err := e.write(ctx, recs[:cap(e.buf)]); err != nil {
				return err
			}
			recs = recs[cap(e.buf):]
			e.left -= int64(cap(e.buf) / e.size)
			continue
		}
		dst, err := e.room(ctx, len(recs)/e.size)
		if err != nil {
			return err
		}
		recs = recs[copy(dst, recs):]
	}
	return nil
}

func (e *emitter) flush(ctx context.Context) error {
	if len(e.buf) == 0 {
		return nil
	}
	err := e.write(ctx, e.buf)
	e.buf = e.buf[:0]
	return err
}

func (e *emitter) write(ctx context.Context, recs []byte) error {
	err := e.w.WriteBlock(ctx, e.first, recs)
	e.first += int64(len(recs) / e.size)
	return err
}
