package merge

import (
	"bytes"
	"sync"

	"github.com/extsort/extsort/chunker/spill"
)

// A place is one block of one run, at its position in the order in which a merge needs blocks.
type place struct {
	run   int
	index int // of the block within the run
	block spill.Block

	last    bool   // whether this is the last block of the run
	next    int64  // the first record of the following block
	nextKey []byte // the first key of the following block
}

// isUnsorted reports whether the following block begins with a smaller key than this block. In
// that case the run is not sorted.
func (p *place) isUnsorted() bool {
	return !p.last && bytes.Compare(p.block.Key, p.nextKey) > 0
}

// A forecast is the order in which a merge needs the blocks of its runs: ascending by first key.
// The indexes of the runs list these keys, so no block has to be read. (Knuth, volume 3, section
// 5.4.9, "forecasting", uses the last keys in memory.) The forecast is also the list of
// splitters, because the start of any block cuts the total order (key, run, position) of all
// records in two.
//
// An index can be larger than memory. Therefore a forecast merges the indexes themselves with a
// heap, and remembers only the most recent places.
type forecast struct {
	blocks int // in all runs

	mu          sync.Mutex // protects the fields below
	heads       []*head    // a heap; the smallest head is the next place
	recent      []place    // a ring; the place of rank r is at index r modulo the length
	takenPlaces int        // number of places taken from the heap so far
}

// A head is the first block of a run that the forecast has not taken yet.
type head struct {
	run    int
	index  int
	block  spill.Block
	cursor *spill.Cursor
}

// newForecast returns a forecast that remembers the given number of most recent places.
func newForecast(runs []*spill.Run, last int) (*forecast, error) {
	f := &forecast{recent: make([]place, last)}
	for r, run := range runs {
		f.blocks += run.Blocks()
		h := &head{
			run:    r,
			index:  -1,
			cursor: run.Cursor(0, run.Blocks()),
		}
		ended, err := h.advance()
		if err != nil {
			return nil, err
		}
		if !ended {
			f.heads = append(f.heads, h)
		}
	}

	for i := len(f.heads)/2 - 1; i >= 0; i-- {
		f.siftDown(i)
	}
	return f, nil
}

// advance moves to the next block of the run.
func (h *head) advance() (ended bool, err error) {
	b, err := h.cursor.Next()
	if b == nil || err != nil {
		return true, err
	}
	key := append(h.block.Key[:0], b.Key...)
	h.block = *b
	h.block.Key = key
	h.index++
	return false, nil
}

func (h *head) before(o *head) bool {
	c := bytes.Compare(h.block.Key, o.block.Key)
	return c < 0 || c == 0 && h.run < o.run
}

// siftDown moves a head down the heap until it precedes both of its children.
func (f *forecast) siftDown(i int) {
	for {
		least := i
		for child := 2*i + 1; child <= 2*i+2 && child < len(f.heads); child++ {
			if f.heads[child].before(f.heads[least]) {
				least = child
			}
		}

		if least == i {
			return
		}
		f.heads[i], f.heads[least] = f.heads[least], f.heads[i]
		i = least
	}
}

// place returns the place with the given rank. The result stays valid until len(f.recent) further
// ranks have been requested. REQUIRES: the rank is less than blocks, and its place has not been
// overwritten in the ring.
func (f *forecast) place(rank int) (*place, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for f.takenPlaces <= rank {
		if err := f.takeNext(&f.recent[f.takenPlaces%len(f.recent)]); err != nil {
			return nil, err
		}
		f.takenPlaces++
	}
	return &f.recent[rank%len(f.recent)], nil
}

// takeNext moves the next place from the heap to p.
func (f *forecast) takeNext(p *place) error {
	h := f.heads[0]
	key := append(p.block.Key[:0], h.block.Key...)
	p.run = h.run
	p.index = h.index
	p.block = h.block
	p.block.Key = key
	ended, err := h.advance()
	if err != nil {
		return err
	}
	p.last = ended
	if ended {
		last := len(f.heads) - 1
		f.heads[0] = f.heads[last]
		f.heads = f.heads[:last]
	} else {
		p.next = h.block.First
		p.nextKey = append(p.nextKey[:0], h.block.Key...)
	}

	f.siftDown(0)
	return nil
}

func largestBlock(runs []*spill.Run) int {
	n := 0
	for _, run := range runs {
		n = max(n, run.LargestBlock())
	}
	return n
}
