package plan

import "fmt"

// A Condition is an event that only a run can detect, because no fact predicts it. Each strategy
// declares its conditions in its own file.
type Condition string

// A Transition says which strategy takes over if a condition holds during a run. The engine follows
// the transitions of the plan and no others.
type Transition struct {
	If   Condition `json:"if"`
	Then Strategy  `json:"then"`

	Part    bool `json:"part,omitempty"`    // only for the part that meets the condition
	Restart bool `json:"restart,omitempty"` // it begins again from the first record: see Impossible
}

func (t Transition) String() string {
	if t.Part {
		return fmt.Sprintf("%s for that part, if %s", t.Then, t.If)
	}
	return fmt.Sprintf("%s, if %s", t.Then, t.If)
}

// On returns the transition of a candidate for a condition. ok is false if the plan has none.
func (a *Candidate) On(condition Condition) (t Transition, ok bool) {
	for _, t := range a.Transitions {
		if t.If == condition {
			return t, true
		}
	}
	return Transition{}, false
}

// An exit is a row of a strategy's Properties from which the plan makes a transition.
type exit struct {
	condition Condition
	part      bool // see Transition.Part

	// to reports whether a strategy is the one that takes over. If to is nil, the next possible
	// candidate takes over and starts from the first record.
	to func(Properties) bool

	// canHappen reports whether the condition can hold; nil: always.
	canHappen func(*chooser, *Candidate) bool
}

func holdsAll(p Properties) bool     { return p.HoldsAll }
func isLastResort(p Properties) bool { return p.LastResort }
func spillsAll(p Properties) bool    { return p.SpillsAll }

// addTransitions adds transitions to the possible candidates. These come first in the list, in the
// order in which they are tried.
func addTransitions(c *chooser, all []Candidate) {
	for i := range all {
		a := &all[i]
		if !a.Possible {
			return
		}
		for _, e := range a.Strategy.Properties().exits {
			if e.canHappen != nil && !e.canHappen(c, a) {
				continue
			}
			if then := e.target(all[i+1:]); then != "" {
				a.Transitions = append(a.Transitions, Transition{e.condition, then, e.part, e.to == nil})
			}
		}
	}
}

// target returns the strategy that takes over, or "" if none can. later are the candidates after
// the one with the exit.
func (e *exit) target(later []Candidate) Strategy {
	if e.to == nil {
		if len(later) == 0 || !later[0].Possible {
			return ""
		}
		return later[0].Strategy
	}
	for _, row := range Strategies {
		if e.to(row) {
			return row.Name
		}
	}
	return ""
}
