package plan

// InCore sorts one chunk, which holds all records. It cannot be requested.
const InCore Strategy = "in-core"

// The stages of InCore. Other strategies have them, too.
const (
	StageRead  = "read"        // read the records and distribute them to buckets
	StageWrite = "sort, write" // sort the buckets and write them
)

// OneChunk holds if a strategy that cuts the input into chunks finds that the first chunk holds all
// records.
const OneChunk Condition = "one chunk holds everything"

var (
	readStage  = stageText{StageRead, "reading the input"}
	writeStage = stageText{StageWrite, "sorting and writing the output"}
)

// inCore is the row of InCore.
var inCore = Properties{
	Name:          InCore,
	Way:           "everything fits in memory",
	stages:        []stageText{readStage, writeStage},
	InMemory:      true,
	HoldsAll:      true,
	ReadsAllFirst: true,
	weigh:         (*chooser).inCore,
}

func (c *chooser) inCore() Candidate {
	a := Candidate{
		ChunkRecords: c.capacity,
		Chunks:       1,
		Possible:     true,
		Why:          "everything fits in one chunk",
	}
	if c.f.Records < 0 || c.f.Records > c.capacity {
		a.ruleOut("does not fit in one chunk")
	}
	n := c.known()
	a.Stages = []Stage{
		c.stage(StageRead, work{reads: n, touches: n, sorts: n / 2, fixed: c.profile.start(c.f)}),
		c.stage(StageWrite, work{sorts: n / 2, writes: c.written()}),
	}
	return c.withDiskTime(a, c.written(), 0)
}

// mayBeOneChunk reports whether a run of a candidate may find that one chunk holds everything.
func mayBeOneChunk(c *chooser, a *Candidate) bool { return c.f.Records <= a.ChunkRecords }
