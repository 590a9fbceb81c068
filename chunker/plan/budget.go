package plan

import (
	"fmt"
	"sort"

	"github.com/extsort/extsort/internal/human"
	"github.com/extsort/extsort/internal/option"
)

// A Budget lists the uses of the memory limit. Its lines add up to the limit.
type Budget struct {
	Lines []line `json:"lines"`
}

// A line is one line of a Budget.
type line struct {
	For   string `json:"for"`
	Bytes int64  `json:"bytes"`
	Why   string `json:"why"`
}

// Chunks returns the memory left over by the other lines. Chunks use it during sorting. Later, the
// buffers of a merge or a partition use it.
func (b *Budget) Chunks() int64 { return b.Lines[len(b.Lines)-1].Bytes }

// Sizes say how the engine divides its work: the number of workers, the size of blocks, and the
// memory of each part.
type Sizes struct {
	Budget       Budget
	UnusedBytes  int64 // memory that stays untouched
	Workers      int
	BlockBytes   int   // size of the blocks of temporary data and of the output, whole records
	CodecWorkers int   // number of workers that compress the output
	SpillCoders  int   // number of spilled blocks compressed or decompressed at once
	Queue        Queue // direct I/O requests
	RequestBytes int64 // memory for reading ahead in remote inputs
	PartBytes    int   // part size of an output that is uploaded to an object store
	Parts        int   // number of parts that are filled or sent at the same time
	MergeBytes   int64 // memory for the buffers of a merge
	FanIn        int   // maximum number of runs merged at once
	Slots        int   // number of chunks in flight on each GPU
	ChunkBytes   int64 // host memory of a chunk
	IndexBytes   int64 // memory for the indexes of runs and parts; the rest is in a file

	ReadAheadBytes int64 // maximum number of input bytes that the system may read ahead
}

// reserved contains amounts of memory that depend on an earlier decision, not on the facts.
type reserved struct {
	unused int64 // memory that stays untouched
	index  int64 // memory that the index of the chosen strategy needs; 0: not known yet
}

const (
	// runtimeBytes plus 1/runtimePart of the limit are for everything except chunks and buffers.
	// The second term covers garbage, which grows with the amount of work.
	runtimeBytes = 12 << 20
	runtimePart  = 48

	// minWorkerBytes and minWorkerRecords are the least memory per worker. With less, the fan-in of
	// a merge could be so low that it needs several more levels.
	minWorkerBytes   = 512 << 10
	minWorkerRecords = 8

	// limitedBytes is enough memory for a sort that writes only the first few records. More memory
	// does not make it faster.
	limitedBytes = 64 << 20

	// chunkOfLimit is the least size of a chunk, as a multiple of the number of records to write.
	// All other records of a chunk are dropped before anything is spilled.
	chunkOfLimit = 16

	maxBlockBytes = 1 << 20
	minBlockBytes = 32 << 10

	// driverBytes is the memory that the driver of a device with unified memory allocates for
	// itself. PoCL allocates about 24 MiB.
	driverBytes = 24 << 20

	blockEntryBytes = 160 // index memory per block, including copies made to sort the index

	// mergePart is the denominator of the fraction of the memory that a merge leaves for indexes
	// and garbage.
	mergePart = 8
)

// Divide divides the memory limit among its uses. For a merge of sorted inputs, f needs no devices.
func Divide(f *Facts) Sizes { return divide(f, reserved{}) }

func divide(f *Facts, r reserved) Sizes {
	d := &division{f: f, reserved: r, left: f.Request.MemoryBytes}
	s := &d.sizes
	d.fulfill(processWishes)
	s.Workers = limitWorkers(f, f.Request.Workers, d.left)
	d.fulfill(streamWishes)
	s.BlockBytes = chooseBlock(f, d.left, s.Workers)
	d.fulfill(blockWishes)

	s.Budget.Lines = append(d.lines, line{"chunks and buffers", d.left, "larger chunks make fewer runs and parts"})
	s.Workers = limitWorkers(f, s.Workers, d.left)
	s.MergeBytes = d.left - d.left/mergePart
	s.FanIn = fanIn(f, s)
	s.ReadAheadBytes = f.readAhead()
	return *s
}

const (
	// TransformBytes is the amount that a worker reads at once if records are transformed, unless a
	// record is larger.
	TransformBytes = 64 << 10

	// RemoteRequests requests of RemoteRequestBytes each keep any network busy. Together they get
	// at most 1/requestShare of the memory.
	RemoteRequests     = 32
	RemoteRequestBytes = 8 << 20
	requestShare       = 4

	// RemoteReaders is the maximum number of input sections that are read at the same time.
	RemoteReaders = RemoteRequests / 2

	// The parts of an uploaded output get 1/partShare of the memory, or more if they need it. A
	// store accepts at most maxParts parts, of at least minPartBytes each. At least leastParts are
	// in memory, so that one can be filled while another is sent.
	partShare    = 8
	minPartBytes = 5 << 20
	maxParts     = 10000
	leastParts   = 2
)

// uploadParts returns the size of the parts of an uploaded output, and how many of them are in
// memory at once. It returns 0 if the output is not uploaded.
func (f *Facts) uploadParts(memory int64) (size, parallel int) {
	if !f.Output.Remote {
		return 0, 0
	}
	record := int64(f.recordSize() + f.Request.ExtraBytes)
	return UploadParts(memory, max(f.OutputRecords(), f.Records, 0)*record)
}

// UploadParts divides memory for an output that is sent in parts. The parts are so large that a
// store accepts their number. An output of unknown size may still need too many.
func UploadParts(memory, all int64) (size, parallel int) {
	share := memory / partShare
	size = int(max(min(RemoteRequestBytes, share/leastParts), minPartBytes, all/(maxParts-1)+1))
	parallel = int(min(max(share/int64(size), leastParts), RemoteRequests))
	return size, parallel
}

// limitWorkers returns the given number of workers, or fewer if there is not enough memory for all
// of them.
func limitWorkers(f *Facts, workers int, memory int64) int {
	each := max(minWorkerBytes, minWorkerRecords*int64(f.recordSize()))
	return int(max(1, min(int64(workers), memory/each)))
}

// mostWorkers returns the largest number of workers whose needs fit in the memory, but at least
// one.
func mostWorkers(workers int, memory int64, needs func(workers int) int64) int {
	for workers > 1 && needs(workers) > memory {
		workers--
	}
	return workers
}

// unneeded returns how much memory a sort does not need if it writes only the first few records. It
// returns 0 if all records fit in memory.
func unneeded(f *Facts, memory int64) int64 {
	size := int64(f.recordSize())
	limit := f.First()
	isLarge := f.Records < 0 || f.Records > memory/size
	if limit < 0 || !isLarge || limit >= memory/(chunkOfLimit*size) {
		return 0
	}
	return memory - min(memory, max(limitedBytes, chunkOfLimit*limit*size))
}

// decoderPart limits the decompressors of inputs: they get at most 1/decoderPart of the memory that
// the runtime leaves.
const decoderPart = 3

// DecoderShare returns the part of a memory limit that decompressors of inputs may take.
func DecoderShare(limit int64) int64 { return (limit - runtimeBytes - limit/runtimePart) / decoderPart }

// decoderBytes returns the memory of the decompressors: the sum if inputs are read at the same
// time, otherwise the largest.
func decoderBytes(f *Facts) (bytes int64) {
	for _, one := range f.Decoders {
		if f.ConcurrentInputs {
			bytes += one
		} else {
			bytes = max(bytes, one)
		}
	}
	return bytes
}

// chooseBlock returns the size of blocks. Large blocks suit disks, but a merge needs a buffer of
// one block for each run.
func chooseBlock(f *Facts, memory int64, workers int) int {
	size := f.recordSize()
	block := maxBlockBytes
	for block > minBlockBytes && int64(block)*int64(64+8*workers) > memory {
		block /= 2
	}
	if f.Request.BlockBytes > 0 {
		block = f.Request.BlockBytes
	}
	return max(block/size, 1) * size
}

const (
	// An index gets at most 1/indexPart of the memory, or 1/streamPart for an input of unknown
	// size. A larger index is in a file, which costs next to nothing.
	indexPart      = 8
	streamPart     = 16
	maxStreamIndex = 2 << 20
)

// indexBytes returns the memory that the index of temporary data can use.
func (d *division) indexBytes() int64 {
	if d.f.Records < 0 {
		return min(d.left/streamPart, maxStreamIndex)
	}
	return max(indexBytes(d.f, d.sizes.BlockBytes, d.left), d.reserved.index)
}

// IndexEntryBytes returns the memory of a block in the index of a run.
func IndexEntryBytes(keyBytes int) int64 { return int64(blockEntryBytes + keyBytes) }

// indexBytes returns the memory for the index of all blocks in the worst case, in which as many
// records as possible are spilled. Counted keys are not spilled. With a limit, only the first
// records of each chunk are spilled, and a chunk takes more than half of the memory.
func indexBytes(f *Facts, blockBytes int, memory int64) int64 {
	spilled := f.bytes()
	limit := f.First()
	first := limit * int64(f.recordSize())
	switch {
	case f.ConcurrentInputs || f.Request.Strategy.Properties().SpillsAll:
	case f.onHost() && f.Devices[0].Histogram:
		return 0
	case limit >= 0 && limit < f.Records && first < memory/2:
		spilled = int64(float64(spilled) * float64(first) / float64(memory/2))
	}
	return indexEntries(f, spilled/int64(blockBytes))
}

func indexEntries(f *Facts, blocks int64) int64 {
	return blocks * IndexEntryBytes(f.Keyer.KeySize())
}

// fewRuns is the fan-in below which it is faster to merge more runs with fewer workers than to add
// levels.
const fewRuns = 8

// fanIn returns the maximum number of runs that can be merged at once. If memory allows only a few,
// fanIn assumes fewer workers.
func fanIn(f *Facts, s *Sizes) int {
	n := 0
	for workers := s.Workers; workers > 0 && n < fewRuns; workers-- {
		n = max(n, MaxFanIn(f.Keyer, s.BlockBytes, workers, s.MergeBytes))
	}
	if f.Request.BatchSize > 0 {
		n = min(n, f.Request.BatchSize)
	}
	return max(n, 2)
}

// Merges reports whether there is enough memory to merge at all: blocks of large records may be too
// large.
func (s *Sizes) Merges(f *Facts) bool { return leastMerge(f.Keyer, s.BlockBytes) <= s.MergeBytes }

// A MemoryError is the error of a memory limit that is too small.
type MemoryError struct {
	Limit int64 // bytes
	Least int64 // bytes that would be enough; 0: not known

	Text string // the problem, and advice
}

func (e *MemoryError) Error() string {
	return fmt.Sprintf("memory limit %s: %s", human.Bytes(e.Limit), e.Text)
}

// NewMemoryError returns the error of a memory limit that is too small, with the least limit that is
// enough.
func NewMemoryError(f *Facts) error {
	workers := "one worker"
	advice := fmt.Sprintf("raise %v", option.MemoryBytes)
	least := leastMemory(f)
	if least > f.Request.MemoryBytes {
		advice = fmt.Sprintf("raise %v to at least %d MiB", option.MemoryBytes, least>>20)
	} else {
		least = 0
	}
	if s := Divide(f); s.Workers > 1 {
		workers = fmt.Sprintf("%d workers", s.Workers)
		advice += fmt.Sprintf(", or lower %v", option.Workers)
	}
	text := fmt.Sprintf("too little to sort records of %d bytes with %s (%s)", f.recordSize(), workers, advice)
	return &MemoryError{Limit: f.Request.MemoryBytes, Least: least, Text: text}
}

// leastMemory returns the least memory limit, in whole MiB, with which these records can be merged
// by as many workers as the current limit allows.
func leastMemory(f *Facts) int64 {
	workers := Divide(f).Workers
	isEnough := func(mib int) bool {
		more := *f
		more.Request.Workers = workers
		more.Request.MemoryBytes = int64(mib) << 20
		s := Divide(&more)
		return s.Merges(f) && s.Budget.Chunks() > 0
	}
	return int64(sort.Search(maxLeastMiB, isEnough)) << 20
}

// maxLeastMiB is enough memory for any record.
const maxLeastMiB = 1 << 30
