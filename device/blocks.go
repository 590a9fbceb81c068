package device

import (
	"fmt"
	"sync"
)

// FullBlocks returns a Source of the records of src, of size bytes each, that never cuts a block short: each call of
// Next delivers as many records as the caller has room for, and only the last one fewer. Two passes over the same data
// with blocks of the same size therefore see the same blocks.
//
// Calls read at the same time as long as src fills their blocks. A block that takes several reads of src holds up the
// claims of other calls until its last read has begun.
//
// REQUIRES: src knows how many records it has.
func FullBlocks(src Source, size int) Source { return &fullBlocks{src: src, size: size} }

type fullBlocks struct {
	src  Source
	size int

	claim sync.Mutex // is held by the call that claims records of src
	next  int64      // the first record that no call has claimed
	err   error      // ends all calls
}

func (s *fullBlocks) Records() int64 { return s.src.Records() }

func (s *fullBlocks) Next(most int, place func(first int64, n int) []byte) (int64, int, error) {
	s.claim.Lock()
	b := block{fullBlocks: s, first: s.next, holdsClaim: true}
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

// block is a block that one call fills by several reads.
type block struct {
	*fullBlocks
	first   int64
	records int
	recs    []byte

	claimed    int // records that a read has claimed or delivered
	holdsClaim bool
}

func (b *block) fill() error {
	for b.claimed < b.records {
		before := b.claimed
		_, n, err := b.src.Next(b.records-before, b.place)
		if err == nil && (n == 0 || n != b.claimed-before) {
			err = fmt.Errorf("internal error: the source ends at record %d of %d", b.first+int64(before+n), b.src.Records())
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// place returns the memory for the next n records. The block's last read lets other calls claim what follows.
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

// fail ends all calls with an error.
func (b *block) fail(err error) {
	if !b.holdsClaim {
		b.claim.Lock()
		b.holdsClaim = true
	}
	b.fullBlocks.err = err
}
