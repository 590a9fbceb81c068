package plan

import "fmt"

// Partition distributes the records to parts by key range, and sorts one part after another.
const Partition Strategy = "partition"

// The stages of Partition.
const (
	StagePartition = "partition"  // spill each record to its part
	StageParts     = "sort parts" // read back, sort and write each part
)

// partitioning is the row of Partition.
var partitioning = Properties{
	Name: Partition,
	Way:  "divide by key, then sort each part",
	stages: []stageText{
		{StagePartition, "reading the input and spilling it by key range"},
		{StageParts, "sorting the spilled parts"},
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

// partsInFlight is how many parts are loaded, sorted and written at a time where requests read and write them: the disk
// has nothing to read while one part is written, and nothing to write while it is loaded.
const partsInFlight = 2

// halved is the records of a chunk of so many; 0: one at a time is as good.
func (c *chooser) halved() int64 {
	if !c.sizes.Queue.Output {
		return 0
	}
	return min(c.f.Devices[0].Capacity(c.sizes.chunk(c.sizes.ChunkBytes/partsInFlight, 0)), c.capacity)
}

// scatter is how records are sent to parts of chunks of a size, of which a pass fits so many, in so many passes.
func (c *chooser) scatter(chunk int64) (s Scatter, parts, fit, passes int) {
	parts = PartsOf(c.f.Records, chunk)
	s, fit = FitParts(c.f, &c.sizes, max(c.f.Records, 0), parts)
	return s, parts, fit, max(Levels(parts, fit), 1)
}

// indexOfParts returns the memory of the index of all parts. Where parts are partitioned again, one at a time is: its
// own parts are there beside those of the first pass.
func indexOfParts(f *Facts, s Scatter, fit, passes int) int64 {
	blocks := s.Blocks(f.bytes(), fit)
	if passes > 1 {
		blocks += s.Blocks(f.bytes()/int64(fit), fit)
	}
	return indexEntries(f, blocks)
}

func (c *chooser) partition() Candidate {
	a := Candidate{ChunkRecords: c.capacity, Possible: true,
		Why: "one pass to partition, one to sort the parts"}
	switch limit := c.f.Request.Limit; {
	case limit > 0 && (c.f.Records < 0 || limit < c.f.Records):
		a.Possible, a.Why = false, "would spill all records for a small result"
	case !c.sizes.Merges(c.f):
		a.Possible, a.Why = false, "too little memory to merge a part that turns out to be too large"
	}
	if c.f.Records < 0 {
		return c.partitionStream(a)
	}
	var scatter Scatter
	var fit, levels int
	scatter, a.Chunks, fit, levels = c.scatter(a.ChunkRecords)
	if half := c.halved(); half > 0 {
		if s, chunks, n, l := c.scatter(half); l <= levels { // one pass more would take longer than it saves
			scatter, a.Chunks, fit, a.ChunkRecords, a.InFlight = s, chunks, n, half, partsInFlight
		}
	}
	passes := float64(levels)
	n := c.known()
	a.TempBytes, a.fetched = int64(passes)*c.f.bytes(), passes*n
	a.RoomBytes = roomFor(a.TempBytes, scatter.BlockBytes)
	a.index = indexOfParts(c.f, scatter, fit, levels)
	if passes > 1 && a.Possible {
		a.Why = fmt.Sprintf("%.0f passes to partition, %d parts at a time, and one to sort them",
			passes, fit)
	}
	parts := work{
		scatters: (passes - 1) * n, stores: (passes - 1) * n, fetches: passes * n,
		blocks: passes * c.blocksOf(n, scatter.BlockBytes), parts: float64(a.Chunks),
		touches: min(n, float64(a.ChunkRecords)*float64(max(a.InFlight, 1))), sorts: n, writes: n,
	}
	a.Stages = []Stage{
		c.stage(StagePartition, work{reads: n, scatters: n, stores: n, starts: 1}), c.stage(StageParts, parts),
	}
	return c.finished(a, n, passes*n)
}
