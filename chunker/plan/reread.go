package plan

// Reread is multi-pass: it sorts one key range after another and reads the whole input for each.
const Reread Strategy = "reread"

// StagePasses is the stage of Reread after the first pass. It reads the input again, sorts and
// writes.
const StagePasses = "more passes"

// largePass is the condition that ends a Reread.
const largePass Condition = "a pass selects more records than fit in one chunk"

// rereading is the row of Reread.
var rereading = Properties{
	Name:        Reread,
	Way:         "sort one key range at a time, reading the input for each",
	stages:      []stageText{readStage, writeStage, {StagePasses, "reading the input again for each key range"}},
	exits:       []exit{{condition: largePass}},
	Requestable: true,
	Hint:        "multi-pass",
	InMemory:    true,
	Rereads:     true,
	weigh:       (*chooser).reread,
	canForce:    func(c *chooser, _ *Candidate) bool { return c.f.canReread() && c.f.staysCached() },
	losesWork:   func(a *Candidate) bool { return a.Chunks > 1 },
}

// reread returns the candidate that sorts in several passes. Each pass looks at every record and
// takes the smallest remaining keys (Munro and Paterson, "Selection and sorting with limited
// storage", 1980).
func (c *chooser) reread() Candidate {
	a := Candidate{ChunkRecords: c.capacity}
	switch {
	case c.f.Remote:
		a.Why = "would read a remote input more than once"
		return a
	case !c.f.canReread():
		a.Why = rereadNeeds
		return a
	}

	a.ChunkRecords = c.chunkRecords(c.f.Records)
	a.Chunks = passesOf(c.f.Records, a.ChunkRecords)
	selected := c.known()
	wanted := c.f.wanted(c.sorted)
	if wanted >= 0 {
		selected = min(selected, float64(wanted))
		a.Chunks = min(a.Chunks, passesOf(wanted, a.ChunkRecords))
	}

	sharePasses(c, &a, wanted)
	a.Why = rereadObstacle(c, &a, wanted)
	a.Possible = a.Why == ""
	if a.Possible {
		a.Why = "reads the input once for every chunk, without temporary data"
	}
	a.Stages = passStages(c, a.Chunks, selected)
	return c.withDiskTime(a, selected, 0)
}

// rereadObstacle returns why an input that can be read again cannot be sorted in passes, or "" if
// it can.
func rereadObstacle(c *chooser, a *Candidate, wanted int64) string {
	few := wanted >= 0 && wanted <= c.f.Records/chunkOfLimit
	switch {
	case c.f.Records <= c.capacity && !few:
		return "everything fits in one chunk"
	case a.Chunks > 1 && !c.f.Output.File:
		return "would write to a stream while it is still reading the input"
	case a.Chunks > 1 && !c.f.staysCached():
		return rereadNeeds
	case c.f.Devices[0].WholeRecords && a.Chunks > maxWholePasses:
		return rereadNeeds
	case !few && !keysFit(c, a.ChunkRecords):
		return rereadNeeds
	}
	return ""
}

// sharePasses chooses the fraction of all records that a pass selects. It leaves a margin, so that
// the error of the sample rarely makes a pass select more than fits in a chunk.
func sharePasses(c *chooser, a *Candidate, wanted int64) {
	keys := len(c.sorted())
	a.WantedRecords = wanted
	a.MaxPassShare = 1 / float64(max(a.Chunks, 1))
	if c.f.Records > a.ChunkRecords {
		passes := float64(c.f.Records) / float64(a.ChunkRecords)
		a.MaxPassShare = passFill(passes, keys) / passes
	}

	a.PassShare = a.MaxPassShare
	if wanted >= 0 && keys > 0 {
		a.PassShare = min(a.MaxPassShare, shareOfFirst(wanted, c.f.Records, keys))
	}
}

// passStages returns the stages of a number of passes, which select records in equal shares.
func passStages(c *chooser, passes int, selected float64) []Stage {
	first := selected / float64(max(passes, 1))
	rest := selected - first
	looks := c.known() * c.eq.look
	stages := []Stage{
		c.stage(StageRead, work{reads: looks, touches: first, sorts: first / 2, fixed: c.profile.start(c.f)}),
		c.stageOf(StageWrite, first, work{sorts: first / 2, writes: first}),
	}
	if passes > 1 {
		more := work{reads: float64(passes-1) * looks, sorts: rest, writes: rest}
		stages = append(stages, c.stageOf(StagePasses, rest, more))
	}
	return stages
}

const rereadNeeds = "needs a few chunks of records of up to 16 bytes, or plain numbers of 3 to 8 bytes, " +
	"with few duplicates, in files that fit in the page cache"

// maxWholePasses is the maximum number of passes for records that are sorted whole. More are too
// slow, because each pass keeps track of the order of all records that it reads.
const maxWholePasses = 4

// An input of up to 1/cachedInputPart of the memory is assumed to stay in the page cache, together
// with an output of the same size. A larger one would be read from the disk in each pass.
const cachedInputPart = 4

// SmallBytes is the size up to which an input is assumed to be in the page cache of any machine.
const SmallBytes = 64 << 20

// canReread reports whether a chunk can take the records of a key range, and the input can be read
// again.
func (f *Facts) canReread() bool {
	return f.Records >= 0 && !f.Remote && f.onHost() && f.Devices[0].Selects && f.Seekable
}

// staysCached reports whether the page cache holds the input until it has been read several times.
func (f *Facts) staysCached() bool { return f.bytes() <= max(f.Memory/cachedInputPart, SmallBytes) }

// keysFit reports whether no key of the sample is so frequent that its records may fill a chunk.
func keysFit(c *chooser, chunkRecords int64) bool {
	const full = 0.9
	keys := c.sorted()
	share := full * float64(chunkRecords) / float64(max(c.f.Records, 1))
	return !frequent(keys, int(share*float64(len(keys))))
}
