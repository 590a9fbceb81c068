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

// Bare keys of one or two bytes have so few values that the records are counted, and written anew from the
// counts: the counting sort of Seward ("Information sorting in the application of electronic digital computers to
// business operations", 1954). Any number of them takes the same memory, so that neither a large file nor a stream
// is ever spilled.

// counts reports whether records are counted, so that a chunk holds any number of them.
func counts(k *format.Keyer) bool { return k.Layout().IsBare() && k.Layout().RecordSize <= 2 }

// maxTallied is how many records a histogram is said to hold: no file has more, and a few times as many are a
// number yet.
const maxTallied = 1 << 50

// histogram is a device.Chunk of records that are counted. Any number of them fits, and there is never a second one to
// merge with.
type histogram struct {
	device.Plain
	sizes
	values  []byte   // the records that there can be, in order
	workers []*tally // those that were needed so far
	stats   device.Stats

	mu   sync.Mutex // protects counts while workers add to them
	ends []int64    // of each of the values: how many there are, and once sorted, how many there are up to it
}

// tally is the scratch of one worker.
type tally struct {
	memory    *arena.Memory // of what follows
	counts    []uint32      // tables of as many as there are values, by the bytes of a record as an unsigned integer
	unit, out []byte        // records on their way in and out
	records   int           // in counts
}

// valuesOf is how many different records of a size there are.
func valuesOf(record int) int { return 1 << (8 * record) }

// newHistogramSizes are the sizes for as many workers as the memory is enough for, or any number where it is 0. ok
// is false where that is none, or where the records are not those of a histogram.
func newHistogramSizes(opt device.ChunkOptions, memoryBytes int64) (s sizes, ok bool) {
	if !counts(opt.Keyer) || opt.Algorithm == countScanReorder {
		return sizes{}, false
	}
	size := opt.Keyer.Layout().RecordSize
	s = sizes{record: size, records: opt.Records, unit: unitBytes / size, out: max(1, opt.BlockBytes/size)}
	s.workers = workersFor(opt.Workers, maxTallied, s.unit)
	if memoryBytes > 0 {
		shared := int64(valuesOf(size) * (size + 8))
		s.workers = int(min(int64(s.workers), (memoryBytes-shared)/int64(s.tallyBytes())))
	}
	return s, s.workers > 0
}

// tallyBytes is the scratch memory of a worker of a histogram, in the order in which it is carved.
func (s *sizes) tallyBytes() int {
	return 4*tables(s.record)*valuesOf(s.record) + s.unit*s.record + s.out*s.record
}

// tables is how many tables a worker counts in: to add to a count takes several times as long if it was added to
// just before. Those for keys of two bytes have to stay in L2 with a unit.
func tables(record int) int { return 4 / record }

func newHistogram(opt device.ChunkOptions, s sizes) *histogram {
	h := &histogram{sizes: s, values: make([]byte, valuesOf(s.record)*s.record), ends: make([]int64, valuesOf(s.record))}
	keys := make([]uint32, len(h.ends))
	for i := range keys {
		keys[i] = uint32(i)
	}
	opt.Keyer.Records32(h.values, keys)
	return h
}

// makeWorkers makes the scratch of workers where it is not there yet.
func (h *histogram) makeWorkers(workers int) error {
	for len(h.workers) < workers {
		memory, err := arena.Alloc(h.tallyBytes())
		if err != nil {
			return err
		}
		counts, rest := radix.Carve[uint32](memory.Bytes(), tables(h.record)*len(h.ends))
		unit := h.unit * h.record
		h.workers = append(h.workers, &tally{memory: memory, counts: counts, unit: rest[:unit], out: rest[unit:]})
	}
	return nil
}

func (h *histogram) Load(ctx context.Context, src device.Source) (int64, error) {
	h.stats = device.Stats{Algorithm: MSD, Passes: 1}
	clear(h.ends)
	in := newIntake(src, &h.sizes)
	workers := workersFor(h.sizes.workers, in.expected, h.unit)
	if err := h.makeWorkers(workers); err != nil {
		return 0, err
	}
	err := device.Each(ctx, workers, func(ctx context.Context, i int) error {
		w := h.workers[i]
		w.records = 0
		clear(w.counts)
		return h.count(ctx, w, in)
	})
	if err != nil {
		return 0, err
	}
	h.stats.Records = in.loaded.Load()
	return h.stats.Records, nil
}

// tallied is how many records a worker counts before it adds them to the counts of all, so that its own cannot
// overflow.
const tallied = 1 << 30

// count is what a worker does in Load.
func (h *histogram) count(ctx context.Context, w *tally, in *intake) error {
	for {
		recs, _, err := in.next(ctx, func(_ int64, n int) []byte { return w.unit[:n*h.record] })
		if err != nil {
			return err
		}
		w.add(recs, h.record)
		if len(recs) == 0 || w.records >= tallied {
			h.settle(w)
		}
		if len(recs) == 0 {
			return nil
		}
	}
}

// add counts records of a size.
func (w *tally) add(recs []byte, size int) {
	w.records += len(recs) / size
	words := arena.View[uint64](recs)
	rest := recs[len(arena.ByteView(words)):]
	if size == 1 {
		countBytes((*[4][1 << 8]uint32)(unsafe.Pointer(unsafe.SliceData(w.counts))), words)
	} else {
		countPairs((*[2][1 << 16]uint32)(unsafe.Pointer(unsafe.SliceData(w.counts))), words)
	}
	for ; len(rest) > 0; rest = rest[size:] {
		w.counts[number(rest[:size])]++
	}
}

// number is the bytes of a record as an unsigned integer of this machine.
func number(rec []byte) int {
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

// settle adds what a worker has counted to the counts of all.
func (h *histogram) settle(w *tally) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for i := range h.ends {
		at := number(h.values[i*h.record : (i+1)*h.record])
		for ; at < len(w.counts); at += len(h.ends) {
			h.ends[i] += int64(w.counts[at])
		}
	}
	clear(w.counts)
	w.records = 0
}

// Sort makes where each value ends of how many there are.
func (h *histogram) Sort(ctx context.Context) error {
	end := int64(0)
	for i, n := range h.ends {
		end += n
		h.ends[i] = end
	}
	return ctx.Err()
}

func (h *histogram) Store(ctx context.Context, limit int64, _ bool, w device.BlockWriter) error {
	limit = limited(limit, h.stats.Records)
	share := max(limit/int64(8*h.sizes.workers), minShare)
	block := min(share, int64(h.out))
	tasks := (limit + block - 1) / block
	workers := int(min(tasks, int64(h.sizes.workers)))
	if err := h.makeWorkers(workers); err != nil {
		return err
	}
	return device.InOrder(ctx, workers, int(tasks), func(ctx context.Context, worker, i int) error {
		first := int64(i) * block
		return w.WriteBlock(ctx, first, h.records(h.workers[worker].out, first, min(block, limit-first)))
	})
}

// records gives count records of the sorted order from the first on, in dst.
func (h *histogram) records(dst []byte, first, count int64) []byte {
	size := int64(h.record)
	dst = dst[:count*size]
	i := sort.Search(len(h.ends), func(i int) bool { return h.ends[i] > first })
	for at := int64(0); at < count; i++ {
		if end := min(h.ends[i]-first, count); end > at {
			radix.Fill(dst[at*size:end*size], h.values[i*h.record:(i+1)*h.record]...)
			at = end
		}
	}
	return dst
}

func (h *histogram) Stats() device.Stats { return h.stats }

func (h *histogram) Close() (err error) {
	for _, w := range h.workers {
		err = errors.Join(err, w.memory.Free())
	}
	h.workers = nil
	return err
}
