package plan

import (
	"math"
	"sort"
)

// Sift is for an input that is nearly sorted: it is read twice, and the records out of order wait in memory.
const Sift Strategy = "sift"

// StageSift is a stage of Sift: it finds the records that are out of order.
const StageSift = "sift"

// sifting is the row of Sift.
var sifting = Properties{
	Name:        Sift,
	Way:         "the input is nearly sorted, so move only the records out of order",
	stages:      []stageText{{StageSift, "finding the records that are out of order"}, copyStage},
	Requestable: true,
	Hint:        "nearly sorted",
	InMemory:    true,
	DirectIO:    true,
	weigh:       (*chooser).sift,
	canForce: func(c *chooser, asked *Candidate) bool {
		return c.f.canSift() && c.f.Checkpoint == nil && asked.ChunkRecords > 0
	},
	losesWork: func(a *Candidate) bool { return a.Possible },
}

const (
	// siftBytes is what a record takes beside its own bytes in a block that is sifted: a prefix, an index, a mark.
	siftBytes = 8 + 4 + 1

	// siftBlocks is how many are in memory beside one for each worker, who has another of the output.
	siftBlocks = 2

	// siftBlockBytes is the most of a block: what is known of its records stays in the processor's caches.
	siftBlockBytes = 256 << 10

	// siftEntryBytes is what is kept of each block beside three keys; all of them have a siftIndexShare of the memory.
	siftEntryBytes = 160
	siftIndexShare = 8

	strayShare   = 4   // the part of the memory that strays take; what sorts them has the rest
	siftScatters = 1.5 // records that are sent to their parts in the time in which one is sifted

	// strayDeviations is how many standard deviations more strays than the sample's a plan expects.
	strayDeviations = 2
)

// siftBlock returns how many records are sifted together, and the memory that the index of all such blocks takes. A
// huge input has larger blocks, so that the index stays small. Records that are transformed as they are read come in
// blocks of TransformBytes, and larger ones would have to be pieced together.
func (s *Sizes) siftBlock(f *Facts) (records int, index int64) {
	records = max(min(s.BlockBytes, siftBlockBytes)/f.recordSize(), 1)
	if f.Request.Transformed {
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

// sift reads everything twice: first it takes into memory what is out of order, then it writes the rest and, where it
// belongs, what it has taken (package sift).
func (c *chooser) sift() Candidate {
	a := Candidate{Why: "nearly sorted: the records out of order are sorted in memory"}
	size, workers := int64(c.f.recordSize()), int64(c.sizes.Workers)
	var index int64
	a.BlockRecords, index = c.sizes.siftBlock(c.f)
	memory := c.sizes.Budget.Chunks() - index - int64(a.BlockRecords)*((workers+siftBlocks)*(size+siftBytes)+workers*size)
	a.ChunkRecords = max(memory, 0) / strayShare / size
	switch {
	case !c.f.canSift():
		a.Why = "needs the CPU, inputs that can be read twice, and no limit"
	case c.strays < 0:
		a.Why = "the sample is not nearly sorted"
	default:
		room := c.f.Devices[0].Capacity(c.sizes.chunk(memory-memory/strayShare, 0))
		a.ChunkRecords = min(a.ChunkRecords, room, c.capacity)
		if a.Possible = c.strays <= float64(a.ChunkRecords); !a.Possible {
			a.Why = "too little memory for the records that are out of order"
		}
	}
	n := c.known()
	strays := min(max(c.strays, 0), n)
	a.Stages = []Stage{
		c.stage(StageSift, work{reads: n, sifts: n, touches: 2 * strays, sorts: strays, starts: 1}),
		c.stage(StageCopy, work{reads: n, sifts: n, writes: n}),
	}
	return c.finished(a, n, 0)
}

// canSift reports whether an input can be read a second time, by the host, and all of it is wanted.
func (f *Facts) canSift() bool {
	return f.Records >= 0 && f.onHost() && f.Seekable && !f.Remote && f.Request.Limit == 0
}

// strays is how many records are out of order, as the sample has it and some more: those that are not in the longest
// part of it that rises. Negative: the sample does not tell, or they are most.
func (f *Facts) strays() float64 {
	keys := f.Sample.Prefixes
	if !f.Sample.Enough || f.Sample.Descents > len(keys)/4 {
		return -1
	}
	out := float64(len(keys) - longestRise(keys))
	share := (out + strayDeviations*(math.Sqrt(out)+1)) / float64(len(keys))
	return share * float64(max(f.Records, 0))
}

// longestRise is the length of the longest part of keys that does not fall (C. Schensted, "Longest increasing and
// decreasing subsequences", 1961).
func longestRise(keys []uint64) int {
	var least []uint64 // least[n] is the least last key of a part of n+1 keys
	for _, key := range keys {
		if last := len(least) - 1; last < 0 || key >= least[last] { // as most are where it is asked for
			least = append(least, key)
			continue
		}
		least[sort.Search(len(least), func(n int) bool { return least[n] > key })] = key
	}
	return len(least)
}
