package plan

// Copy is for an input that is in order already, or in reverse order. It cannot be requested.
const Copy Strategy = "copy"

// StageCopy is the stage of Copy, and a stage of Sift, which copies the records that are in order.
const StageCopy = "copy"

var copyStage = stageText{StageCopy, "copying what is in order"}

// copying is the row of Copy.
var copying = Properties{
	Name:     Copy,
	Way:      "the input is in order already, so copy it",
	stages:   []stageText{copyStage},
	InMemory: true,
	weigh:    (*chooser).copy,
}

func (c *chooser) copy() Candidate {
	a := Candidate{Possible: true, Why: "the sample is in order: the input is copied while that holds"}
	switch {
	case c.f.Remote:
		a.Possible, a.Why = false, "could read a remote input twice"
	case c.f.Mirrored():
		a.Why = "the sample is in reverse order: the input is copied from its end while that holds"
	case !c.f.Ordered():
		a.Possible, a.Why = false, "the sample is not in order"
	}
	n, out := c.known(), c.written()
	a.Stages = []Stage{c.stage(StageCopy, work{reads: n, writes: out, starts: 1})}
	return c.finished(a, out, 0)
}
