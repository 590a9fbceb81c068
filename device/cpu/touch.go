package cpu

import (
	"os"
	"slices"
	"sync"
	"time"
)

// touching measures what it takes to touch memory for the first time. The system clears it then, which takes 0.05 to 0.3 ns a byte.
// But in a virtual machine whose host takes back what is free for long, each page may have to wait for the host: of 1 GiB in such a
// machine (EPYC, Zen 5, 24 GiB) the first 450 MiB took 0.05 ns a byte, and the rest 2 to 2.7, twice what all the sorting takes.
type touching struct {
	mu     sync.Mutex // protects the following
	known  int64      // blocks that were touched by now, at the start of the memory
	bytes  int64      // that were touched
	recent []float64  // ns a byte of the extents that were touched since judge
}

// first touches a block, the first of an extent of so many bytes that ends with block end, unless that was touched before. Others may
// touch the rest meanwhile. It does nothing on nil.
func (t *touching) first(block []byte, extent int, end int64) {
	if t == nil || !t.enter(int64(extent), end) {
		return
	}
	page := os.Getpagesize()
	start := time.Now()
	block[0] = 0
	one := time.Since(start)
	for at := page; at < len(block); at += page {
		block[at] = 0
	}
	pace := paceOf(one, time.Since(start)-one, (len(block)-1)/page, page, extent)
	t.mu.Lock()
	defer t.mu.Unlock()
	t.recent = append(t.recent, pace)
}

// paceOf is what a byte took, in ns, where the first page took one and so many others the rest: with a huge page these are nothing,
// and the first was the whole extent.
func paceOf(one, rest time.Duration, others, page, extent int) float64 {
	if 64*rest < one*time.Duration(others) || others == 0 {
		return float64(one) / float64(extent)
	}
	return float64(one+rest) / float64((others+1)*page)
}

// enter reports whether memory that ends with block end is new, and counts it.
func (t *touching) enter(bytes, end int64) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if end <= t.known {
		return false
	}
	t.known = end
	t.bytes += bytes
	return true
}

// judgedExtents is how many extents are judged together: by their median, as a worker may be stopped at any time.
const judgedExtents = 8

// pace is what a byte takes, in ns, by the extents that were touched since it was last told; 0: too few. It also gives the bytes
// that were touched in all.
func (t *touching) pace() (pace float64, bytes int64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(t.recent) < judgedExtents {
		return 0, t.bytes
	}
	slices.Sort(t.recent)
	pace = t.recent[len(t.recent)/2]
	t.recent = t.recent[:0]
	return pace, t.bytes
}

// forget says that the memory was given back, or some of it. It does nothing on nil.
func (t *touching) forget() {
	if t == nil {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.known, t.bytes, t.recent = 0, 0, t.recent[:0]
}

// costs are what it takes to go on, or not to, in nanoseconds of all workers together.
type costs struct {
	touch   float64 // a byte that is touched for the first time
	again   float64 // to read the source once more, and leave out what is not wanted
	memory  float64 // bytes that all of the elements take
	touched float64 // bytes that were touched by now
	moved   float64 // to move the elements that were loaded by now
}

// moveNanos is what it takes to move a record to its bucket.
const moveNanos = 2.5

// mostPasses is how many passes are begun at most because memory is slow: more save less each.
const mostPasses = 8

// shareWorth is the share of the elements to load that takes the least time: each pass but the first reads the source again, but
// uses the memory of the first. It is 1 unless others save a good part of what is left to touch.
func shareWorth(c costs) float64 {
	best, least := 1.0, 0.7*c.touch*max(c.memory-c.touched, 0)
	for passes := 2.0; passes <= mostPasses; passes++ {
		share := min(max(1/passes, c.touched/c.memory), 1)
		cost := c.touch*max(share*c.memory-c.touched, 0) + (passes-1)*c.again + (1-share)*c.moved
		if cost < least {
			best, least = share, cost
		}
	}
	return best
}
