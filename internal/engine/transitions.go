package engine

import (
	"fmt"
	"slices"

	"github.com/extsort/extsort/chunker/plan"
)

// candidateAfter returns the candidate to try next if c turns out to be impossible, or nil.
func candidateAfter(p *plan.Plan, c *plan.Candidate) *plan.Candidate {
	again := slices.IndexFunc(c.Transitions, func(t plan.Transition) bool { return t.Restart })
	if again < 0 {
		return nil
	}
	all := p.Considered
	next := slices.IndexFunc(all, func(other plan.Candidate) bool {
		return other.Strategy == c.Transitions[again].Then
	})
	return &all[next]
}

// follow records the transition that the plan prescribes if a condition holds for a candidate.
func follow(r *Run, c *plan.Candidate, condition plan.Condition) error {
	t, err := transition(c, condition)
	if err != nil {
		return err
	}
	r.change(c.Strategy, t.Then, string(condition))
	r.Result.Strategy = t.Then
	return nil
}

// followPart records the transition of one part of a partition. It counts the parts that meet the
// same condition.
func followPart(r *Run, c *plan.Candidate, condition plan.Condition) error {
	t, err := transition(c, condition)
	if err != nil {
		return err
	}
	changes := r.Result.Changes
	isSame := func(other Change) bool { return other.Parts > 0 && other.Why == string(condition) }
	if i := slices.IndexFunc(changes, isSame); i >= 0 {
		changes[i].Parts++
		return nil
	}
	change := Change{Planned: c.Strategy, Why: string(condition), Ran: t.Then, Parts: 1}
	r.Result.Changes = append(changes, change)
	return nil
}

// transition returns the transition of a candidate for a condition. It returns an error if the plan
// has none, which is a bug.
func transition(c *plan.Candidate, condition plan.Condition) (plan.Transition, error) {
	t, ok := c.On(condition)
	if !ok {
		return t, fmt.Errorf("internal error: the plan for strategy %s does not say what to do if %s",
			c.Strategy, condition)
	}
	return t, nil
}
