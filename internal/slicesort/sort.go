package slicesort

import "context"

// insertionSize is the number of entries up to which an insertion sort is faster than a radix sort.
const insertionSize = 64

// A worker sorts small ranges.
type worker[T any] struct {
	run    *sliceSort[T]
	ctx    context.Context
	loaded int // words since the last check of the context
	counts [wordBytes][256]uint32
}

// sort sorts entries by their words from a place on. Entries with equal keys keep their order. With
// hasWords, the words of that place are loaded. spare has as many entries.
func (w *worker[T]) sort(entries, spare []entry, at place, hasWords bool) error {
	steps := w.run.steps
	var varying uint64
	for {
		if len(entries) < 2 || at.step == len(steps) {
			return nil
		}
		if !hasWords {
			if err := w.load(entries, at); err != nil {
				return err
			}
		}
		if varying = differences(entries); varying != 0 {
			break
		}
		at = w.run.afterEqual(entries, at)
		hasWords = false
	}

	if len(entries) <= insertionSize {
		insertionSort(entries)
	} else {
		w.radixSort(entries, spare, varying)
	}
	step := &steps[at.step]
	if at.step == len(steps)-1 && step.text == nil {
		return nil // entries with equal words have equal keys
	}
	for from, to := 0, 0; from < len(entries); from = to {
		for to = from + 1; to < len(entries) && entries[to].word == entries[from].word; to++ {
		}
		if to-from < 2 {
			continue
		}
		next := step.placeAfter(at, entries[from].word)
		if err := w.sort(entries[from:to], spare[from:to], next, false); err != nil {
			return err
		}
	}
	return nil
}

// load loads the words of entries at a place.
func (w *worker[T]) load(entries []entry, at place) error {
	if w.loaded += len(entries); w.loaded >= block {
		w.loaded = 0
		if w.ctx.Err() != nil {
			return context.Cause(w.ctx)
		}
	}
	w.run.load(entries, at)
	return nil
}

// differences returns the bits in which the words of entries differ.
func differences(entries []entry) (varying uint64) {
	first := entries[0].word
	for i := range entries {
		varying |= entries[i].word ^ first
	}
	return varying
}

func insertionSort(entries []entry) {
	for i := 1; i < len(entries); i++ {
		e := entries[i]
		j := i
		for ; j > 0 && entries[j-1].word > e.word; j-- {
			entries[j] = entries[j-1]
		}
		entries[j] = e
	}
}

// radixSort sorts entries by the bytes of their words that vary, from the least significant byte
// on.
func (w *worker[T]) radixSort(entries, spare []entry, varying uint64) {
	for digit := range wordBytes {
		shift := 8 * digit
		if byte(varying>>shift) == 0 {
			continue
		}
		counts := &w.counts[digit]
		clear(counts[:])
		for i := range entries {
			counts[byte(entries[i].word>>shift)]++
		}
	}

	from, to := entries, spare
	for digit := range wordBytes {
		shift := 8 * digit
		if byte(varying>>shift) == 0 {
			continue
		}
		counts := &w.counts[digit]
		begin := uint32(0)
		for value, count := range counts {
			counts[value] = begin
			begin += count
		}
		for i := range from {
			value := byte(from[i].word >> shift)
			to[counts[value]] = from[i]
			counts[value]++
		}
		from, to = to, from
	}
	if &from[0] != &entries[0] {
		copy(entries, from)
	}
}
