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
	sourceRecords     int64 // number of records read to fill it, if greater
	workers           int
	elementBytes      int  // size in bytes
	recordBytes       int  // size in bytes
	storedRecordBytes int  // bytes of each record stored next to its element: all or none
	whole             bool // records are moved whole, and elements are words of them; see wholes
	bucketElems       int  // target number of elements in a bucket
	leafElems         int  // maximum number of elements in a bucket that is sorted in the cache
	unitRecords       int  // number of records read at a time by one worker
	outRecords        int  // number of records in a block that Store writes
	blockElems        int  // number of elements in a block of a bucket, a power of two
	blocks            int
	lineBytes         int // size of a bucket's line in the scatter in bytes
}

func newSizes(opt device.ChunkOptions, records int64) sizes {
	size := opt.Keyer.Layout().RecordSize
	s := sizes{
		records:       records,
		sourceRecords: max(records, opt.SourceRecords),
		elementBytes:  keyBytes(opt.Keyer),
		recordBytes:   size,
	}
	switch word := wordBytes(opt.Keyer); {
	case word > 0:
		s.elementBytes = word
		s.whole = true
	case s.elementBytes == 0:
		s.elementBytes = refBytes
		s.storedRecordBytes = size
	}

	s.workers = workersFor(opt.Workers, records, max(1, unitBytes/size))
	share := max(records*int64(size)/int64(8*s.workers), minShare)
	s.unitRecords = max(1, int(min(share, s.maxUnitBytes()))/size)
	s.outRecords = max(1, int(min(share, int64(opt.BlockBytes)))/size)
	setLeaves(&s)
	setBlocks(&s)
	return s
}

// maxUnitBytes returns the size of a unit if the worker has enough memory.
func (s *sizes) maxUnitBytes() int64 {
	if !s.whole {
		return int64(unitBytes)
	}
	wanted := s.records * int64(s.recordBytes) / segmentsTarget
	return min(max(wanted, int64(unitBytes)), wholeUnit)
}

// cachedElems returns the number of elements that are sorted in the cache, together with the
// references to them if these are sorted instead.
func (s *sizes) cachedElems() int64 {
	if s.whole {
		return int64(2 * leafBytes() / (s.elementBytes + 2*refBytes))
	}
	return int64(leafBytes() / s.elementBytes)
}

// setLeaves chooses the sizes of buckets and leaves.
func setLeaves(s *sizes) {
	const least = minShare / 8
	inCache := s.cachedElems()

	// 16 buckets per worker, so that all workers end at about the same time
	share := (s.records-1)/int64(16*s.workers) + 1
	s.bucketElems = int(min(inCache, max(share, least)))
	s.leafElems = int(min(s.records, 4*min(inCache, max(share/2, least))))

	// If even the maximum number of buckets leaves larger ones, about half of them would have to
	// be split.
	if 2*(s.records/radix.MaxBuckets) > int64(s.leafElems) {
		s.leafElems *= 2
	}
}

// segmentsShare limits the ends of segments to 1/segmentsShare of the records of a chunk, if more
// records are read than fit.
const segmentsShare = 10

// maxSegments returns the maximum number of segments: the units of a full chunk, or of a larger
// source, plus the reserve of order.admit.
func (s *sizes) maxSegments() int {
	units := func(records int64) int64 {
		return (records + int64(s.unitRecords) - 1) / int64(s.unitRecords)
	}
	segmentBytes := int64(4 * s.bucketsFor(s.records))
	most := s.records * int64(s.elementBytes) / (segmentsShare * segmentBytes)
	segments := max(units(s.records), min(units(s.sourceRecords), most))
	return int(segments) + 3*s.workers + 4
}

func (s *sizes) orderBytes() int {
	return 4 * s.maxSegments() * s.bucketsFor(s.records)
}

// workersFor returns the number of workers, so that each has at least a unit of records.
func workersFor(wanted int, records int64, unit int) int {
	if wanted <= 0 {
		wanted = runtime.GOMAXPROCS(0)
	}
	return int(max(1, min(int64(wanted), records/int64(unit))))
}

// bucketsFor returns the number of buckets for scattering n elements, so that each bucket fits into
// the cache.
func (s *sizes) bucketsFor(n int64) int {
	wanted := (n + int64(s.bucketElems) - 1) / int64(s.bucketElems)
	if wanted <= 1 {
		return 1
	}
	return min(radix.MaxBuckets, 1<<bits.Len64(uint64(wanted-1)))
}

// setBlocks chooses the block size so that each worker can have a partial block in every bucket,
// and some blocks ahead. These extra blocks take at most a twelfth of the memory of the elements,
// unless many workers share few elements: a block has at least two lines.
func setBlocks(s *sizes) {
	elements := s.records * int64(s.elementBytes)
	slack := elements/12 + int64(s.workers)*4*radix.LineBytes
	partial := int64(s.workers * (s.bucketsFor(s.records) + radix.BlocksAhead))

	if s.records > int64(s.leafElems) {
		partial += int64(s.workers * (minSplit + 1))
		slack += int64(s.workers*minSplit) * 4 * radix.LineBytes
	}

	blockBytes := min(max(slack/partial, 2*radix.LineBytes), maxBlockBytes)
	blockBytes = 1 << (bits.Len64(uint64(blockBytes)) - 1)
	slack = max(slack, partial*blockBytes)
	s.blockElems = int(blockBytes) / s.elementBytes
	s.blocks = int((elements+slack)/blockBytes) + 1
	s.lineBytes = radix.LineBytes
	if blockBytes >= 8*radix.LongLineBytes && leafBytes() >= 512<<10 {
		s.lineBytes = radix.LongLineBytes
	}
}

// zoneCount returns the number of zones of the pool. The last extent of each zone is half empty on
// average; all of these together must take only a part of the slack of setBlocks. More than
// maxZones zones would touch more memory than they release early.
func zoneCount(s *sizes) int {
	poolBytes := s.blocks * s.blockElems * s.elementBytes
	affordable := poolBytes / (12 * pool.ExtentBytes)
	return max(1, min(affordable, maxZones))
}

const maxZones = 24

// blockOverhead is the memory of a block in addition to its elements: the number of the next
// block, and the number of elements used.
const blockOverhead = 8

const (
	listBytes       = 8  // size of a pool.List
	maxSegmentBytes = 40 // upper limit for a segment of an order, with the growth of its slice
)

// memoryBytes returns the memory of a chunk.
func (s *sizes) memoryBytes() int64 {
	blockBytes := s.blockElems*s.elementBytes + blockOverhead
	bytes := int64(s.blocks) * int64(blockBytes)
	bytes += s.records * int64(s.storedRecordBytes)

	if s.whole {
		lists := s.workers * s.bucketsFor(s.records)
		bytes += int64(s.orderBytes())
		bytes += int64(lists) * listBytes
		bytes += int64(s.maxSegments()) * maxSegmentBytes
	}

	blocksOfLeaf := s.leafElems/s.blockElems + s.workers + 1
	worker := int64(s.workerBytes())
	worker += radix.CountsBytes + 4*radix.MaxNumbers
	worker += int64(48 * blocksOfLeaf) // slices, which are appended to
	return bytes + int64(s.workers)*worker
}

// workerBytes returns the scratch memory of a worker, in the order in which newWorker carves it.
func (s *sizes) workerBytes() int {
	key := s.elementBytes
	if s.whole {
		key = refBytes
	}
	bytes := 2 * radix.WholeLines(s.leafElems*key)
	bytes += radix.WholeLines(s.batchElems() * key)
	if s.whole {
		bytes += radix.WholeLines(s.leafElems * s.elementBytes)
		bytes += radix.WholeLines(s.batchElems() * s.elementBytes)
	}
	bytes += radix.ScattererBytes(s.maxBuckets(), s.lineBytes)
	bytes += s.unitBytes()

	outgoing := int(min(int64(s.outRecords), s.records))
	return bytes + radix.WholeLines(outgoing*s.recordBytes)
}

// batchElems returns the number of records whose elements are extracted before they are scattered,
// so that they stay in L1.
func (s *sizes) batchElems() int {
	return min(1024, s.unitRecords)
}

// maxBuckets returns the maximum number of buckets in Load or Sort.
func (s *sizes) maxBuckets() int {
	if s.records > int64(s.leafElems) {
		return min(radix.MaxBuckets, 4*s.bucketsFor(s.records))
	}
	return s.bucketsFor(s.records)
}

// maxEqualities returns the maximum number of majority keys that Load counts. Only bare keys can be
// equal; other elements are unique. When leaves are joined, each majority key may cost two blocks:
// one for its own leaf, and one because it separates its neighbors. setBlocks reserves blocks for
// every worker, and joined leaves need only half of one worker's share.
func (s *sizes) maxEqualities() int {
	if s.storedRecordBytes > 0 || s.whole {
		return 0
	}
	return min(s.maxBuckets()/8, s.workers*s.bucketsFor(s.records)/4)
}

// unitBytes returns the size of the buffer for incoming records. Records that are kept need none,
// because they are read to their final place.
func (s *sizes) unitBytes() int {
	if s.storedRecordBytes > 0 {
		return 0
	}
	return radix.WholeLines(int(min(int64(s.unitRecords), s.records)) * s.recordBytes)
}
