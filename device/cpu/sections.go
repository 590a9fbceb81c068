package cpu

import (
	"context"

	"github.com/extsort/extsort/device"
	"github.com/extsort/extsort/device/arena"
	"github.com/extsort/extsort/format"
)

// sections is a device.Chunk that sorts as in figure 1 of Harada and Howes, "Introduction to GPU
// Radix Sort", on a CPU. Each worker has a section of the input. It counts the values of one
// digit in its section. A prefix sum of all counts in column-major order then determines where
// each value of each section begins (equation 1), and each worker moves its section there. The
// least significant digit is first. Every element moves through all of memory once per byte of
// the key; this algorithm exists for comparison.
type sections struct {
	device.Plain
	sizes
	keyer       *format.Keyer
	memory      *arena.Memory
	kept, outs  []byte        // the records as they were loaded; each worker's outgoing block
	order, swap []indexedKey  // the elements in order, and space for reordering them
	table       []digitCounts // counts of each worker
	stats       device.Stats
}

// indexedKey is up to 64 bits of a record's key, and the index of the record.
type indexedKey = [2]uint64

// digitCounts contains a count for each value of an 8-bit digit.
type digitCounts [1 << 8]int64

func newSections(opt device.ChunkOptions, s sizes) (*sections, error) {
	elements := 16 * int(s.records)
	out := s.workers * s.out * s.record
	memory, err := arena.Alloc(2*elements + int(s.records)*s.record + out)
	if err != nil {
		return nil, err
	}
	b := memory.Bytes()
	return &sections{
		sizes:  s,
		keyer:  opt.Keyer,
		memory: memory,
		table:  make([]digitCounts, s.workers),
		order:  arena.View[indexedKey](b[:elements]),
		swap:   arena.View[indexedKey](b[elements : 2*elements]),
		outs:   b[2*elements:][:out],
		kept:   b[2*elements+out:],
	}, nil
}

// each calls f with every worker's counts and section of the elements.
func (s *sections) each(
	ctx context.Context, f func(counts *digitCounts, section []indexedKey),
) error {
	n := int(s.stats.Records)
	elements := s.order
	return device.Each(ctx, s.workers, func(ctx context.Context, i int) error {
		f(&s.table[i], elements[i*n/s.workers:(i+1)*n/s.workers])
		return context.Cause(ctx)
	})
}

func (s *sections) Load(ctx context.Context, src device.Source) (int64, error) {
	s.stats = device.Stats{Algorithm: countScanReorder}
	in := newIntake(src, &s.sizes)
	err := device.Each(ctx, s.workers, func(ctx context.Context, _ int) error {
		for {
			recs, _, err := in.next(ctx, func(first int64, n int) []byte {
				return s.kept[int(first)*s.record:][:n*s.record]
			})
			if len(recs) == 0 || err != nil {
				return err
			}
		}
	})
	if err != nil {
		return 0, err
	}
	s.stats.Records = in.loaded.Load()
	return s.stats.Records, nil
}

// Sort sorts by 64 bits of the key at a time, the least significant first.
func (s *sections) Sort(ctx context.Context) error {
	for i := range s.order[:s.stats.Records] {
		s.order[i][1] = uint64(i)
	}
	for end := 8 * s.keyer.KeySize(); end > 0; end -= 64 {
		from := max(0, end-64)
		err := s.each(ctx, func(_ *digitCounts, section []indexedKey) {
			for i, e := range section {
				section[i][0] = s.keyer.Window(s.recordOf(e), from, end-from)
			}
		})
		for shift := 0; err == nil && shift < end-from; shift += 8 {
			err = s.pass(ctx, shift)
		}
		if err != nil {
			return err
		}
	}

	return nil
}

// pass sorts the elements by the digit that begins at bit shift: count, scan, reorder.
func (s *sections) pass(ctx context.Context, shift int) error {
	s.stats.Passes++
	err := s.each(ctx, func(counts *digitCounts, section []indexedKey) {
		*counts = digitCounts{}
		for _, e := range section {
			counts[uint8(e[0]>>shift)]++
		}
	})
	if err != nil {
		return err
	}
	scan(s.table)
	err = s.each(ctx, func(next *digitCounts, section []indexedKey) {
		for _, e := range section {
			at := &next[uint8(e[0]>>shift)]
			s.swap[*at] = e
			*at++
		}
	})
	s.order, s.swap = s.swap, s.order
	return err
}

// scan replaces each count by the sum of the counts before it in column-major order: digit by
// digit, and worker by worker within a digit.
func scan(table []digitCounts) {
	sum := int64(0)
	for digit := range len(digitCounts{}) {
		for worker := range table {
			count := &table[worker][digit]
			*count, sum = sum, sum+*count
		}
	}
}

// recordOf returns the record of an element.
func (s *sections) recordOf(e indexedKey) []byte {
	return s.kept[int(e[1])*s.record:][:s.record]
}

func (s *sections) Store(ctx context.Context, limit int64, _ bool, w device.BlockWriter) error {
	limit = limitRecords(limit, s.stats.Records)
	block := int64(s.out)
	tasks := int((limit + block - 1) / block)
	return device.InOrder(ctx, s.workers, tasks, func(ctx context.Context, worker, task int) error {
		out := s.outs[worker*s.out*s.record:]
		first := int64(task) * block
		count := min(block, limit-first)
		for i, e := range s.order[first : first+count] {
			copy(out[i*s.record:], s.recordOf(e))
		}
		return w.WriteBlock(ctx, first, out[:int(count)*s.record])
	})
}

func (s *sections) Stats() device.Stats { return s.stats }

func (s *sections) Close() error { return s.memory.Free() }
