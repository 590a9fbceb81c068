// Package slicesort sorts slices in memory, in parallel, by keys that are numbers or strings. The
// sort is stable.
//
// It never compares two elements. It loads a word of 8 bytes for each element, sorts the words with
// the indexes of their elements, and then loads the next word for elements with equal words:
//
//	keys:    host string          code int16                   (host, code) of "a-long-name", 7
//	step 0:  7 bytes of the host, and how many bytes are left  "a-long-", 8
//	         the next 7 bytes, for elements with equal words   "name", 4
//	step 1:  the code, with its sign bit inverted              0x8007
//
// So a key function is called about once per word that is needed to distinguish elements, not once
// per comparison. The elements move once, at the end.
//
//	large ranges    all workers divide a range by its most significant bits that vary      parallel.go
//	small ranges    one worker sorts a range, which fits into the cache, and its ties      sort.go
//	keys and words  By, Of, and the steps                                                  keys.go, steps.go
package slicesort

import (
	"context"
	"runtime"

	"github.com/extsort/extsort/internal/safely"
)

// An entry is an element of the slice during the sort.
type entry struct {
	word  uint64 // a part of its normalized keys
	index int    // its position in the slice
}

// smallRange is the number of entries that one worker sorts alone. They and their copy fit into the
// cache of a core.
const smallRange = 1 << 15

// block is the number of elements that are processed between two checks of the context.
const block = 1 << 14

// Sort sorts a slice by its keys, the most significant key first. After an error, the slice is
// unchanged.
func Sort[T any](ctx context.Context, s []T, keys []Key[T]) error {
	if len(s) < 2 {
		return context.Cause(ctx)
	}
	r := &sliceSort[T]{
		slice:   s,
		steps:   newSteps(keys),
		entries: make([]entry, len(s)),
		spare:   make([]entry, len(s)),
		workers: runtime.GOMAXPROCS(0),
	}
	for i := range r.entries {
		r.entries[i].index = i
	}
	if err := safely.Call(func() error { return r.sort(ctx) }); err != nil {
		return err
	}

	r.spare = nil
	moved := make([]T, len(s))
	err := r.pieces(ctx, 0, len(s), func(_, from, to int) {
		for i := from; i < to; i++ {
			moved[i] = s[r.entries[i].index]
		}
	})
	if err != nil {
		return err
	}
	return Copy(s, moved)
}

// Copy copies a sorted slice in parallel. It cannot be cancelled, so the slice is never partly
// sorted.
func Copy[T any](to, from []T) error {
	var group safely.Group
	group.SetLimit(runtime.GOMAXPROCS(0))
	for begin := 0; begin < len(to); begin += block {
		end := min(begin+block, len(to))
		group.Go(func() error {
			copy(to[begin:end], from[begin:end])
			return nil
		})
	}
	return group.Wait()
}
