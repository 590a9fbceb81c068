package merge

import (
	"bytes"
	"sync"

	"github.com/extsort/extsort/chunker/spill"
)

// place is one block of one run, in the order in which a merge needs them.
type place struct {
	run   int
	index int // of the block in the run
	block spill.Block

	last    bool   // it is the last block of the run
	next    int64  // the first record of the block after it
	nextKey []byte // the key of that
}

// falls reports whether the next block begins with a lesser key: then the run is not sorted.
func (p *place) falls() bool { return !p.last && bytes.Compare(p.block.Key, p.nextKey) > 0 }

// forecast is the order in which a merge needs the blocks of its runs: by their first keys, which the indexes
// tell before anything is read (Knuth, volume 3, section 5.4.9, "forecasting", there from the last keys in
// memory). It is also the list of splitters: the start of any block cuts the total order (key, run, position)
// of all records in two. As an index may be longer than memory, the indexes themselves are merged, by a heap, and only
// the places are known that have been asked for of late.
type forecast struct {
	blocks int // of all runs

	mu     sync.Mutex // protects the following
	heads  []*head    // a heap: the least is the next place
	recent []place    // a ring: the place of rank r at r modulo its length
	known  int        // ranks that were asked for
}

// head is the first block of a run that has not been asked for.
type head struct {
	run    int
	index  int
	block  spill.Block
	cursor *spill.Cursor
}

// newForecast begins the forecast. The last places that were asked for stay known.
func newForecast(runs []*spill.Run, last int) (*forecast, error) {
	f := &forecast{recent: make([]place, last)}
	for r, run := range runs {
		f.blocks += run.Blocks()
		h := &head{run: r, index: -1, cursor: run.Cursor(0, run.Blocks())}
		ended, err := h.advance()
		if err != nil {
			return nil, err
		}
		if !ended {
			f.heads = append(f.heads, h)
		}
	}
	for i := len(f.heads)/2 - 1; i >= 0; i-- {
		f.sink(i)
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

// sink moves a head down the heap until none below it comes before it.
func (f *forecast) sink(i int) {
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

// at returns the place of a rank. It is valid until so many ranks more have been asked for as stay known. REQUIRES: the
// rank is less than blocks, and not among those that are no longer known.
func (f *forecast) at(rank int) (*place, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for f.known <= rank {
		if err := f.pop(&f.recent[f.known%len(f.recent)]); err != nil {
			return nil, err
		}
		f.known++
	}
	return &f.recent[rank%len(f.recent)], nil
}

// pop takes the next place off the heap.
func (f *forecast) pop(p *place) error {
	h := f.heads[0]
	key := append(p.block.Key[:0], h.block.Key...)
	p.run, p.index, p.block = h.run, h.index, h.block
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
	f.sink(0)
	return nil
}

func largestBlock(runs []*spill.Run) int {
	n := 0
	for _, run := range runs {
		n = max(n, run.LargestBlock())
	}
	return n
}
