package plan

// inCore is the row of InCore.
var inCore = Properties{
	Name:          InCore,
	Way:           "everything fits in memory",
	InMemory:      true,
	HoldsAll:      true,
	ReadsAllFirst: true,
	weigh:         (*chooser).inCore,
}

func (c *chooser) inCore() Candidate {
	a := Candidate{ChunkRecords: c.capacity, Chunks: 1, Possible: true, Why: "fits one chunk"}
	if c.f.Records < 0 || c.f.Records > c.capacity {
		a.Possible, a.Why = false, "does not fit one chunk"
	}
	n := c.known()
	a.Stages = []Stage{
		c.stage(StageRead, work{reads: n, touches: n, sorts: n / 2, starts: 1}),
		c.stage(StageWrite, work{sorts: n / 2, writes: c.written()}),
	}
	return c.finished(a, c.written(), 0)
}
