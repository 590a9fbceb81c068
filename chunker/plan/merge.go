package plan

import "math"

// Merge cuts the input into chunks by position and merges the sorted chunks.
const Merge Strategy = "merge"

// The stages of Merge.
const (
	StageRuns  = "sort runs" // read, sort and spill each chunk
	StageMerge = "merge"
)

// merging is the row of Merge.
var merging = Properties{
	Name: Merge,
	Way:  "sort chunks that fit in memory, then merge them",
	stages: []stageText{
		{StageRuns, "reading, sorting and spilling chunks"},
		{StageMerge, "merging the sorted chunks"},
	},
	Requestable:   true,
	Spills:        true,
	DirectIO:      true,
	ReadsAllFirst: true,
	Resumable:     true,
	LastResort:    true,
	weigh:         (*chooser).merge,
	canForce: func(c *chooser, _ *Candidate) bool {
		return c.f.Records < 0 || c.f.Records > c.capacity || len(c.f.Devices) > 1
	},
}

func (c *chooser) merge() Candidate {
	a := Candidate{ChunkRecords: c.capacity, Possible: true,
		Why: "one pass to sort runs, one to merge them"}
	if c.f.Records < 0 {
		a.Why, a.TempBytes, a.RoomBytes, a.Levels = "does not need to know the size of the input", -1, -1, 1
		a.Stages = []Stage{c.stage(StageRuns, work{}), c.stage(StageMerge, work{})}
		return a
	}
	a.Chunks, a.KeptRecords = c.cut(c.f.Records)
	a.Levels = Levels(a.Chunks, c.sizes.FanIn)
	n := c.known()
	merged, kept := n, float64(min(a.KeptRecords, c.f.Records))
	if limit := c.f.First(); limit >= 0 {
		merged, kept = min(n, float64(limit)*float64(a.Chunks)), min(kept, float64(limit))
	}
	spilled := max(merged-kept, 0)
	if a.KeptBytes = int64(kept) * int64(c.f.recordSize()); a.KeptBytes > 0 {
		a.Why += "; the last run stays in memory"
	}
	if !c.sizes.Merges(c.f) {
		a.Possible, a.Why = false, "too little memory for blocks of records this large"
	}
	again := rewritten(a.Chunks, c.sizes.FanIn)
	a.TempBytes = int64(spilled) * int64(c.f.recordSize()) * int64(max(a.Levels, 1))
	a.RoomBytes = roomFor(a.TempBytes, c.storedBlock(a.ChunkRecords))
	stored, packed := spilled, 0.0
	if keeps, numbers := c.packing(a.TempBytes); keeps < 1 {
		stored, a.StoredBytes, packed = keeps*spilled, int64(keeps*float64(a.TempBytes)), spilled*float64(numbers)
	}
	a.fetched = (1 + again) * stored
	runs, read := min(a.Chunks, c.sizes.FanIn), (1+again)*c.blocksOf(spilled, c.storedBlock(a.ChunkRecords))
	last := work{
		stores: again * stored, fetches: (1 + again) * stored, packs: (1 + 2*again) * packed,
		blocks: read, cuts: read * float64(runs),
		merges: (1 + again) * merged * math.Log2(float64(max(runs, 2))), follows: (1 + again) * merged, writes: c.written(),
	}
	if c.f.Reversed() {
		last[merges], last[follows] = 0, 0 // runs that do not overlap are only joined
	}
	touched, sorted := min(n, float64(a.ChunkRecords)), n
	if c.strays >= 0 {
		sorted *= 2 // the keys of a chunk are close together: buckets that are cut by a sample of all are cut again
	}
	a.Stages = []Stage{
		c.stage(StageRuns, work{reads: n, touches: touched, sorts: sorted, stores: stored, packs: packed, starts: 1}),
		c.stage(StageMerge, last),
	}
	return c.finished(a, c.written(), (1+again)*stored)
}

// Merging is the plan of a merge of inputs that are sorted, which leaves nothing to choose.
func Merging(f *Facts, inputs int) *Plan {
	f.ConcurrentInputs = true
	p := planned(f, Divide(f))
	p.Strategy, p.Device, p.Chunks = Merge, "cpu", inputs
	return p
}
