package cpu

import (
	"context"
	"encoding/binary"
	"errors"
	"sort"
	"sync"
	"unsafe"

	"github.com/extsort/extsort/device"
	"github.com/extsort/extsort/device/arena"
	"github.com/extsort/extsort/device/cpu/radix"
	"github.com/extsort/extsort/format"
)

// Bare keys of one or two bytes have so few values that it is enough to count them. The records
// are then generated from the counts. This is the counting sort of Seward ("Information sorting
// in the application of electronic digital computers to business operations", 1954). Any number
// of records takes the same memory, so nothing is ever spilled.

// usesHistogram reports whether records are counted, so that a chunk holds any number of them.
func usesHistogram(k *format.Keyer) bool {
	return k.Layout().IsBare() && k.Layout().RecordSize <= 2
}

// histogramCapacity is the nominal capacity of a histogram. No file has more records, and small
// multiples of it do not overflow.
const histogramCapacity = 1 << 50

// histogram is a device.Chunk that counts records. Any number of records fits into it, so there
// is never a second chunk to merge with.
type histogram struct {
	device.Plain
	sizes
	values  []byte   // all possible records in ascending order
	workers []*tally // grows as needed
	stats   device.Stats

	mu sync.Mutex // protects ends while workers add to them
	// ends holds the number of records with each value. After sorting it holds the number of
	// records up to each value.
	ends   []int64
	sorted bool
}

// tally is the scratch memory of one worker.
type tally struct {
	memory *arena.Memory // memory of the slices below
	// counts consists of tables with an entry per value. The index is the bytes of a record as an
	// unsigned integer.
	counts    []uint32
	unit, out []byte // incoming and outgoing records
	records   int    // number of records in counts
}

// valueCount returns the number of different records of a size.
func valueCount(recordBytes int) int {
	return 1 << (8 * recordBytes)
}

// newHistogramSizes returns the sizes for as many workers as fit into the memory; 0 means no
// limit. ok is false if no worker fits, or if the records are not suitable for a histogram.
func newHistogramSizes(
	opt device.ChunkOptions,
	memoryBytes int64,
) (s sizes, ok bool) {
	if !usesHistogram(opt.Keyer) {
		return sizes{}, false
	}
	size := opt.Keyer.Layout().RecordSize
	s = sizes{
		recordBytes: size,
		records:     opt.Records,
		unitRecords: unitBytes / size,
		outRecords:  max(1, opt.BlockBytes/size),
	}
	s.workers = workersFor(opt.Workers, histogramCapacity, s.unitRecords)
	if memoryBytes > 0 {
		shared := int64(valueCount(size) * (size + 8))
		s.workers = int(
			min(int64(s.workers), (memoryBytes-shared)/int64(s.tallyBytes())),
		)
	}

	return s, s.workers > 0
}

// tallyBytes returns the scratch memory of a worker of a histogram, in the order in which it is
// carved.
func (s *sizes) tallyBytes() int {
	counters := tallyTables(s.recordBytes) * valueCount(s.recordBytes)
	records := s.unitRecords + s.outRecords
	return 4*counters + records*s.recordBytes
}

// tallyTables returns the number of tables in which a worker counts. Incrementing the same counter
// twice in a row takes several times as long, so consecutive records use different tables. The
// tables for keys of two bytes must fit into L2 together with a unit.
func tallyTables(recordBytes int) int {
	return 4 / recordBytes
}

func newHistogram(opt device.ChunkOptions, s sizes) *histogram {
	h := &histogram{
		sizes:  s,
		values: make([]byte, valueCount(s.recordBytes)*s.recordBytes),
		ends:   make([]int64, valueCount(s.recordBytes)),
	}
	keys := make([]uint32, len(h.ends))
	for i := range keys {
		keys[i] = uint32(i)
	}
	opt.Keyer.Records32(h.values, keys)
	return h
}

// makeWorkers adds workers until there are the given number.
func (h *histogram) makeWorkers(workers int) error {
	for len(h.workers) < workers {
		memory, err := arena.Alloc(h.tallyBytes())
		if err != nil {
			return err
		}
		counts, rest := radix.Carve[uint32](
			memory.Bytes(),
			tallyTables(h.recordBytes)*len(h.ends),
		)
		unit := h.unitRecords * h.recordBytes
		h.workers = append(h.workers, &tally{
			memory: memory,
			counts: counts,
			unit:   rest[:unit],
			out:    rest[unit:],
		})
	}

	return nil
}

func (h *histogram) Load(
	ctx context.Context,
	src device.Source,
) (int64, error) {
	h.stats = device.Stats{Algorithm: MSD, Passes: 1}
	clear(h.ends)
	h.sorted = false
	in := newIntake(src, &h.sizes)
	workers := workersFor(h.sizes.workers, in.expected, h.unitRecords)
	if err := h.makeWorkers(workers); err != nil {
		return 0, err
	}
	err := device.Each(ctx, workers, func(ctx context.Context, i int) error {
		w := h.workers[i]
		w.records = 0
		clear(w.counts)
		return h.countUnits(ctx, w, in)
	})
	if err != nil {
		return 0, err
	}
	h.stats.Records = in.loaded.Load()
	return h.stats.Records, nil
}

// maxUnsettled is the number of records a worker counts before it adds its counts to the totals, so
// that its own counters cannot overflow.
const maxUnsettled = 1 << 30

// countUnits is the work of one worker in Load.
func (h *histogram) countUnits(ctx context.Context, w *tally, in *intake) error {
	for {
		recs, _, err := in.nextUnit(ctx, func(_ int64, n int) []byte {
			return w.unit[:n*h.recordBytes]
		})
		if err != nil {
			return err
		}
		w.addRecords(recs, h.recordBytes)
		if len(recs) == 0 || w.records >= maxUnsettled {
			h.addToTotals(w)
		}
		if len(recs) == 0 {
			return nil
		}
	}
}

// addRecords counts records of a size.
func (w *tally) addRecords(recs []byte, size int) {
	w.records += len(recs) / size
	words := arena.View[uint64](recs)
	rest := recs[len(arena.ByteView(words)):]

	tables := unsafe.Pointer(unsafe.SliceData(w.counts))
	if size == 1 {
		countBytes((*[4][1 << 8]uint32)(tables), words)
	} else {
		countPairs((*[2][1 << 16]uint32)(tables), words)
	}

	for ; len(rest) > 0; rest = rest[size:] {
		w.counts[recordValue(rest[:size])]++
	}
}

// recordValue returns the bytes of a record as an unsigned integer in this machine's byte order.
func recordValue(rec []byte) int {
	if len(rec) == 1 {
		return int(rec[0])
	}
	return int(binary.NativeEndian.Uint16(rec))
}

func countBytes(counts *[4][1 << 8]uint32, words []uint64) {
	for _, x := range words {
		counts[0][uint8(x)]++
		counts[1][uint8(x>>8)]++
		counts[2][uint8(x>>16)]++
		counts[3][uint8(x>>24)]++
		counts[0][uint8(x>>32)]++
		counts[1][uint8(x>>40)]++
		counts[2][uint8(x>>48)]++
		counts[3][uint8(x>>56)]++
	}
}

func countPairs(counts *[2][1 << 16]uint32, words []uint64) {
	for _, x := range words {
		counts[0][uint16(x)]++
		counts[1][uint16(x>>16)]++
		counts[0][uint16(x>>32)]++
		counts[1][uint16(x>>48)]++
	}
}

// addToTotals adds the counts of a worker to the totals.
func (h *histogram) addToTotals(w *tally) {
	h.mu.Lock()
	defer h.mu.Unlock()

	for i := range h.ends {
		at := recordValue(h.values[i*h.recordBytes : (i+1)*h.recordBytes])
		for ; at < len(w.counts); at += len(h.ends) {
			h.ends[i] += int64(w.counts[at])
		}
	}

	clear(w.counts)
	w.records = 0
}

// Sort turns the histogram into the end offset of each value (an inclusive prefix sum). Sorting
// again changes nothing.
func (h *histogram) Sort(ctx context.Context) error {
	if !h.sorted {
		end := int64(0)
		for i, n := range h.ends {
			end += n
			h.ends[i] = end
		}
		h.sorted = true
	}
	return context.Cause(ctx)
}

func (h *histogram) Store(
	ctx context.Context,
	limit int64,
	_ bool,
	w device.BlockWriter,
) error {
	limit = limitRecords(limit, h.stats.Records)
	share := max(limit/int64(8*h.sizes.workers), minShare)
	block := min(share, int64(h.outRecords))
	tasks := (limit + block - 1) / block
	workers := int(min(tasks, int64(h.sizes.workers)))
	if err := h.makeWorkers(workers); err != nil {
		return err
	}
	return device.InOrder(ctx, workers, int(tasks), func(ctx context.Context, worker, i int) error {
		first := int64(i) * block
		return w.WriteBlock(
			ctx, first, h.recordsOf(
				h.workers[worker].out,
				first,
				min(block, limit-first),
			),
		)
	})
}

// recordsOf returns count records of the sorted order, starting at first, in dst.
func (h *histogram) recordsOf(dst []byte, first, count int64) []byte {
	size := int64(h.recordBytes)
	dst = dst[:count*size]
	i := sort.Search(len(h.ends), func(i int) bool { return h.ends[i] > first })

	for at := int64(0); at < count; i++ {
		end := min(h.ends[i]-first, count)
		if end > at {
			radix.Fill(
				dst[at*size:end*size],
				h.values[i*h.recordBytes:(i+1)*h.recordBytes]...,
			)
			at = end
		}
	}

	return dst
}

func (h *histogram) Stats() device.Stats {
	return h.stats
}

func (h *histogram) Close() (err error) {
	for _, w := range h.workers {
		err = errors.Join(err, w.memory.Free())
	}
	h.workers = nil
	return err
}
