package plan

import (
	"math"
	"sort"
)

// Sift is for an input that is nearly sorted. It reads the input twice and keeps the records that
// are out of order in memory.
const Sift Strategy = "sift"

// StageSift is the first stage of Sift. It finds the records that are out of order.
const StageSift = "sift"

// manyOutOfOrder is the condition that ends a Sift.
const manyOutOfOrder Condition = "more records are out of order than fit in memory"

// sifting is the row of Sift.
var sifting = Properties{
	Name:        Sift,
	Way:         "the input is nearly sorted, so move only the records out of order",
	stages:      []stageText{{StageSift, "finding the records that are out of order"}, copyStage},
	exits:       []exit{{condition: manyOutOfOrder}},
	Requestable: true,
	Hint:        "nearly sorted",
	InMemory:    true,
	DirectIO:    true,
	weigh:       (*chooser).sift,
	canForce: func(c *chooser, a *Candidate) bool {
		return c.f.canSift() && c.f.Checkpoint == nil && a.ChunkRecords > 0
	},
	losesWork: func(a *Candidate) bool { return a.Possible },
}

const (
	// siftBytes is the additional memory for each record in a block: a prefix, an index, and a
	// mark.
	siftBytes = 8 + 4 + 1

	// siftBlocks is the number of blocks in memory in addition to one for each worker. A worker
	// also has a block of output.
	siftBlocks = 2

	// siftBlockBytes is the maximum size of a block. It is small, so that the data about its
	// records stays in the processor's caches.
	siftBlockBytes = 256 << 10

	// siftEntryBytes is the memory for each block in the index, without its three keys. The index
	// may take 1/siftIndexShare of the memory.
	siftEntryBytes = 160
	siftIndexShare = 8

	// The records that are out of order get 1/siftedShare of the memory. The rest is for sorting
	// them.
	siftedShare = 4

	siftScatters = 1.5 // time to check a record's order, relative to sending it to its part

	// sampleDeviations is the margin, in standard deviations, that a plan adds to the number of
	// records out of order in the sample.
	sampleDeviations = 2
)

// siftBlock returns the number of records in a block, and the memory for the index of all blocks. A
// huge input has larger blocks, so that the index stays small. Records that are transformed while
// they are read come in blocks of TransformBytes. Larger blocks would have to be assembled from
// several of them.
func (s *Sizes) siftBlock(f *Facts) (records int, index int64) {
	records = max(min(s.BlockBytes, siftBlockBytes)/f.recordSize(), 1)
	if f.Request.Transforms > 0 {
		records = max(min(records, TransformBytes/f.Request.ReadSize), 1)
	}
	for ; ; records *= 2 {
		blocks := f.Records/int64(records) + 1
		index = blocks * int64(siftEntryBytes+3*f.Keyer.KeySize())
		if index <= s.Budget.Chunks()/siftIndexShare || blocks == 1 {
			return records, index
		}
	}
}

// sift returns the candidate that reads the input twice. The first time it keeps the records that
// are out of order. The second time it writes the others and inserts the ones that it kept (package
// sift).
func (c *chooser) sift() Candidate {
	a := Candidate{Why: "nearly sorted: the records out of order are sorted in memory"}
	size := int64(c.f.recordSize())
	memory := memoryToSift(c, &a)
	a.ChunkRecords = max(memory, 0) / siftedShare / size
	switch {
	case !c.f.canSift():
		a.Why = "needs the CPU, inputs that can be read twice, and no limit"
	case c.outOfOrder < 0:
		a.Why = "the sample is not nearly sorted"
	default:
		room := c.f.Devices[0].Capacity(c.sizes.chunk(memory-memory/siftedShare, 0))
		a.ChunkRecords = min(a.ChunkRecords, room, c.capacity)
		a.Possible = c.outOfOrder <= float64(a.ChunkRecords)
		if !a.Possible {
			a.Why = "too little memory for the records that are out of order"
		}
	}

	n := c.known()
	moved := min(max(c.outOfOrder, 0), n)
	checks := n * c.eq.sift
	first := work{reads: n, scatters: checks, touches: 2 * moved, sorts: moved, fixed: c.profile.start(c.f)}
	a.Stages = []Stage{
		c.stage(StageSift, first),
		c.stage(StageCopy, work{reads: n, scatters: checks, writes: n}),
	}
	return c.withDiskTime(a, n, 0)
}

// memoryToSift sets the number of records in a block, and returns the memory for records that are
// out of order and for sorting them.
func memoryToSift(c *chooser, a *Candidate) int64 {
	size := int64(c.f.recordSize())
	workers := int64(c.sizes.Workers)
	records, index := c.sizes.siftBlock(c.f)
	a.BlockRecords = records
	blocks := int64(records) * ((workers+siftBlocks)*(size+siftBytes) + workers*size)
	return c.sizes.Budget.Chunks() - index - blocks
}

// canSift reports whether the host can read the input a second time, and all records are wanted.
func (f *Facts) canSift() bool {
	return f.Records >= 0 && f.onHost() && f.Seekable && !f.Remote && f.Request.Limit == 0
}

// outOfOrder estimates how many records are out of order. It counts the keys outside the longest
// ascending subsequence of the sample and adds a margin. The result is negative if the sample is
// too small or most of it is out of order.
func (f *Facts) outOfOrder() float64 {
	keys := f.Sample.Prefixes
	if !f.Sample.Enough || f.Sample.Descents > len(keys)/4 {
		return -1
	}
	out := float64(len(keys) - longestRise(keys))
	share := (out + sampleDeviations*(math.Sqrt(out)+1)) / float64(len(keys))
	return share * float64(max(f.Records, 0))
}

// longestRise returns the length of the longest subsequence of keys that does not descend (C.
// Schensted, "Longest increasing and decreasing subsequences", 1961).
func longestRise(keys []uint64) int {
	var least []uint64 // least[n] is the least last key of a subsequence of n+1 keys
	for _, key := range keys {
		// Most keys of a nearly sorted sample are appended.
		if last := len(least) - 1; last < 0 || key >= least[last] {
			least = append(least, key)
			continue
		}
		least[sort.Search(len(least), func(n int) bool { return least[n] > key })] = key
	}
	return len(least)
}
