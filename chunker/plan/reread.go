package plan

// Reread is multi-pass: it sorts one key range after another and reads the whole input for each.
const Reread Strategy = "reread"

// StagePasses is a stage of Reread: it reads again, sorts and writes, after the first pass.
const StagePasses = "more passes"

// rereading is the row of Reread.
var rereading = Properties{
	Name:        Reread,
	Way:         "sort one key range at a time, reading the input for each",
	stages:      []stageText{readStage, writeStage, {StagePasses, "reading the input again for each key range"}},
	Requestable: true,
	Hint:        "multi-pass",
	InMemory:    true,
	Rereads:     true,
	weigh:       (*chooser).reread,
	canForce:    func(c *chooser, _ *Candidate) bool { return c.f.canReread() && c.f.staysCached() },
	losesWork:   func(a *Candidate) bool { return a.Chunks > 1 },
}

// reread sorts in several passes, each of which looks at every record and takes the least keys that are left (Munro and
// Paterson, "Selection and sorting with limited storage", 1980).
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
	wanted := c.f.Wanted()
	if wanted >= 0 {
		selected = min(selected, float64(wanted))
		a.Chunks = min(a.Chunks, passesOf(wanted, a.ChunkRecords))
	}

	a.Why = c.f.rereadObstacle(&a, c.capacity, wanted)
	a.Possible = a.Why == ""
	if a.Possible {
		a.Why = "reads the input once for every chunk, without temporary data"
	}
	a.Stages = passStages(c, a.Chunks, selected)
	return c.finished(a, selected, 0)
}

// rereadObstacle returns why an input that can be read again cannot be sorted in passes, or "" if it can.
func (f *Facts) rereadObstacle(a *Candidate, capacity, wanted int64) string {
	few := wanted >= 0 && wanted <= f.Records/chunkOfLimit
	switch {
	case f.Records <= capacity && !few:
		return "everything fits in one chunk"
	case a.Chunks > 1 && !f.Output.File:
		return "would write to a stream while it is still reading the input"
	case a.Chunks > 1 && !f.staysCached():
		return rereadNeeds
	case f.Devices[0].WholeRecords && a.Chunks > maxWholePasses:
		return rereadNeeds
	case !few && !f.keysFit(a.ChunkRecords):
		return rereadNeeds
	}
	return ""
}

// passStages returns the stages of that many passes, which select records in equal shares.
func passStages(c *chooser, passes int, selected float64) []Stage {
	first := selected / float64(max(passes, 1))
	rest := selected - first
	stages := []Stage{
		c.stage(StageRead, work{looks: c.known(), touches: first, sorts: first / 2, starts: 1}),
		c.stageOf(StageWrite, first, work{sorts: first / 2, writes: first}),
	}
	if passes > 1 {
		moreLooks := float64(passes-1) * c.known()
		stages = append(stages, c.stageOf(StagePasses, rest, work{looks: moreLooks, sorts: rest, writes: rest}))
	}
	return stages
}

const rereadNeeds = "needs a few chunks of records of up to 16 bytes, or plain numbers of 3 to 8 bytes, " +
	"with few duplicates, in files that fit in the page cache"

// maxWholePasses is how many passes may pay for records that are sorted whole: their order is kept account of in all
// that is read.
const maxWholePasses = 4

// cachedInputPart is the part of the memory that an input may have to be taken to stay in the page cache, beside as
// much of output. More would be read from the disk again and again.
const cachedInputPart = 4

// SmallBytes of input are taken to be in the page cache on any machine.
const SmallBytes = 64 << 20

// canReread reports whether a chunk can take the records of a key range, and the input can be read again.
func (f *Facts) canReread() bool {
	return f.Records >= 0 && !f.Remote && f.onHost() && f.Devices[0].Selects && f.Seekable
}

// staysCached reports whether the page cache holds the input until it has been read several times.
func (f *Facts) staysCached() bool { return f.bytes() <= max(f.Memory/cachedInputPart, SmallBytes) }

// keysFit reports whether no key of the sample is so frequent that it may fill a chunk alone.
func (f *Facts) keysFit(chunk int64) bool {
	const full = 0.9
	keys := f.Sample.Sorted()
	return !Frequent(keys, int(full*float64(chunk)/float64(max(f.Records, 1))*float64(len(keys))))
}
