package slicesort

import (
	"context"
	"math/bits"
	"slices"
	"sync/atomic"

	"github.com/extsort/extsort/internal/safely"
)

// A sliceSort is the sort of one slice.
type sliceSort[T any] struct {
	slice   []T
	steps   []step[T]
	entries []entry
	spare   []entry // of the same length
	workers int
	small   []smallTask
}

// A smallTask is a range of entries that one worker sorts.
type smallTask struct {
	from, to int
	place    place
	hasWords bool // the words of the place are loaded, and the entries are in spare
}

// sort orders the entries.
func (r *sliceSort[T]) sort(ctx context.Context) error {
	if err := r.divide(ctx, 0, len(r.entries), place{}, false); err != nil {
		return err
	}
	workers := min(r.workers, len(r.small))
	if workers <= 1 {
		return r.sortSmall(ctx, new(atomic.Int64))
	}
	group, ctx := safely.WithContext(ctx)
	var next atomic.Int64
	for range workers {
		group.Go(func() error { return r.sortSmall(ctx, &next) })
	}
	return group.Wait()
}

// sortSmall takes small tasks until all are taken. next is the number of the next one.
func (r *sliceSort[T]) sortSmall(ctx context.Context, next *atomic.Int64) error {
	w := &worker[T]{run: r, ctx: ctx}
	for {
		i := int(next.Add(1)) - 1
		if i >= len(r.small) {
			return nil
		}
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		task := r.small[i]
		entries := r.entries[task.from:task.to]
		spare := r.spare[task.from:task.to]
		if task.hasWords {
			copy(entries, spare)
		}
		if err := w.sort(entries, spare, task.place, task.hasWords); err != nil {
			return err
		}
	}
}

// digitBits is the number of bits by which a large range is divided, and digitValues the number of
// their values.
const (
	digitBits   = 8
	digitValues = 1 << digitBits
)

// divide divides a range of entries into small tasks by its keys from a place on. With hasWords,
// the words of that place are loaded.
func (r *sliceSort[T]) divide(ctx context.Context, from, to int, at place, hasWords bool) error {
	for at.step < len(r.steps) {
		if to-from <= smallRange && !hasWords {
			r.small = append(r.small, smallTask{from: from, to: to, place: at})
			return nil
		}
		varying, err := r.survey(ctx, from, to, at, hasWords)
		if err != nil {
			return err
		}
		if varying != 0 {
			return r.divideByWord(ctx, from, to, at, varying)
		}
		if at, err = r.afterEqualRange(ctx, from, to, at); err != nil {
			return err
		}
		hasWords = false
	}
	return nil
}

// divideByWord divides a range by the most significant bits of its words that vary, and then each
// part that is large.
func (r *sliceSort[T]) divideByWord(ctx context.Context, from, to int, at place, varying uint64) error {
	ends, err := r.scatter(ctx, from, to, max(0, bits.Len64(varying)-digitBits))
	if err != nil {
		return err
	}
	begin := from
	for _, end := range ends {
		switch {
		case end-begin > smallRange:
			err = r.pieces(ctx, begin, end, func(_, from, to int) { copy(r.entries[from:to], r.spare[from:to]) })
			if err == nil {
				err = r.divide(ctx, begin, end, at, true)
			}
			if err != nil {
				return err
			}
		case end > begin:
			r.small = append(r.small, smallTask{from: begin, to: end, place: at, hasWords: true})
		}
		begin = end
	}
	return nil
}

// survey returns the bits in which the words of a range differ. It loads the words unless they are
// loaded.
func (r *sliceSort[T]) survey(ctx context.Context, from, to int, at place, hasWords bool) (varying uint64, err error) {
	type found struct{ varying, first uint64 }
	all := make([]found, r.workers)
	used := make([]bool, r.workers)
	err = r.pieces(ctx, from, to, func(piece, from, to int) {
		entries := r.entries[from:to]
		if !hasWords {
			r.load(entries, at)
		}
		first := entries[0].word
		if used[piece] {
			all[piece].varying |= first ^ all[piece].first
		} else {
			used[piece] = true
			all[piece].first = first
		}
		all[piece].varying |= differences(entries)
	})
	for piece, f := range all {
		if used[piece] {
			varying |= f.varying | (f.first ^ all[0].first)
		}
	}
	return varying, err
}

// scatter moves a range of entries to spare, ordered by the digit of their words that begins at bit
// shift. It returns where each value of the digit ends.
func (r *sliceSort[T]) scatter(ctx context.Context, from, to, shift int) (ends [digitValues]int, err error) {
	counts := make([][digitValues]int, r.workers)
	err = r.pieces(ctx, from, to, func(piece, from, to int) {
		count := &counts[piece]
		for i := range r.entries[from:to] {
			count[byte(r.entries[from+i].word>>shift)]++
		}
	})
	if err != nil {
		return ends, err
	}

	next := from
	for value := range digitValues {
		for piece := range counts {
			count := counts[piece][value]
			counts[piece][value] = next
			next += count
		}
		ends[value] = next
	}
	err = r.pieces(ctx, from, to, func(piece, from, to int) {
		positions := &counts[piece]
		for _, e := range r.entries[from:to] {
			value := byte(e.word >> shift)
			r.spare[positions[value]] = e
			positions[value]++
		}
	})
	return ends, err
}

// pieces divides a range into one piece for each worker, and calls f for the blocks of all pieces,
// in parallel. The blocks of one piece are processed in order. The pieces are always the same for
// the same range.
func (r *sliceSort[T]) pieces(ctx context.Context, from, to int, f func(piece, from, to int)) error {
	n := to - from
	if n <= block {
		f(0, from, to)
		return nil
	}
	group, ctx := safely.WithContext(ctx)
	for piece := range r.workers {
		begin := from + int(int64(n)*int64(piece)/int64(r.workers))
		end := from + int(int64(n)*int64(piece+1)/int64(r.workers))
		group.Go(func() error {
			for ; begin < end; begin += block {
				if ctx.Err() != nil {
					return context.Cause(ctx)
				}
				f(piece, begin, min(begin+block, end))
			}
			return nil
		})
	}
	return group.Wait()
}

// load loads the words of entries at a place.
func (r *sliceSort[T]) load(entries []entry, at place) {
	step := &r.steps[at.step]
	for i := range entries {
		entries[i].word = step.word(at, &r.slice[entries[i].index])
	}
}

// afterEqual returns the next place for entries that all have the same word. It skips the bytes
// that all texts have in common.
func (r *sliceSort[T]) afterEqual(entries []entry, at place) place {
	next := r.steps[at.step].placeAfter(at, entries[0].word)
	if next.offset > 0 {
		next.offset += len(r.commonText(entries, next, r.textOf(entries[0], next)))
	}
	return next
}

// afterEqualRange is afterEqual for a large range.
func (r *sliceSort[T]) afterEqualRange(ctx context.Context, from, to int, at place) (place, error) {
	next := r.steps[at.step].placeAfter(at, r.entries[from].word)
	if next.offset == 0 {
		return next, nil
	}
	text := r.textOf(r.entries[from], next)
	common := slices.Repeat([]string{text}, r.workers)
	err := r.pieces(ctx, from, to, func(piece, from, to int) {
		common[piece] = r.commonText(r.entries[from:to], next, common[piece])
	})
	shortest := len(text)
	for _, text := range common {
		shortest = min(shortest, len(text))
	}
	next.offset += shortest
	return next, err
}

// commonText returns the beginning that common and the texts of all entries at a place have in
// common.
func (r *sliceSort[T]) commonText(entries []entry, at place, common string) string {
	for i := range entries {
		if common == "" {
			break
		}
		common = common[:commonPrefix(common, r.textOf(entries[i], at))]
	}
	return common
}

// textOf returns the text of an entry from a place on.
func (r *sliceSort[T]) textOf(e entry, at place) string {
	return textFrom(r.steps[at.step].text.text(&r.slice[e.index]), at.offset)
}

// commonPrefix returns the number of bytes with which both texts begin.
func commonPrefix(a, b string) (n int) {
	most := min(len(a), len(b))
	for n < most && a[n] == b[n] {
		n++
	}
	return n
}
