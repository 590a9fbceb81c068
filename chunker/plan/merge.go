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
	exits:         []exit{{condition: OneChunk, to: holdsAll, canHappen: mayBeOneChunk}},
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
	if c.f.Records < 0 {
		return mergeStream(c)
	}
	a := Candidate{ChunkRecords: c.capacity, Possible: true, Why: "one pass to sort runs, one to merge them"}
	a.Chunks, a.KeptRecords = c.cut(c.f.Records)
	selectFirst(c, &a)
	a.Levels = Levels(a.Chunks, c.sizes.FanIn)
	merged, kept := mergedRecords(c, &a)
	a.KeptBytes = int64(kept) * int64(c.f.recordSize())
	switch {
	case a.SelectedShare > 0:
		a.Why += "; records that cannot be among the first are left out"
	case a.KeptBytes > 0:
		a.Why += "; the last run stays in memory"
	}
	if !c.sizes.Merges(c.f) {
		a.ruleOut("too little memory for blocks of records this large")
	}

	runs := runRecords{merged: merged, spilled: max(merged-kept, 0)}
	writes := 1 + rewritten(a.Chunks, c.sizes.FanIn) // how often a record is spilled, on average
	bytesOf := func(records float64) int64 {
		return int64(records * writes * float64(c.f.recordSize()))
	}
	// RoomBytes allows for keys that are all different, which cannot be combined.
	a.RoomBytes = roomFor(bytesOf(runs.spilled), c.storedBlock(a.ChunkRecords))
	if share := combinedShare(c, a.ChunkRecords); share < 1 {
		runs.merged *= share
		runs.spilled *= share
	}
	a.TempBytes = bytesOf(runs.spilled)
	runs.stored = runs.spilled
	if keeps, numbers := c.packing(a.TempBytes); keeps < 1 {
		runs.stored = keeps * runs.spilled
		runs.packed = runs.spilled * float64(numbers)
		a.StoredBytes = int64(keeps * float64(a.TempBytes))
	}
	a.fetchedRecords = writes * runs.stored // each is read back once for every time it is spilled
	a.Stages = []Stage{
		c.stage(StageRuns, workOfRuns(c, &a, &runs)),
		c.stage(StageMerge, workOfMerge(c, &a, &runs)),
	}
	return c.withDiskTime(a, c.written(), a.fetchedRecords)
}

// runRecords are the numbers of records in all runs.
type runRecords struct {
	merged  float64 // in all runs
	spilled float64 // on disk
	stored  float64 // size of the spilled records on disk, in units of uncompressed records
	packed  float64 // number fields to compress in the spilled records
}

// mergeStream returns the candidate for an input of unknown length.
func mergeStream(c *chooser) Candidate {
	return Candidate{
		Possible:     true,
		Why:          "does not need to know the size of the input",
		ChunkRecords: c.capacity,
		Levels:       1,
		TempBytes:    -1,
		RoomBytes:    -1,
		Stages:       []Stage{c.stage(StageRuns, work{}), c.stage(StageMerge, work{})},
	}
}

// mergedRecords returns the number of records in all runs, and in the run that stays in memory. If
// only the first records are wanted, each run contains at most that many.
func mergedRecords(c *chooser, a *Candidate) (merged, kept float64) {
	merged = c.known()
	if a.SelectedShare > 0 {
		return a.SelectedShare * merged, 0
	}
	kept = float64(min(a.KeptRecords, c.f.Records))
	if limit := c.f.First(); limit >= 0 {
		merged = min(merged, float64(limit)*float64(a.Chunks))
		kept = min(kept, float64(limit))
	}
	return merged, kept
}

func workOfRuns(c *chooser, a *Candidate, runs *runRecords) work {
	n := c.known()
	sorted := n
	looks := n
	if a.SelectedShare > 0 {
		sorted = runs.merged
		looks *= c.eq.look
	}
	if c.outOfOrder >= 0 {
		// The keys of a chunk are close together, so the buckets from a sample of all keys have to
		// be split again.
		sorted *= 2
	}
	return work{
		reads:   looks,
		touches: min(n, float64(a.ChunkRecords)),
		sorts:   sorted,
		spills:  runs.stored,
		waits:   runs.stored * c.eq.store,
		blocks:  runs.packed * c.eq.number,
		fixed:   c.profile.start(c.f),
	}
}

func workOfMerge(c *chooser, a *Candidate, runs *runRecords) work {
	again := rewritten(a.Chunks, c.sizes.FanIn)
	fanIn := float64(min(a.Chunks, c.sizes.FanIn))
	read := (1 + again) * c.blocksOf(runs.spilled, c.storedBlock(a.ChunkRecords))
	w := work{
		spills: (1 + 2*again) * runs.stored,
		waits:  again * runs.stored * c.eq.store,
		blocks: read*(1+fanIn*c.eq.cut) + (1+2*again)*runs.packed*c.eq.number,
		writes: c.written(),
	}
	if !c.f.Reversed() { // runs of a reversed input don't overlap and are only concatenated
		w[merges] = (1 + again) * runs.merged * (math.Log2(max(fanIn, 2)) + c.eq.follow)
	}
	return w
}

// Merging returns the plan for a merge of sorted inputs, where there is nothing to choose.
func Merging(f *Facts, inputs int) *Plan {
	p := planned(f, Divide(f))
	p.Strategy = Merge
	p.Device = "cpu"
	p.Chunks = inputs
	return p
}
