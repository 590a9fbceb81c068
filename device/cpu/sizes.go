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
	maxBlockBytes = 16 << 10 // of a bucket's blocks; larger ones waste more than they gain

	// minShare is the least that the scratch buffers of a worker are cut down to where memory is short. Each is at most
	// an eighth of the worker's share of the records, so that all of them together take less than the records do.
	minShare = 16 << 10

	// minSplit is the number of buckets that an oversized bucket can always be split into.
	minSplit = 64
)

// unitBytes is read at a time by one worker, and must stay in its L2 cache until it is scattered.
var unitBytes = 256 << 10

// leafBytes is the size of bucket that the sort in cache is meant for: its elements and as much again must fit in
// L2. Larger ones slow Store down even there, smaller ones Load.
var leafBytes = sync.OnceValue(func() int {
	l2 := cpuid.CPU.Cache.L2
	if l2 < 256<<10 || l2 > 4<<20 {
		l2 = 1 << 20 // unknown, or shared by several cores
	}
	return min(1<<(bits.Len(uint(l2))-2), 512<<10)
})

// sizes are the sizes of all that a chunk of records consists of, so that memory is exactly what it takes.
// All of them grow with the number of records only, so that a chunk holds any smaller number as well.
type sizes struct {
	records     int64 // capacity
	source      int64 // records that are read to fill it, if more
	workers     int
	element     int  // bytes
	record      int  // bytes
	keptRecords int  // bytes of each record that are kept beside its element: all or none
	whole       bool // records are moved whole, elements are words of them: see wholes
	bucket      int  // elements that a bucket should have
	leaf        int  // elements of the largest bucket that is sorted in cache
	unit        int  // records read at a time by one worker
	out         int  // records in a block that Store writes
	block       int  // elements in a block of a bucket, a power of two
	blocks      int
	line        int  // bytes of a bucket's line in the scatter
	sections    bool // see sections: what is said of buckets is not used
}

func newSizes(opt device.ChunkOptions, records int64) sizes {
	size := opt.Keyer.Layout().RecordSize
	s := sizes{records: records, source: max(records, opt.SourceRecords), element: keyBytes(opt.Keyer), record: size,
		sections: opt.Algorithm == countScanReorder}
	switch word := wordBytes(opt.Keyer); {
	case word > 0:
		s.element, s.whole = word, true
	case s.element == 0:
		s.element, s.keptRecords = refBytes, size
	}
	inCache := leafBytes() / s.element
	if s.whole {
		inCache = 2 * leafBytes() / (s.element + 2*refBytes) // with what is sorted in place of them
	}
	unit := unitBytes
	if s.whole {
		unit = int(min(max(records*int64(size)/segmentsTarget, int64(unitBytes)), wholeUnit))
	}
	s.workers = workersFor(opt.Workers, records, max(1, unitBytes/size))
	share := max(records*int64(size)/int64(8*s.workers), minShare)
	s.unit = max(1, int(min(share, int64(unit)))/size)
	s.out = max(1, int(min(share, int64(opt.BlockBytes)))/size)
	share = (records-1)/int64(16*s.workers) + 1 // 16 buckets for each worker, so that all end at about the same time
	s.bucket = int(min(int64(inCache), max(share, minShare/8)))
	s.leaf = int(min(records, 4*min(int64(inCache), max(share/2, minShare/8))))
	if share := records / radix.MaxBuckets; 2*share > int64(s.leaf) { // as many buckets as can be hold more than that
		s.leaf = 2 * s.leaf // or about one half of them would be cut again
	}
	setBlocks(&s)
	return s
}

// segmentsShare is the part of a chunk's records that the ends of segments may take, if more are read than it holds.
const segmentsShare = 10

// segments is the number that there is room for: the units of a chunk that is full, or of a larger source, and what
// order.admit holds back.
func (s *sizes) segments() int {
	units := func(records int64) int64 { return (records + int64(s.unit) - 1) / int64(s.unit) }
	most := s.records * int64(s.element) / int64(4*segmentsShare*s.buckets(s.records))
	return int(max(units(s.records), min(units(s.source), most))) + 3*s.workers + 4
}

func (s *sizes) orderBytes() int { return 4 * s.segments() * s.buckets(s.records) }

// workersFor does not give a worker to less than a unit of records.
func workersFor(wanted int, records int64, unit int) int {
	if wanted <= 0 {
		wanted = runtime.GOMAXPROCS(0)
	}
	return int(max(1, min(int64(wanted), records/int64(unit))))
}

// buckets is the number of buckets that a scatter of n elements makes: enough that each fits in cache.
func (s *sizes) buckets(n int64) int {
	wanted := (n + int64(s.bucket) - 1) / int64(s.bucket)
	if wanted <= 1 {
		return 1
	}
	return min(radix.MaxBuckets, 1<<bits.Len64(uint64(wanted-1)))
}

// setBlocks chooses the blocks so that each worker can have one that is not full in every bucket, and some ahead,
// within a twelfth of the memory of the elements unless many workers share few: a block has two lines at least.
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

// zones is the number of zones of the pool: as many as let the last extent of each, half empty on average, take
// a part of what setBlocks leaves over. More than maxZones touch more memory than they give back earlier.
func zones(s *sizes) int {
	return max(1, min(s.blocks*s.block*s.element/(12*pool.ExtentBytes), maxZones))
}

const maxZones = 24

func (s *sizes) memory() int64 {
	if s.sections {
		return s.records*int64(2*16+s.record) + int64(s.workers)*int64(s.out*s.record+8*len(digitCounts{}))
	}
	arena := int64(s.blocks) * int64(s.block*s.element+8) // a block, its successor and its count
	perWorker := int64(s.perWorker()) + radix.CountsBytes + 4*radix.MaxNumbers + int64(48*(s.leaf/s.block+s.workers+1))
	if s.whole {
		arena += int64(s.orderBytes()) + int64(s.workers*s.buckets(s.records))*8 + int64(s.segments())*40
	}
	return arena + s.records*int64(s.keptRecords) + int64(s.workers)*perWorker
}

// perWorker is the scratch memory of a worker, in the order in which newWorker carves it.
func (s *sizes) perWorker() int {
	key := s.element
	if s.whole {
		key = refBytes
	}
	out := radix.WholeLines(int(min(int64(s.out), s.records)) * s.record) // a block on its way out
	bytes := 2*radix.WholeLines(s.leaf*key) + radix.WholeLines(s.batch()*key)
	if s.whole {
		bytes += radix.WholeLines(s.leaf*s.element) + radix.WholeLines(s.batch()*s.element)
	}
	return bytes + radix.ScattererBytes(s.maxBuckets(), s.line) + s.unitBytes() + out
}

// batch is the number of records whose elements are extracted before they are scattered: they stay in L1.
func (s *sizes) batch() int { return min(1024, s.unit) }

// maxBuckets is the greatest number of buckets that Load or Sort make.
func (s *sizes) maxBuckets() int {
	if s.records > int64(s.leaf) {
		return min(radix.MaxBuckets, 4*s.buckets(s.records))
	}
	return s.buckets(s.records)
}

// maxEqualities is the greatest number of majority keys that Load counts: of bare keys, as other elements differ.
// Each may cost two blocks when leaves are joined, one for its own and one as it keeps its neighbours apart. Of the
// blocks that setBlocks reserves, leaves that are joined need half of those of one worker.
func (s *sizes) maxEqualities() int {
	if s.keptRecords > 0 || s.whole {
		return 0
	}
	return min(s.maxBuckets()/8, s.workers*s.buckets(s.records)/4)
}

// unitBytes is the room for records on their way in; records that are kept are read to where they stay.
func (s *sizes) unitBytes() int {
	if s.keptRecords > 0 {
		return 0
	}
	return radix.WholeLines(int(min(int64(s.unit), s.records)) * s.record)
}
