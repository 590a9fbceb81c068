package plan

// Copy is for an input that is in order already, or in reverse order. It cannot be requested.
const Copy Strategy = "copy"

// StageCopy is the stage of Copy, and a stage of Sift, which copies the records that are in order.
const StageCopy = "copy"

var copyStage = stageText{StageCopy, "copying the records that are in order"}

// copying is the row of Copy.
var copying = Properties{
	Name:     Copy,
	Way:      "the input is already in order, so copy it",
	stages:   []stageText{copyStage},
	InMemory: true,
	weigh:    (*chooser).copy,
}

func (c *chooser) copy() Candidate {
	a := Candidate{Possible: true, Why: "the sample is in order, so the input is copied until a record is out of order"}
	switch {
	case c.f.Remote:
		a.Possible, a.Why = false, "might have to read a remote input twice"
	case c.f.Mirrored():
		a.Why = "the sample is in reverse order, so the input is copied backwards until a record is out of order"
	case !c.f.Ordered():
		a.Possible, a.Why = false, "the sample is not in order"
	}
	n, out := c.known(), c.written()
	a.Stages = []Stage{c.stage(StageCopy, work{reads: n, writes: out, starts: 1})}
	return c.finished(a, out, 0)
}
