package plan

// Copy is for an input that is already in order, or in reverse order. It cannot be requested.
const Copy Strategy = "copy"

// StageCopy is the stage of Copy. Sift also has it, for copying the records that are in order.
const StageCopy = "copy"

// outOfOrder is the condition that ends a Copy.
const outOfOrder Condition = "a record is out of order"

var copyStage = stageText{StageCopy, "copying the records that are in order"}

// copying is the row of Copy.
var copying = Properties{
	Name:     Copy,
	Way:      "the input is already in order, so copy it",
	stages:   []stageText{copyStage},
	exits:    []exit{{condition: outOfOrder}},
	InMemory: true,
	weigh:    (*chooser).copy,
}

func (c *chooser) copy() Candidate {
	a := Candidate{Possible: true, Why: "the sample is in order, so the input is copied until a record is out of order"}
	switch {
	case c.f.Remote:
		a.ruleOut("might have to read a remote input twice")
	case c.f.Mirrored():
		a.Why = "the sample is in reverse order, so the input is copied backwards until a record is out of order"
	case !c.f.ordered():
		a.ruleOut("the sample is not in order")
	}
	a.Stages = []Stage{c.stage(StageCopy, work{reads: c.known(), writes: c.written(), fixed: c.profile.start(c.f)})}
	return c.withDiskTime(a, c.written(), 0)
}
