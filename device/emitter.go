package device

import "context"

// An Emitter collects records into blocks and writes them.
type Emitter struct {
	To    BlockWriter
	Size  int    // bytes of a record
	First int64  // index of the first record in Buf
	Left  int64  // maximum number of records after those in Buf
	Buf   []byte // its capacity is the size of a block
}

// Room returns space for up to n more records: at least one, unless Left is 0.
func (e *Emitter) Room(ctx context.Context, n int) ([]byte, error) {
	if len(e.Buf) == cap(e.Buf) {
		if err := e.Flush(ctx); err != nil {
			return nil, err
		}
	}
	n = int(min(int64(n), e.Left, int64((cap(e.Buf)-len(e.Buf))/e.Size)))
	at := len(e.Buf)
	e.Buf = e.Buf[:at+n*e.Size]
	e.Left -= int64(n)
	return e.Buf[at:], nil
}

// Add appends records. It writes complete blocks directly from recs.
func (e *Emitter) Add(ctx context.Context, recs []byte) error {
	recs = recs[:min(int64(len(recs)), e.Left*int64(e.Size))]
	for len(recs) > 0 {
		if len(e.Buf) == 0 && len(recs) >= cap(e.Buf) {
			if err := e.write(ctx, recs[:cap(e.Buf)]); err != nil {
				return err
			}
			recs = recs[cap(e.Buf):]
			e.Left -= int64(cap(e.Buf) / e.Size)
			continue
		}
		dst, err := e.Room(ctx, len(recs)/e.Size)
		if err != nil {
			return err
		}
		recs = recs[copy(dst, recs):]
	}
	return nil
}

// Flush writes the records in Buf.
func (e *Emitter) Flush(ctx context.Context) error {
	if len(e.Buf) == 0 {
		return nil
	}
	err := e.write(ctx, e.Buf)
	e.Buf = e.Buf[:0]
	return err
}

func (e *Emitter) write(ctx context.Context, recs []byte) error {
	err := e.To.WriteBlock(ctx, e.First, recs)
	e.First += int64(len(recs) / e.Size)
	return err
}
