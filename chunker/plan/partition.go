package plan

import (
	"cmp"
	"fmt"
	"math"
)

// Partition distributes the records to parts by key range and sorts one part after another.
const Partition Strategy = "partition"

// The stages of Partition.
const (
	StagePartition = "partition"  // spill each record to its part
	StageParts     = "sort parts" // read back, sort and write each part
)

// The conditions of the parts of a Partition.
const (
	largePart Condition = "a part does not fit in one chunk"
	similar   Condition = "partitioning the part again would not help"
)

// maxDepth limits how often parts are partitioned again. Each time costs a pass over the records,
// and may make little progress. A merge always makes progress.
const maxDepth = 3

// OnLargePart decides how a part that does not fit in one chunk is sorted. depth is 1 for a part of
// the input, 2 for a part of such a part, and so on. keys is a sorted sample of the part. The part
// is partitioned again into the given number of parts, or its runs are merged if parts is 0.
// isPlanned means that the plan expected this, because partitioning the input takes several passes.
func (a *Candidate) OnLargePart(keys []uint64, records int64, depth int) (parts int, on Condition, isPlanned bool) {
	isUniform := len(keys) < 2 || frequent(keys, len(keys)/2)
	if depth >= maxDepth || isUniform {
		return 0, similar, false
	}
	return partsOf(records, a.ChunkRecords, len(keys)), largePart, depth < a.ScatterPasses
}

// partitioning is the row of Partition.
var partitioning = Properties{
	Name: Partition,
	Way:  "divide by key, then sort each part",
	stages: []stageText{
		{StagePartition, "reading the input and spilling it by key range"},
		{StageParts, "sorting the spilled parts"},
	},
	exits: []exit{
		{condition: OneChunk, to: holdsAll, canHappen: isStream},
		{condition: FewChunks, to: isLastResort, canHappen: isChosenForStream},
		{condition: KeysDrift, to: isLastResort, canHappen: isChosenForStream},
		{condition: ShortRuns, to: isLastResort, canHappen: mayCombine},
		{condition: largePart, to: spillsAll, part: true},
		{condition: similar, to: isLastResort, part: true},
	},
	Requestable:   true,
	Spills:        true,
	SpillsAll:     true,
	DirectIO:      true,
	ReadsAllFirst: true,
	weigh:         (*chooser).partition,
	canForce:      func(*chooser, *Candidate) bool { return true },
	losesWork:     func(*Candidate) bool { return true },
}

// partsInFlight is the number of parts that are loaded, sorted and written at the same time by
// direct I/O. With only one part, the disk would not read while the part is written.
const partsInFlight = 2

// chunkInFlight returns the number of records in a chunk that shares memory with another chunk. It
// returns 0 if sorting one chunk at a time is as fast.
func chunkInFlight(c *chooser) int64 {
	if !c.sizes.Queue.Output {
		return 0
	}
	memory := c.sizes.ChunkBytes / partsInFlight
	return min(c.f.Devices[0].Capacity(c.sizes.chunk(memory, 0)), c.capacity)
}

// A scattering is a way to send all records to parts.
type scattering struct {
	Scatter
	parts  int // number of parts in the end
	fit    int // number of parts of one pass
	passes int
}

// scatter returns how records are sent to parts that fit in a chunk. Parts have a margin for the
// error of the sample. If one pass cannot fill them all, they get the smallest margin, because
// large parts are partitioned again, with a sample of their own.
func (c *chooser) scatter(chunkRecords int64) scattering {
	keys := cmp.Or(len(c.f.Sample.Prefixes), SampleKeys)
	s := scatterTo(c, partsOf(c.f.Records, chunkRecords, keys))
	if s.passes > 1 {
		s = scatterTo(c, partsOf(c.f.Records, chunkRecords, math.MaxInt))
	}
	return s
}

func scatterTo(c *chooser, parts int) scattering {
	s, fit := FitPartitions(c.f, &c.sizes, max(c.f.Records, 0), parts)
	return scattering{s, parts, fit, max(Levels(parts, fit), 1)}
}

// indexBytes returns the memory for the index of all parts. Parts are partitioned again one at a
// time. Meanwhile the index of the new parts is in memory together with the index of the first
// pass.
func (s *scattering) indexBytes(f *Facts) int64 {
	blocks := s.Blocks(f.bytes(), s.fit)
	if s.passes > 1 {
		blocks += s.Blocks(f.bytes()/int64(s.fit), s.fit)
	}
	return indexEntries(f, blocks)
}

func (c *chooser) partition() Candidate {
	a := Candidate{
		ChunkRecords: c.capacity,
		Possible:     true,
		Why:          "one pass to partition, one to sort the parts",
	}
	switch limit := c.f.Request.Limit; {
	case limit > 0 && (c.f.Records < 0 || limit < c.f.Records):
		a.ruleOut("would spill all records for a small result")
	case !c.sizes.Merges(c.f):
		a.ruleOut("too little memory to merge a part that turns out to be too large")
	}
	if c.f.Records < 0 {
		return c.partitionStream(a)
	}

	s := c.scatter(a.ChunkRecords)
	if half := chunkInFlight(c); half > 0 {
		// Another pass would cost more than it saves.
		if smaller := c.scatter(half); smaller.passes <= s.passes {
			s = smaller
			a.ChunkRecords = half
			a.InFlight = partsInFlight
		}
	}
	a.Chunks = s.parts
	a.ScatterPasses = s.passes
	a.TempBytes = int64(s.passes) * c.f.bytes()
	a.RoomBytes = roomFor(a.TempBytes, s.BlockBytes)
	a.fetchedRecords = float64(s.passes) * c.known()
	a.indexBytes = s.indexBytes(c.f)
	if s.passes > 1 && a.Possible {
		a.Why = fmt.Sprintf("%d passes to partition, %d parts at a time, and one to sort them", s.passes, s.fit)
	}
	a.Stages = stagesOfParts(c, &a, &s)
	return c.withDiskTime(a, c.known(), a.fetchedRecords)
}

// searchScatters is the time that a record takes on each level of a search for its part, relative
// to sending a record to a part that a table of digits gives.
const searchScatters = 0.4

// scattersPerRecord returns the time that it takes to send a record to one of a number of parts,
// relative to that with a table of digits. A key that is frequent in the sorted sample, and exceeds
// the share of a part, makes the parts too uneven for such a table.
func scattersPerRecord(keys []uint64, parts int) float64 {
	if share := len(keys) / max(parts, 1); parts < 2 || share < 2 || !frequent(keys, share) {
		return 1
	}
	return 1 + searchScatters*math.Log2(float64(parts))
}

func stagesOfParts(c *chooser, a *Candidate, s *scattering) []Stage {
	n := c.known()
	passes := float64(s.passes)
	inMemory := float64(a.ChunkRecords) * float64(max(a.InFlight, 1))
	scattered := n * scattersPerRecord(c.sorted(), s.fit)
	first := work{
		reads:    n,
		scatters: scattered,
		spills:   n,
		waits:    n * c.eq.store,
		fixed:    c.profile.start(c.f),
	}
	parts := work{
		scatters: (passes - 1) * scattered,
		spills:   (2*passes - 1) * n,
		waits:    (passes - 1) * n * c.eq.store,
		blocks:   passes * c.blocksOf(n, s.BlockBytes),
		touches:  min(n, inMemory),
		sorts:    n,
		writes:   n,
		fixed:    float64(a.Chunks) * c.profile.Part,
	}
	return []Stage{c.stage(StagePartition, first), c.stage(StageParts, parts)}
}
