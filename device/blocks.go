package device

import (
	"fmt"
	"sync"
)

// FullBlocks returns a Source of the records of src, of size bytes each, that never cuts a block
// short: each call of Next delivers as many records as the caller has room for. Only the last
// block may be shorter. Two passes over the same data with blocks of the same size therefore see
// the same blocks.
//
// Calls read concurrently as long as src fills their blocks. If a block takes several reads of
// src, other calls cannot claim records until its last read has begun.
//
// REQUIRES: src knows its number of records.
func FullBlocks(src Source, size int) Source {
	return &fullBlocks{
		src:  src,
		size: size,
	}
}

type fullBlocks struct {
	src  Source
	size int

	claim sync.Mutex // held by the call that claims records of src
	next  int64      // first record that no call has claimed
	err   error      // if not nil, all calls fail with it
}

func (s *fullBlocks) Records() int64 { return s.src.Records() }

func (s *fullBlocks) Next(
	most int, place func(first int64, n int) []byte,
) (int64, int, error) {
	s.claim.Lock()
	b := block{
		fullBlocks: s,
		first:      s.next,
		holdsClaim: true,
	}
	defer b.release()
	if s.err != nil {
		return b.first, 0, s.err
	}

	b.records = int(min(int64(most), s.src.Records()-b.first))
	if b.records <= 0 {
		return b.first, 0, nil
	}
	b.recs = place(b.first, b.records)
	err := b.fill()
	if err != nil {
		b.fail(err)
		return b.first, 0, err
	}
	return b.first, b.records, nil
}

// A block is filled by one call of Next, which may take several reads.
type block struct {
	*fullBlocks
	first   int64
	records int
	recs    []byte

	claimed    int // records that were claimed or delivered so far
	holdsClaim bool
}

func (b *block) fill() error {
	for b.claimed < b.records {
		before := b.claimed
		_, n, err := b.src.Next(b.records-before, b.place)
		if err == nil && (n == 0 || n != b.claimed-before) {
			err = fmt.Errorf(
				"internal error: the source ends at record %d of %d",
				b.first+int64(before+n),
				b.src.Records(),
			)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// place returns the memory for the next n records. The last read of a block unlocks the claim for
// other calls.
func (b *block) place(first int64, n int) []byte {
	at := b.recs[b.claimed*b.size : (b.claimed+n)*b.size]
	b.claimed += n
	if b.claimed == b.records {
		b.next = b.first + int64(b.records)
		b.release()
	}
	return at
}

func (b *block) release() {
	if b.holdsClaim {
		b.holdsClaim = false
		b.claim.Unlock()
	}
}

// fail makes this call and all others return an error.
func (b *block) fail(err error) {
	if !b.holdsClaim {
		b.claim.Lock()
		b.holdsClaim = true
	}
	b.fullBlocks.err = err
}
