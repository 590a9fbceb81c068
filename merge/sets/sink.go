package sets

import (
	"context"

	"github.com/extsort/extsort/device"
)

// A sink assigns positions in an output to records. Except for write, its methods must be called by
// the goroutine whose turn it is.
type sink struct {
	to    device.BlockWriter
	size  int    // record size in bytes
	first int64  // number of records that have a position
	small []byte // records without a position, to be written with later ones
}

// newSink returns a sink that stores up to the given number of records. If the writer is nil, so is
// the sink.
func newSink(to device.BlockWriter, size, records int) *sink {
	if to == nil {
		return nil
	}
	return &sink{to: to, size: size, small: make([]byte, 0, records*size)}
}

// place returns the position at which the caller must write recs. If recs contains only a few
// records, place stores them for later and returns a negative position.
func (s *sink) place(ctx context.Context, recs []byte) (first int64, err error) {
	if s == nil || len(recs) == 0 {
		return -1, nil
	}
	if len(recs) > cap(s.small)/2 {
		if err := s.flush(ctx); err != nil {
			return -1, err
		}
		first = s.first
		s.first += int64(len(recs) / s.size)
		return first, nil
	}
	if len(s.small)+len(recs) > cap(s.small) {
		if err := s.flush(ctx); err != nil {
			return -1, err
		}
	}
	s.small = append(s.small, recs...)
	return -1, nil
}

// add places and writes records.
func (s *sink) add(ctx context.Context, recs []byte) error {
	first, err := s.place(ctx, recs)
	if first < 0 || err != nil {
		return err
	}
	return s.write(ctx, first, recs)
}

// write writes records that have a position. Several goroutines may call it.
func (s *sink) write(ctx context.Context, first int64, recs []byte) error {
	return s.to.WriteBlock(ctx, first, recs)
}

// flush writes the stored records.
func (s *sink) flush(ctx context.Context) error {
	if s == nil || len(s.small) == 0 {
		return nil
	}
	first := s.first
	s.first += int64(len(s.small) / s.size)
	err := s.write(ctx, first, s.small)
	s.small = s.small[:0]
	return err
}
