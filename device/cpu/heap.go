package cpu

import (
	"github.com/extsort/extsort/device/cpu/pool"
	"github.com/extsort/extsort/device/cpu/radix"
)

// sortBlocks sorts the elements of a list where they lie, by heapsort. It is the last resort for a bucket that
// neither fits in cache nor can be cut for want of free blocks: slow, on one worker, but it needs no memory.
func sortBlocks[E radix.Element](p *pool.Pool[E], l pool.List, less func(a, b E) bool) {
	h := heap[E]{less: less}
	n := 0
	for b := l.Head; b != pool.None; b = p.Next[b] {
		h.blocks = append(h.blocks, p.Content(b))
		h.starts = append(h.starts, n)
		n += int(p.Used[b])
	}
	for i := n/2 - 1; i >= 0; i-- {
		h.siftDown(i, n)
	}
	for end := n - 1; end > 0; end-- {
		first, last := h.at(0), h.at(end)
		*first, *last = *last, *first
		h.siftDown(0, end)
	}
}

// heap is a binary heap with the greatest element first, over blocks that need not be full.
type heap[E radix.Element] struct {
	blocks [][]E
	starts []int // number of elements before each block
	less   func(a, b E) bool
}

func (h *heap[E]) at(i int) *E {
	low, high := 0, len(h.starts)
	for low+1 < high {
		if mid := (low + high) / 2; h.starts[mid] <= i {
			low = mid
		} else {
			high = mid
		}
	}
	return &h.blocks[low][i-h.starts[low]]
}

// siftDown restores the order of the heap of the first n elements after element i has changed.
func (h *heap[E]) siftDown(i, n int) {
	for {
		child := 2*i + 1
		if child >= n {
			return
		}
		if child+1 < n && h.less(*h.at(child), *h.at(child + 1)) {
			child++
		}
		parent, greater := h.at(i), h.at(child)
		if !h.less(*parent, *greater) {
			return
		}
		*parent, *greater = *greater, *parent
		i = child
	}
}
