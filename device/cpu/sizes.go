package cpu

import (
	"math/bits"
	"runtime"
	"sync"

	"github.com/klauspost/cpuid/v2"

	"github.com/extsort/extsort/device"
	"github.com/extsort/extsort/device/cpu/pool"
	"github.com/extsort/extsort/device/cpu/radix"
)

const (
	// of a block of a bucket; larger blocks waste more memory than they save time
	maxBlockBytes = 16 << 10

	// minShare is the minimum size of a worker's scratch buffers when memory is short. Each
	// buffer is at most an eighth of the worker's share of the records, so that all buffers
	// together are smaller than the records.
	minShare = 16 << 10

	// minSplit is the number of buckets into which an oversized bucket can always be split.
	minSplit = 64
)

// unitBytes is the amount that one worker reads at a time. It must stay in the worker's L2 cache
// until it is scattered.
var unitBytes = 256 << 10

// leafBytes returns the size of a bucket that is sorted in the cache: its elements and as much
// space again must fit into L2. Larger buckets slow Store down even if they fit, and smaller ones
// slow Load down.
var leafBytes = sync.OnceValue(func() int {
	l2 := cpuid.CPU.Cache.L2
	if l2 < 256<<10 || l2 > 4<<20 {
		l2 = 1 << 20 // unknown, or shared by several cores
	}
	return min(1<<(bits.Len(uint(l2))-2), 512<<10)
})

// sizes contains the sizes of all parts of a chunk, so that its memory is known exactly. They
// grow only with the number of records, so a chunk holds any smaller number of records as well.
type sizes struct {
	records           int64 // capacity in records
	source            int64 // number of records read to fill it, if greater
	workers           int
	element           int  // size in bytes
	record            int  // size in bytes
	storedRecordBytes int  // bytes of each record stored next to its element: all or none
	whole             bool // records are moved whole, and elements are words of them; see wholes
	bucket            int  // target number of elements in a bucket
	leaf              int  // maximum number of elements in a bucket that is sorted in the cache
	unit              int  // number of records read at a time by one worker
	out               int  // number of records in a block that Store writes
	block             int  // number of elements in a block of a bucket, a power of two
	blocks            int
	line              int // size of a bucket's line in the scatter in bytes
}

func newSizes(opt device.ChunkOptions, records int64) sizes {
	size := opt.Keyer.Layout().RecordSize
	s := sizes{
		records: records,
		source:  max(records, opt.SourceRecords),
		element: keyBytes(opt.Keyer),
		record:  size,
	}
	switch word := wordBytes(opt.Keyer); {
	case word > 0:
		s.element = word
		s.whole = true
	case s.element == 0:
		s.element = refBytes
		s.storedRecordBytes = size
	}

	inCache := leafBytes() / s.element
	if s.whole {
		// including the references that are sorted in their place
		inCache = 2 * leafBytes() / (s.element + 2*refBytes)
	}
	unit := unitBytes
	if s.whole {
		unit = int(
			min(
				max(records*int64(size)/segmentsTarget, int64(unitBytes)),
				wholeUnit,
			),
		)
	}
	s.workers = workersFor(opt.Workers, records, max(1, unitBytes/size))
	share := max(records*int64(size)/int64(8*s.workers), minShare)
	s.unit = max(1, int(min(share, int64(unit)))/size)
	s.out = max(1, int(min(share, int64(opt.BlockBytes)))/size)
	// 16 buckets per worker, so that all workers end at about the same time
	share = (records-1)/int64(16*s.workers) + 1
	s.bucket = int(min(int64(inCache), max(share, minShare/8)))
	s.leaf = int(min(records, 4*min(int64(inCache), max(share/2, minShare/8))))
	// even the maximum number of buckets makes them larger than that
	if share := records / radix.MaxBuckets; 2*share > int64(s.leaf) {
		s.leaf = 2 * s.leaf // otherwise about half of them would have to be split
	}
	setBlocks(&s)
	return s
}

// segmentsShare limits the ends of segments to 1/segmentsShare of the records of a chunk, if more
// records are read than fit.
const segmentsShare = 10

// segments returns the maximum number of segments: the units of a full chunk, or of a larger
// source, plus the reserve of order.admit.
func (s *sizes) segments() int {
	units := func(records int64) int64 {
		return (records + int64(s.unit) - 1) / int64(s.unit)
	}
	most := s.records * int64(s.element) / int64(
		4*segmentsShare*s.buckets(s.records),
	)
	return int(
		max(units(s.records), min(units(s.source), most)),
	) + 3*s.workers + 4
}

func (s *sizes) orderBytes() int {
	return 4 * s.segments() * s.buckets(s.records)
}

// workersFor returns the number of workers, so that each has at least a unit of records.
func workersFor(wanted int, records int64, unit int) int {
	if wanted <= 0 {
		wanted = runtime.GOMAXPROCS(0)
	}
	return int(max(1, min(int64(wanted), records/int64(unit))))
}

// buckets returns the number of buckets for scattering n elements, so that each bucket fits into
// the cache.
func (s *sizes) buckets(n int64) int {
	wanted := (n + int64(s.bucket) - 1) / int64(s.bucket)
	if wanted <= 1 {
		return 1
	}
	return min(radix.MaxBuckets, 1<<bits.Len64(uint64(wanted-1)))
}

// setBlocks chooses the block size so that each worker can have a partial block in every bucket,
// and some blocks ahead. These extra blocks take at most a twelfth of the memory of the elements,
// unless many workers share few elements: a block has at least two lines.
func setBlocks(s *sizes) {
	elements := s.records * int64(s.element)
	slack := elements/12 + int64(s.workers)*4*radix.LineBytes
	partial := int64(s.workers * (s.buckets(s.records) + radix.BlocksAhead))

	if s.records > int64(s.leaf) {
		partial += int64(s.workers * (minSplit + 1))
		slack += int64(s.workers*minSplit) * 4 * radix.LineBytes
	}

	blockBytes := min(max(slack/partial, 2*radix.LineBytes), maxBlockBytes)
	blockBytes = 1 << (bits.Len64(uint64(blockBytes)) - 1)
	slack = max(slack, partial*blockBytes)
	s.block = int(blockBytes) / s.element
	s.blocks = int((elements+slack)/blockBytes) + 1
	s.line = radix.LineBytes
	if blockBytes >= 8*radix.LongLineBytes && leafBytes() >= 512<<10 {
		s.line = radix.LongLineBytes
	}
}

// zones returns the number of zones of the pool. The last extent of each zone is half empty on
// average; all of these together must take only a part of the slack of setBlocks. More than
// maxZones zones would touch more memory than they release early.
func zones(s *sizes) int {
	return max(
		1, min(s.blocks*s.block*s.element/(12*pool.ExtentBytes), maxZones),
	)
}

const maxZones = 24

func (s *sizes) memory() int64 {
	arena := int64(s.blocks) * int64(s.block*s.element+8) // a block, its successor and its count
	perWorker := int64(s.perWorker()) + radix.CountsBytes + 4*radix.MaxNumbers + int64(
		48*(s.leaf/s.block+s.workers+1),
	)
	if s.whole {
		arena += int64(s.orderBytes()) + int64(
			s.workers*s.buckets(s.records),
		)*8 + int64(s.segments())*40
	}
	return arena + s.records*int64(s.storedRecordBytes) + int64(s.workers)*perWorker
}

// perWorker returns the scratch memory of a worker, in the order in which newWorker carves it.
func (s *sizes) perWorker() int {
	key := s.element
	if s.whole {
		key = refBytes
	}
	out := radix.WholeLines(
		int(min(int64(s.out), s.records)) * s.record,
	) // an outgoing block
	bytes := 2*radix.WholeLines(s.leaf*key) + radix.WholeLines(s.batch()*key)
	if s.whole {
		bytes += radix.WholeLines(s.leaf*s.element) + radix.WholeLines(s.batch()*s.element)
	}
	return bytes + radix.ScattererBytes(s.maxBuckets(), s.line) + s.unitBytes() + out
}

// batch returns the number of records whose elements are extracted before they are scattered, so
// that they stay in L1.
func (s *sizes) batch() int { return min(1024, s.unit) }

// maxBuckets returns the maximum number of buckets in Load or Sort.
func (s *sizes) maxBuckets() int {
	if s.records > int64(s.leaf) {
		return min(radix.MaxBuckets, 4*s.buckets(s.records))
	}
	return s.buckets(s.records)
}

// maxEqualities returns the maximum number of majority keys that Load counts. Only bare keys can be
// equal; other elements are unique. When leaves are joined, each majority key may cost two blocks:
// one for its own leaf, and one because it separates its neighbors. setBlocks reserves blocks for
// every worker, and joined leaves need only half of one worker's share.
func (s *sizes) maxEqualities() int {
	if s.storedRecordBytes > 0 || s.whole {
		return 0
	}
	return min(s.maxBuckets()/8, s.workers*s.buckets(s.records)/4)
}

// unitBytes returns the size of the buffer for incoming records. Records that are kept need none,
// because they are read to their final place.
func (s *sizes) unitBytes() int {
	if s.storedRecordBytes > 0 {
		return 0
	}
	return radix.WholeLines(int(min(int64(s.unit), s.records)) * s.record)
}
