package plan

import "math"

// Tally counts or combines the records of each key in hash tables. It is for few distinct keys.
const Tally Strategy = "tally"

// StageTally is the stage of Tally that reads the input.
const StageTally = "tally"

// manyKeys is the condition that ends a Tally.
const manyKeys Condition = "there are more distinct keys than expected"

// tallying is the row of Tally.
var tallying = Properties{
	Name: Tally,
	Way:  "the input has few distinct keys, so count or combine the records of each",
	stages: []stageText{
		{StageTally, "counting or combining the records of each key"},
		writeStage,
	},
	exits:         []exit{{condition: manyKeys}},
	Requestable:   true,
	Hint:          "few distinct keys",
	InMemory:      true,
	DirectIO:      true,
	ReadsAllFirst: true,
	weigh:         weighTally,
	canForce:      func(c *chooser, a *Candidate) bool { return c.f.canTally() && a.ChunkRecords > 0 },
}

const (
	// TallyBlockBytes is the size of the blocks in which a worker reads records.
	TallyBlockBytes = 64 << 10

	// tallyTableBytes is the memory of a table without keys.
	tallyTableBytes = 160 << 10

	// tallyMargin is the ratio of the keys that a table may contain to the number expected from the
	// sample. More keys show that the sample was misleading.
	tallyMargin = 4

	// leastPerKey is the least number of records for each key. With fewer, tables save little.
	leastPerKey = 8

	tallyScatters   = 1.0     // time to count a record, relative to sending it to its part
	cachedTableSize = 1 << 20 // tables up to this size stay in the processor's caches
	missScatters    = 1.0     // additional time for each doubling of a larger table
)

// weighTally returns the candidate that reads the input into hash tables. Its ChunkRecords is the
// maximum number of distinct keys.
func weighTally(c *chooser) Candidate {
	a := Candidate{Why: "few distinct keys: their records are counted or combined in memory"}
	n := c.known()
	keys := n
	memory := c.sizes.Budget.Chunks()/int64(c.sizes.Workers) - tallyTableBytes - tallyBuffer(c.f)
	if c.f.canTally() {
		keys = distinctShare(c.sorted(), n) * n
		a.ChunkRecords = max(memory, 0) / int64(c.f.Request.TallyBytes)
	}
	if most := c.f.Request.ChunkRecords; most > 0 {
		a.ChunkRecords = min(a.ChunkRecords, most)
	}
	expected := tallyMargin * (int64(keys) + 1)
	switch {
	case !c.f.canTally():
		a.Why = "needs keys of up to 8 bytes, inputs that can be read twice, and records to count or combine"
	case keys*leastPerKey >= n:
		a.Why = "the sample has many distinct keys"
	case expected > a.ChunkRecords:
		a.Why = "too little memory for all distinct keys"
	default:
		a.Possible = true
		a.ChunkRecords = expected
	}

	written := c.written()
	if c.f.Request.Unique {
		written = min(written, keys)
	}
	table := keys * float64(c.f.Request.TallyBytes)
	count := n * c.eq.tally * (tallyScatters + missScatters*max(0, math.Log2(table/cachedTableSize)))
	a.Stages = []Stage{
		c.stage(StageTally, work{reads: n, scatters: count, fixed: c.profile.start(c.f)}),
		c.stage(StageWrite, work{sorts: keys, writes: written}),
	}
	return c.withDiskTime(a, written, 0)
}

// tallyBuffer returns the memory for the records that a worker reads at once.
func tallyBuffer(f *Facts) int64 { return int64(max(TallyBlockBytes, f.recordSize())) }

// canTally reports whether the records can be counted or combined in tables, and the input can be
// read a second time if it has too many distinct keys.
func (f *Facts) canTally() bool {
	return f.Records >= 0 && f.onHost() && f.Seekable && !f.Remote && f.Request.TallyBytes > 0
}
