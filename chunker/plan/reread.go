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
	a := Candidate{ChunkRecords: c.capacity,
		Why: "reads the input once for every chunk, without temporary data"}
	if c.f.Remote {
		a.Why = "would read a remote input more than once"
		return a
	}
	if !c.f.canReread() {
		a.Why = rereadNeeds
		return a
	}
	a.ChunkRecords = c.chunkRecords(c.f.Records)
	a.Chunks = passesOf(c.f.Records, a.ChunkRecords)
	wanted, n := c.f.Wanted(), c.known()
	few := wanted >= 0 && wanted <= c.f.Records/chunkOfLimit
	if wanted >= 0 {
		n = min(n, float64(wanted))
		a.Chunks = min(a.Chunks, passesOf(wanted, a.ChunkRecords))
	}
	switch {
	case c.f.Records <= c.capacity && !few:
		a.Why = "everything fits in one chunk"
	case a.Chunks > 1 && !c.f.Output.File:
		a.Why = "would write to a stream while it is still reading the input"
	case a.Chunks > 1 && !c.f.staysCached():
		a.Why = rereadNeeds
	case c.f.Devices[0].WholeRecords && a.Chunks > maxWholePasses || !few && !c.f.keysFit(a.ChunkRecords):
		a.Why = rereadNeeds
	default:
		a.Possible = true
	}
	first := 1 / float64(max(a.Chunks, 1))
	a.Stages = []Stage{
		c.stage(StageRead, work{looks: c.known(), touches: first * n, sorts: first * n / 2, starts: 1}),
		c.stageOf(StageWrite, first*n, work{sorts: first * n / 2, writes: first * n}),
	}
	if a.Chunks > 1 {
		rest := (1 - first) * n
		a.Stages = append(a.Stages, c.stageOf(StagePasses, rest,
			work{looks: float64(a.Chunks-1) * c.known(), sorts: rest, writes: rest}))
	}
	return c.finished(a, n, 0)
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
