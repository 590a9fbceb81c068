package plan

import (
	"fmt"
	"sort"

	"github.com/extsort/extsort/format"
	"github.com/extsort/extsort/internal/human"
	"github.com/extsort/extsort/internal/option"
)

// Budget says what the memory limit is for. The lines add up to the limit.
type Budget struct {
	Lines []line `json:"lines"`
}

// line is one line of a Budget.
type line struct {
	For   string `json:"for"`
	Bytes int64  `json:"bytes"`
}

// Chunks is the memory of what the other lines leave: chunks while they are sorted, then the buffers of a merge or of
// a partition.
func (b *Budget) Chunks() int64 { return b.Lines[len(b.Lines)-1].Bytes }

// with is the budget with a line more, which takes bytes from the last.
func (b Budget) with(what string, bytes int64) Budget {
	rest := b.Lines[len(b.Lines)-1]
	lines := append(b.Lines[:len(b.Lines)-1:len(b.Lines)-1], line{what, bytes}, line{rest.For, rest.Bytes - bytes})
	return Budget{lines}
}

// Sizes is how the engine divides its work: by as many workers, in such blocks, with that memory.
type Sizes struct {
	Budget       Budget
	Workers      int
	BlockBytes   int   // of the blocks that are spilled and written, whole records
	CodecWorkers int   // that compress the output
	SpillCoders  int   // blocks of spill that are compressed or decompressed at the same time
	Queue        Queue // past the page cache
	RequestBytes int64 // of memory to read ahead what is remote
	PartBytes    int   // of a part of an output that is an object of a store
	Parts        int   // of those that are filled or sent at a time
	MergeBytes   int64 // for the buffers of a merge
	FanIn        int   // runs that are merged at once, at most
	Slots        int   // chunks in flight on each GPU
	ChunkBytes   int64 // host memory of a chunk

	IndexBytes int64 // for the indexes of runs and parts, beyond which they go to a file
}

const (
	// runtimeBytes is what a run needs besides chunks and buffers: the program's data, stacks, the Go heap with its
	// garbage. Garbage grows with the work, by a part of the limit.
	runtimeBytes = 12 << 20
	runtimePart  = 48

	// minWorkerBytes and minWorkerRecords are the least memory that is worth a worker: with less for each, a merge
	// would take so few runs at a time that it needed several levels more.
	minWorkerBytes   = 512 << 10
	minWorkerRecords = 8

	// limitedBytes is memory with which the first few records of an order take no longer than with more of it.
	limitedBytes = 64 << 20

	// chunkOfLimit is how many times the records of a limit a chunk has at least: all others are left out before
	// anything is spilled.
	chunkOfLimit = 16

	maxBlockBytes = 1 << 20
	minBlockBytes = 32 << 10

	// driverBytes is what the driver of a device whose memory is the host's allocates for itself: PoCL some 24 MiB.
	driverBytes = 24 << 20

	blockEntryBytes = 160 // a block's entry in the index of a run, with the copies that sorting entries takes
)

// Divide divides the memory limit. It does so for a merge of sorted inputs, too, which needs no device.
func Divide(f *Facts) Sizes {
	limit := f.Request.MemoryBytes
	b := Budget{[]line{{"chunks and buffers", limit}}}.with("runtime", runtimeBytes+limit/runtimePart)
	if f.unified() {
		b = b.with("driver", min(driverBytes, b.Chunks()/2))
	}
	b = b.with("unused: touching it takes longer than it saves", f.unused)
	s := Sizes{Workers: limitWorkers(f, f.Request.Workers, b.Chunks())}
	s.PartBytes, s.Parts = f.parts(b.Chunks())
	b = b.with("parts of a remote output", int64(s.Parts)*int64(s.PartBytes))
	s.RequestBytes = f.requests(b.Chunks())
	b = b.with("requests for remote inputs", s.RequestBytes)
	b = b.with("not needed, because few records are written", unneeded(f, b.Chunks()))
	reading := decoderBytes(f)
	codecs := func(n int) int64 { return reading + format.CodecMemory(f.Output.Codec, n) }
	s.CodecWorkers = mostWorkers(s.Workers, b.Chunks()/2, codecs)
	b = b.with("compression of inputs and output", min(codecs(s.CodecWorkers), b.Chunks()/2))
	s.BlockBytes = chooseBlock(f, b.Chunks(), s.Workers)
	s.IndexBytes = indexShare(f, s.BlockBytes, b.Chunks())
	b = b.with("index of temporary files", s.IndexBytes)
	coders := func(n int) int64 { return spillCodecMemory(f.Request.SpillCodec, n, s.BlockBytes) }
	s.SpillCoders = mostWorkers(s.Workers, b.Chunks()/8, coders)
	b = b.with("compression of temporary files", min(coders(s.SpillCoders), b.Chunks()/2))
	s.Queue = f.queue(b.Chunks())
	b = b.with("direct I/O requests", s.Queue.memory())
	if f.Request.Unique {
		size := int64(f.recordSize())
		block := int64(s.BlockBytes) + int64(s.BlockBytes)/size*int64(f.Request.ExtraBytes)
		b = b.with("unique", min(int64(s.Workers)*block, b.Chunks()/4))
	}
	if f.Request.Transformed {
		b = b.with("transformed records", min(int64(s.Workers)*int64(s.BlockBytes+TransformBytes), b.Chunks()/4))
	}
	s.Workers = limitWorkers(f, s.Workers, b.Chunks())
	s.Budget, s.MergeBytes = b, b.Chunks()-b.Chunks()/8 // the rest: indexes in the order of keys, and garbage
	s.FanIn = fanIn(f, s)
	return s
}

const (
	// TransformBytes is what one worker reads at a time where records are made anew, unless one is larger.
	TransformBytes = 64 << 10

	// RemoteRequests of RemoteRequestBytes keep any network busy. They take a requestShare of the memory at most: what is
	// read waits for the slowest of them.
	RemoteRequests     = 32
	RemoteRequestBytes = 8 << 20
	requestShare       = 4

	// RemoteReaders read sections of an input at a time, at most.
	RemoteReaders = RemoteRequests / 2

	// Parts of an output take a partShare of the memory, or more: a store takes parts of minPartBytes at least, but for
	// the last, and maxParts of them, and one is filled while another is sent.
	partShare    = 8
	minPartBytes = 5 << 20
	maxParts     = 10000
	leastParts   = 2
)

func (f *Facts) requests(bytes int64) int64 {
	if !f.Remote {
		return 0
	}
	return min(RemoteRequests*RemoteRequestBytes, bytes/requestShare)
}

func (f *Facts) parts(bytes int64) (size, parallel int) {
	if !f.Output.Remote {
		return 0, 0
	}
	record := int64(f.recordSize() + f.Request.ExtraBytes)
	return UploadParts(bytes, max(f.OutputRecords(), f.Records, 0)*record)
}

// UploadParts divides memory for an output that is sent in parts. All of it has to fit as many as a store takes; of one
// that nobody knows the size of, that is not sure.
func UploadParts(bytes, all int64) (size, parallel int) {
	size = int(max(min(RemoteRequestBytes, bytes/partShare/leastParts), minPartBytes, all/(maxParts-1)+1))
	return size, int(min(max(bytes/partShare/int64(size), leastParts), RemoteRequests))
}

// limitWorkers takes no more workers than there is memory for.
func limitWorkers(f *Facts, workers int, bytes int64) int {
	each := max(minWorkerBytes, minWorkerRecords*int64(f.recordSize()))
	return int(max(1, min(int64(workers), bytes/each)))
}

// mostWorkers is the most workers, one at least, whose memory is no more than bytes.
func mostWorkers(workers int, bytes int64, memory func(workers int) int64) int {
	for workers > 1 && memory(workers) > bytes {
		workers--
	}
	return workers
}

// unneeded is the memory that the first records of the order do not need, where all of them do not fit it or may not.
func unneeded(f *Facts, bytes int64) int64 {
	size := int64(f.recordSize())
	limit, large := f.First(), f.Records < 0 || f.Records > bytes/size
	if limit < 0 || !large || limit >= bytes/(chunkOfLimit*size) {
		return 0
	}
	return bytes - min(bytes, max(limitedBytes, chunkOfLimit*limit*size))
}

// decoderPart is the part of the memory, without that of the runtime, that decompressors of inputs take at most.
const decoderPart = 3

// DecoderShare is the memory of a limit that decompressors of inputs may take.
func DecoderShare(limit int64) int64 { return (limit - runtimeBytes - limit/runtimePart) / decoderPart }

// decoderBytes is the memory of the inputs' decompressors: of all, or of the largest where they take turns.
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

// chooseBlock chooses blocks that are as large as disks like them, but so small that a merge of many runs has buffers
// enough.
func chooseBlock(f *Facts, bytes int64, workers int) int {
	size, block := f.recordSize(), maxBlockBytes
	for block > minBlockBytes && int64(block)*int64(64+8*workers) > bytes {
		block /= 2
	}
	block = max(block/size, 1) * size
	if f.Request.BlockBytes > 0 {
		block = max(f.Request.BlockBytes/size, 1) * size
	}
	return block
}

const (
	// An index takes an indexPart of the memory at most, and of data whose size is not known a streamPart: a large one is
	// in a file, which costs next to nothing.
	indexPart      = 8
	streamPart     = 16
	maxStreamIndex = 2 << 20
)

// indexShare is the memory of the index of spill.
func indexShare(f *Facts, block int, memory int64) int64 {
	if f.Records < 0 {
		return min(memory/streamPart, maxStreamIndex)
	}
	return min(max(indexBytes(f, block, memory), f.spillIndex), memory/indexPart)
}

// IndexEntryBytes is the memory of a block's entry in the index of a run.
func IndexEntryBytes(keyBytes int) int64 { return int64(blockEntryBytes + keyBytes) }

// indexBytes is the memory of the index of all blocks, if everything is spilled that may be: keys that are counted are
// not, and of a chunk only the first records of a limit. A chunk takes more than half of the memory.
func indexBytes(f *Facts, block int, memory int64) int64 {
	spilled, limit := f.bytes(), f.First()
	first := limit * int64(f.recordSize())
	switch {
	case f.ConcurrentInputs || f.Request.Strategy.Properties().SpillsAll:
	case f.onHost() && f.Devices[0].Histogram:
		return 0
	case limit >= 0 && limit < f.Records && first < memory/2:
		spilled = int64(float64(spilled) * float64(first) / float64(memory/2))
	}
	return indexEntries(f, spilled/int64(block))
}

func indexEntries(f *Facts, blocks int64) int64 {
	return blocks * IndexEntryBytes(f.Keyer.KeySize())
}

// fewRuns are so few that to merge more at once, by fewer workers, takes less than the levels that it saves.
const fewRuns = 8

// fanIn is the number of runs that one merge can take. Where memory is too little for more than a few, it is that of
// fewer workers: a merge of as many runs goes on with those that it has memory for.
func fanIn(f *Facts, s Sizes) int {
	n := 0
	for workers := s.Workers; workers > 0 && n < fewRuns; workers-- {
		n = max(n, MaxFanIn(f.Keyer, s.BlockBytes, workers, s.MergeBytes))
	}
	if f.Request.BatchSize > 0 {
		n = min(n, f.Request.BatchSize)
	}
	return max(n, 2)
}

// Merges reports whether memory is enough to merge at all: blocks of large records may be too large for that.
func (s *Sizes) Merges(f *Facts) bool { return leastMerge(f.Keyer, s.BlockBytes) <= s.MergeBytes }

// MemoryError says that the memory limit is too little for what was asked.
type MemoryError struct {
	Limit int64 // bytes
	Least int64 // bytes that would be enough; 0: not known

	Text string // what the limit is too little for, and what to do
}

func (e *MemoryError) Error() string {
	return fmt.Sprintf("memory limit %s: %s", human.Bytes(e.Limit), e.Text)
}

// TooLittle is the error of a memory limit that is too little, with the least that is enough.
func TooLittle(f *Facts) error {
	workers, advice, least := "one worker", fmt.Sprintf("raise %v", option.MemoryBytes), leastMemory(f)
	if least > f.Request.MemoryBytes {
		advice = fmt.Sprintf("raise %v to at least %d MiB", option.MemoryBytes, least>>20)
	} else {
		least = 0
	}
	if s := Divide(f); s.Workers > 1 {
		workers, advice = fmt.Sprintf("%d workers", s.Workers), fmt.Sprintf("%s, or lower %v", advice, option.Workers)
	}
	return &MemoryError{f.Request.MemoryBytes, least,
		fmt.Sprintf("too little to sort records of %d bytes with %s (%s)", f.recordSize(), workers, advice)}
}

// leastMemory is the least memory limit, in whole MiB, with which these records can be merged by as many workers as
// the limit that was given is enough for.
func leastMemory(f *Facts) int64 {
	enough := func(mib int) bool {
		more := *f
		more.Request.Workers = Divide(f).Workers
		more.Request.MemoryBytes = int64(mib) << 20
		s := Divide(&more)
		return s.Merges(f) && s.Budget.Chunks() > 0
	}
	return int64(sort.Search(maxLeastMiB, enough)) << 20
}

// maxLeastMiB is memory enough for any record.
const maxLeastMiB = 1 << 30
