package cpu

import (
	"context"
	"sync/atomic"

	"github.com/extsort/extsort/device"
)

// intake distributes the records of a source to workers in units.
type intake struct {
	src         device.Source
	expected    int64        // expected number of records, at most the capacity
	unitRecords int          // in records
	recordBytes int          // size in bytes
	claimable   atomic.Int64 // number of records that may still be claimed
	delivered   atomic.Int64 // number of records that were read
	loaded      atomic.Int64 // number of records that were read and not left out
}

func newIntake(src device.Source, s *sizes) *intake {
	in := &intake{
		src:         src,
		expected:    s.records,
		unitRecords: s.unitRecords,
		recordBytes: s.recordBytes,
	}
	if n := src.Records(); n >= 0 {
		in.expected = min(in.expected, n)
	}
	in.claimable.Store(s.records)
	return in
}

// nextUnit reads the next unit into the memory that destination returns; see device.Source. It
// claims records before it reads them, so that no worker receives more than fits, and afterwards
// returns the part of the claim that the source did not deliver.
func (in *intake) nextUnit(
	ctx context.Context,
	destination func(first int64, n int) []byte,
) (recs []byte, first int64, err error) {
	if err := context.Cause(ctx); err != nil {
		return nil, 0, err
	}
	claim := in.claimRecords()
	if claim == 0 {
		return nil, 0, nil
	}
	first, n, err := in.src.Next(int(claim), func(first int64, n int) []byte {
		recs = destination(first, n)
		return recs
	})
	if err != nil {
		return nil, 0, err
	}
	in.claimable.Add(claim - int64(n))
	in.delivered.Add(int64(n))
	in.loaded.Add(int64(n))
	return recs[:n*in.recordBytes], first, nil
}

// leaveOut records that n records from nextUnit were left out.
func (in *intake) leaveOut(n int64) {
	in.claimable.Add(n)
	in.loaded.Add(-n)
}

func (in *intake) claimRecords() int64 {
	for {
		room := in.claimable.Load()
		claim := min(room, int64(in.unitRecords))
		if in.claimable.CompareAndSwap(room, room-claim) {
			return claim
		}
	}
}

// sampledPerBucket is the number of sampled keys per bucket. Examining more keys takes longer
// than it saves, because other workers wait.
const sampledPerBucket = 32

// samplePrefixes returns the prefixes of some records, if any are known.
func (in *intake) samplePrefixes(opt *device.ChunkOptions) []uint64 {
	s, ok := in.src.(device.Sampled)
	if ok && len(s.Sample()) > 0 {
		return s.Sample()
	}
	return opt.Sample
}
