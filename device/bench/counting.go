package bench

import (
	"context"
	"runtime"
	"slices"
	"sync/atomic"

	"github.com/extsort/extsort/device"
	"github.com/extsort/extsort/device/arena"
	"github.com/extsort/extsort/format"
)

// countScanReorder is the name of the algorithm of Harada and Howes.
const countScanReorder = "count-scan-reorder"

// withCounting adds the algorithm count-scan-reorder to the CPU device. It exists for comparison:
// it is the predecessor of the CPU's own algorithm, and sorts never use it.
type withCounting struct{ device.Device }

func (d withCounting) Info() device.Info {
	info := d.Device.Info()
	info.Algorithms = append(slices.Clone(info.Algorithms), countScanReorder)
	return info
}

// Capabilities returns none for count-scan-reorder.
func (d withCounting) Capabilities(
	opt device.ChunkOptions,
) device.Capabilities {
	if opt.Algorithm == countScanReorder {
		return device.Capabilities{}
	}
	return d.Device.Capabilities(opt)
}

func (d withCounting) MaxRecords(
	opt device.ChunkOptions, memoryBytes int64,
) int64 {
	if opt.Algorithm != countScanReorder {
		return d.Device.MaxRecords(opt, memoryBytes)
	}
	perWorker := d.BlockBytes(opt, 0) + 8*len(digitCounts{})
	perRecord := 2*elementBytes + opt.Keyer.Layout().RecordSize
	return max(
		0, memoryBytes-int64(countingWorkers(opt)*perWorker),
	) / int64(perRecord)
}

func (d withCounting) BlockBytes(opt device.ChunkOptions, records int64) int {
	if opt.Algorithm != countScanReorder {
		return d.Device.BlockBytes(opt, records)
	}
	size := opt.Keyer.Layout().RecordSize
	return max(1, opt.BlockBytes/size) * size
}

func (d withCounting) NewChunk(
	ctx context.Context, opt device.ChunkOptions,
) (device.Chunk, error) {
	if opt.Algorithm != countScanReorder {
		return d.Device.NewChunk(ctx, opt)
	}
	return newCounting(opt, d.BlockBytes(opt, opt.Records))
}

// counting is a device.Chunk that sorts as in figure 1 of Harada and Howes, "Introduction to GPU
// Radix Sort", on a CPU. Each worker has a section of the input. It counts the values of one
// digit in its section. A prefix sum of all counts in column-major order then determines where
// each value of each section begins (equation 1), and each worker moves its section there. The
// least significant digit is first. Every element moves through all of memory once per byte of
// the key.
type counting struct {
	device.Plain
	countingSizes
	countingMemory
	keyer *format.Keyer
	table []digitCounts // counts of each worker
	stats device.Stats
}

type countingSizes struct {
	capacityRecords int64 // in records
	recordBytes     int   // size of a record in bytes
	blockRecords    int   // number of records in a block that Store writes
}

// countingMemory is the memory of a chunk, in one arena.
type countingMemory struct {
	arena *arena.Memory
	kept  []byte       // the records as they were loaded
	outs  []byte       // the outgoing blocks of all workers
	order []indexedKey // the elements in order
	swap  []indexedKey // space for reordering them
}

// indexedKey is up to 64 bits of a record's key, and the index of the record.
type indexedKey = [2]uint64

const elementBytes = 16 // size of an indexedKey

// digitCounts contains a count for each value of an 8-bit digit.
type digitCounts [1 << 8]int64

// countingWorkers returns the number of workers of a chunk.
func countingWorkers(opt device.ChunkOptions) int {
	if opt.Workers > 0 {
		return opt.Workers
	}
	return runtime.GOMAXPROCS(0)
}

func newCounting(opt device.ChunkOptions, blockBytes int) (*counting, error) {
	workers := countingWorkers(opt)
	size := opt.Keyer.Layout().RecordSize
	elements := elementBytes * int(opt.Records)
	outs := workers * blockBytes
	memory, err := arena.Alloc(2*elements + outs + int(opt.Records)*size)
	if err != nil {
		return nil, err
	}
	b := memory.Bytes()
	return &counting{
		countingSizes: countingSizes{
			capacityRecords: opt.Records,
			recordBytes:     size,
			blockRecords:    blockBytes / size,
		},
		countingMemory: countingMemory{
			arena: memory,
			order: arena.View[indexedKey](b[:elements]),
			swap:  arena.View[indexedKey](b[elements : 2*elements]),
			outs:  b[2*elements:][:outs],
			kept:  b[2*elements+outs:],
		},
		keyer: opt.Keyer,
		table: make([]digitCounts, workers),
	}, nil
}

// loadBytes is the size of the units in which a worker reads the source.
const loadBytes = 256 << 10

// Load reads the source with all workers.
func (c *counting) Load(ctx context.Context, src device.Source) (int64, error) {
	c.stats = device.Stats{Algorithm: countScanReorder}
	unit := int64(max(1, loadBytes/c.recordBytes))
	var room, loaded atomic.Int64
	room.Store(c.capacityRecords)
	err := device.Each(ctx, len(c.table), func(ctx context.Context, _ int) error {
		for {
			n, err := c.loadUnit(ctx, src, &room, unit)
			if n == 0 || err != nil {
				return err
			}
			loaded.Add(n)
		}
	})
	if err != nil {
		return 0, err
	}
	c.stats.Records = loaded.Load()
	return c.stats.Records, nil
}

// loadUnit reads at most a unit of records. It claims room for them first, so that no worker reads
// more than fits, and returns the room that the source did not use.
func (c *counting) loadUnit(
	ctx context.Context,
	src device.Source,
	room *atomic.Int64,
	unit int64,
) (records int64, err error) {
	if err := context.Cause(ctx); err != nil {
		return 0, err
	}
	claim := claimUpTo(room, unit)
	if claim == 0 {
		return 0, nil
	}
	_, n, err := src.Next(int(claim), func(first int64, n int) []byte {
		return c.kept[int(first)*c.recordBytes:][:n*c.recordBytes]
	})
	if err != nil {
		return 0, err
	}
	room.Add(claim - int64(n))
	return int64(n), nil
}

// claimUpTo takes at most n from room and returns how much it took.
func claimUpTo(room *atomic.Int64, n int64) int64 {
	for {
		left := room.Load()
		claim := min(left, n)
		if room.CompareAndSwap(left, left-claim) {
			return claim
		}
	}
}

// eachWorker calls f with every worker's counts and section of the elements.
func (c *counting) eachWorker(
	ctx context.Context, f func(counts *digitCounts, section []indexedKey),
) error {
	n := int(c.stats.Records)
	workers := len(c.table)
	elements := c.order
	return device.Each(ctx, workers, func(ctx context.Context, i int) error {
		f(&c.table[i], elements[i*n/workers:(i+1)*n/workers])
		return context.Cause(ctx)
	})
}

// Sort sorts by 64 bits of the key at a time, the least significant first.
func (c *counting) Sort(ctx context.Context) error {
	for i := range c.order[:c.stats.Records] {
		c.order[i][1] = uint64(i)
	}
	for end := 8 * c.keyer.KeySize(); end > 0; end -= 64 {
		from := max(0, end-64)
		err := c.eachWorker(ctx, func(_ *digitCounts, section []indexedKey) {
			for i, e := range section {
				section[i][0] = c.keyer.BitRange(c.recordOf(e), from, end-from)
			}
		})
		for shift := 0; err == nil && shift < end-from; shift += 8 {
			err = c.sortByDigit(ctx, shift)
		}
		if err != nil {
			return err
		}
	}

	return nil
}

// sortByDigit sorts the elements by the digit that begins at bit shift: count, scan, reorder.
func (c *counting) sortByDigit(ctx context.Context, shift int) error {
	c.stats.Passes++
	err := c.eachWorker(ctx, func(counts *digitCounts, section []indexedKey) {
		*counts = digitCounts{}
		for _, e := range section {
			counts[uint8(e[0]>>shift)]++
		}
	})
	if err != nil {
		return err
	}
	scanColumns(c.table)
	err = c.eachWorker(ctx, func(next *digitCounts, section []indexedKey) {
		for _, e := range section {
			at := &next[uint8(e[0]>>shift)]
			c.swap[*at] = e
			*at++
		}
	})
	c.order, c.swap = c.swap, c.order
	return err
}

// scanColumns replaces each count by the sum of the counts before it in column-major order: digit
// by digit, and worker by worker within a digit.
func scanColumns(table []digitCounts) {
	sum := int64(0)
	for digit := range len(digitCounts{}) {
		for worker := range table {
			count := &table[worker][digit]
			*count, sum = sum, sum+*count
		}
	}
}

// recordOf returns the record of an element.
func (c *counting) recordOf(e indexedKey) []byte {
	return c.kept[int(e[1])*c.recordBytes:][:c.recordBytes]
}

func (c *counting) Store(
	ctx context.Context,
	limit int64,
	_ bool,
	w device.BlockWriter,
) error {
	if limit < 0 || limit > c.stats.Records {
		limit = c.stats.Records
	}
	block := int64(c.blockRecords)
	tasks := int((limit + block - 1) / block)
	workers := len(c.table)
	return device.InOrder(ctx, workers, tasks, func(ctx context.Context, worker, task int) error {
		out := c.outs[worker*c.blockRecords*c.recordBytes:]
		first := int64(task) * block
		count := min(block, limit-first)
		for i, e := range c.order[first : first+count] {
			copy(out[i*c.recordBytes:], c.recordOf(e))
		}
		return w.WriteBlock(ctx, first, out[:int(count)*c.recordBytes])
	})
}

func (c *counting) Stats() device.Stats { return c.stats }

func (c *counting) Close() error { return c.arena.Free() }
