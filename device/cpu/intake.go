package cpu

import (
	"context"
	"sync/atomic"

	"github.com/extsort/extsort/device"
)

// intake distributes the records of a source to workers in units.
type intake struct {
	src       device.Source
	expected  int64        // expected number of records, at most the capacity
	unit      int          // in records
	record    int          // size in bytes
	room      atomic.Int64 // number of records that may still be claimed
	delivered atomic.Int64 // number of records that were read
	loaded    atomic.Int64 // number of records that were read and not left out
}

func newIntake(src device.Source, s *sizes) *intake {
	in := &intake{
		src:      src,
		expected: s.records,
		unit:     s.unit,
		record:   s.record,
	}
	if n := src.Records(); n >= 0 {
		in.expected = min(in.expected, n)
	}
	in.room.Store(s.records)
	return in
}

// next reads the next unit to the memory that place returns; see device.Source. It claims records
// before it reads them, so that no worker receives more than fits, and afterwards returns the
// part of the claim that the source did not deliver.
func (in *intake) next(
	ctx context.Context, place func(first int64, n int) []byte,
) (recs []byte, first int64, err error) {
	if err := context.Cause(ctx); err != nil {
		return nil, 0, err
	}
	claim := in.claim()
	if claim == 0 {
		return nil, 0, nil
	}
	first, n, err := in.src.Next(int(claim), func(first int64, n int) []byte {
		recs = place(first, n)
		return recs
	})
	if err != nil {
		return nil, 0, err
	}
	in.room.Add(claim - int64(n))
	in.delivered.Add(int64(n))
	in.loaded.Add(int64(n))
	return recs[:n*in.record], first, nil
}

// leaveOut records that n records from next were left out.
func (in *intake) leaveOut(n int64) {
	in.room.Add(n)
	in.loaded.Add(-n)
}

func (in *intake) claim() int64 {
	for {
		room := in.room.Load()
		claim := min(room, int64(in.unit))
		if in.room.CompareAndSwap(room, room-claim) {
			return claim
		}
	}
}

// sampledPerBucket is the number of sampled keys per bucket. Examining more keys takes longer
// than it saves, because other workers wait.
const sampledPerBucket = 32

// sample returns the prefixes of some records, if any are known.
func (in *intake) sample(opt *device.ChunkOptions) []uint64 {
	s, ok := in.src.(device.Sampled)
	if ok && len(s.Sample()) > 0 {
		return s.Sample()
	}
	return opt.Sample
}
