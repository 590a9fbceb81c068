package input

import (
	"context"
	"io"
	"sync/atomic"

	"github.com/extsort/extsort/device"
)

// section reads the records [first, first+records) of something that can be read at any place.
type section struct {
	first, records int64
	size           int // bytes of a record
	claimed        atomic.Int64
	readRecords    func(p []byte, first int64) error

	ahead   *ahead
	asked   atomic.Int64 // for records up to this one
	fetched *fetcher     // nil: the system reads ahead
}

func (s *section) Records() int64 { return s.records }

func (s *section) Next(max int, place func(first int64, n int) []byte) (int64, int, error) {
	at := s.claimed.Add(int64(max)) - int64(max)
	n := int(min(int64(max), s.records-at))
	if n <= 0 {
		return s.records, 0, nil
	}
	p := place(at, n)[:n*s.size]
	if s.fetched != nil {
		return at, n, s.fetched.ReadRecords(p, at)
	}
	if end := at + int64(n); s.ahead.fromDisk() {
		s.ahead.to(&s.asked, s.first, end, min(end+s.ahead.window, s.records))
	}
	s.ahead.note(len(p))
	return at, n, s.readRecords(p, s.first+at)
}

func (s *section) ReadAhead(ctx context.Context, maxBytes int64) {
	if s.fetched != nil {
		s.fetched.Ahead()
		return
	}
	if !s.ahead.fromDisk() {
		return
	}
	for at, end := int64(0), min(s.records, maxBytes/int64(s.size)); at < end && ctx.Err() == nil; at += s.ahead.step {
		s.ahead.to(&s.asked, s.first, at, min(at+s.ahead.step, end))
	}
}

// ReaderSource is the source of the records that stand in r from the byte base on.
func ReaderSource(r io.ReaderAt, base, records int64, size int) device.Source {
	readRecords := func(p []byte, first int64) error {
		_, err := r.ReadAt(p, base+first*int64(size))
		return err
	}
	unasked := newAhead(size, func(int64, int64) {})
	return &section{records: records, size: size, ahead: unasked, readRecords: readRecords}
}
