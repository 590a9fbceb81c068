package session

import (
	"github.com/extsort/extsort/chunker"
	"github.com/extsort/extsort/chunker/plan"
	"github.com/extsort/extsort/device"
	"github.com/extsort/extsort/internal/engine"
)

// Results such as counts are usually appended when records are combined, in the output. If most keys
// occur several times and the sort spills, they are appended to each record as it is read instead.
// Then equal keys can be combined in runs and in buffers, and fewer records are spilled.

// appendingEarly is a sort that appends results to each record as it is read.
type appendingEarly struct {
	opt   Options
	in    *engine.Input
	facts *plan.Facts
	plan  *SortPlan
}

// appendResultsEarly replaces the plan by one that appends results as records are read, if it spills
// much less. A checkpoint with runs decides which of the two it is.
func (s *session) appendResultsEarly(profile *plan.Profile) error {
	facts := s.run.Facts
	hasRuns := facts.Checkpoint != nil && facts.Checkpoint.Runs > 0
	isRequired := hasRuns && s.run.Checkpoint.Appended()
	if !s.appendsEarly() || !isRequired && (hasRuns || !plan.MayCombineEarly(facts)) {
		return nil
	}

	early, err := s.newAppendingEarly(profile)
	pays := err == nil && plan.CombinesEarlier(early.facts, early.plan, facts, s.run.Plan)
	if !isRequired && !pays {
		return s.keepAppended(false)
	}
	if err != nil {
		return err
	}
	s.opt = early.opt
	s.run.Input = early.in
	s.run.Facts = early.facts
	s.run.Plan = early.plan
	return s.keepAppended(true)
}

// appendsEarly reports whether results can be appended before the sort.
func (s *session) appendsEarly() bool {
	g := s.opt.aggregation
	return g != nil && g.AppendsEarly() && s.opt.form(s.run.Input).To == 0
}

// newAppendingEarly returns the sort with its plan.
func (s *session) newAppendingEarly(profile *plan.Profile) (*appendingEarly, error) {
	g := s.opt.aggregation
	longer, appendTo, err := g.AppendEarly()
	if err != nil {
		return nil, err
	}
	transform, err := chunker.Appended(g.Keyer().Layout().RecordSize, longer.Keyer().Layout(), appendTo)
	if err != nil {
		return nil, err
	}
	early := &appendingEarly{opt: s.opt}
	early.opt.aggregation = longer
	early.opt.appended = g.Appended()
	if early.in, err = s.run.Input.Appended(transform); err != nil {
		return nil, err
	}
	early.facts = s.factsOf(early)
	early.plan, err = plan.Choose(early.facts, profile)
	return early, err
}

// factsOf returns the facts about records with appended results. The keys stay the same.
func (s *session) factsOf(early *appendingEarly) *plan.Facts {
	facts := *s.run.Facts
	longer := factsOf(&early.opt, early.in)
	facts.Keyer = longer.Keyer
	facts.Request = longer.Request
	facts.Devices = nil
	for _, d := range s.run.Devices {
		facts.Devices = append(facts.Devices, engine.Describe(d, device.ChunkOptions{
			Keyer:     facts.Keyer,
			Algorithm: facts.Request.Algorithm,
			Sample:    facts.Sample.Prefixes,
		}))
	}
	return &facts
}

// keepAppended records in the checkpoint, if there is one, whether results are appended early.
func (s *session) keepAppended(appended bool) error {
	if s.run.Checkpoint == nil {
		return nil
	}
	return s.run.Checkpoint.SetAppended(appended)
}
