package engine

import (
	"slices"
	"strings"
	"testing"

	"github.com/extsort/extsort/chunker/plan"
)

// TestFollow checks that a run makes the transitions of its plan and no others.
func TestFollow(t *testing.T) {
	const whole, part, other plan.Condition = "the sun shines", "the moon shines", "it rains"
	c := &plan.Candidate{Strategy: "a", Transitions: []plan.Transition{
		{If: whole, Then: "b"},
		{If: part, Then: "c", Part: true},
	}}
	var warnings []string
	r := &Run{
		Facts: &plan.Facts{Request: plan.Request{Strategy: "a"}},
		Warn:  func(message string) { warnings = append(warnings, message) },
	}
	for range 3 {
		if err := followPart(r, c, part); err != nil {
			t.Error(err)
		}
	}
	if r.Result.Strategy != "" || len(warnings) != 0 {
		t.Errorf("a part changed the strategy to %q, warnings %q", r.Result.Strategy, warnings)
	}
	if err := follow(r, c, whole); err != nil || r.Result.Strategy != "b" {
		t.Errorf("strategy %q, error %v", r.Result.Strategy, err)
	}
	for _, follow := range []func(*Run, *plan.Candidate, plan.Condition) error{follow, followPart} {
		if err := follow(r, c, other); err == nil || !strings.Contains(err.Error(), "it rains") {
			t.Errorf("error %v", err)
		}
	}

	want := []string{
		"3 parts by strategy c: the moon shines",
		"from strategy a to b: the sun shines",
	}
	var got []string
	for _, change := range r.Result.Changes {
		got = append(got, change.String())
	}
	if !slices.Equal(got, want) || !slices.Equal(warnings, want[1:]) {
		t.Errorf("changes %q, want %q; warnings %q", got, want, warnings)
	}
}

// TestCandidateAfter checks which candidate starts over after another one turned out to be
// impossible.
func TestCandidateAfter(t *testing.T) {
	r := &Run{Plan: &plan.Plan{Considered: []plan.Candidate{
		{Strategy: "a", Transitions: []plan.Transition{{Then: "c"}, {Then: "b", Restart: true}}},
		{Strategy: "b", Transitions: []plan.Transition{{Then: "c"}}},
		{Strategy: "c"},
	}}}
	all := r.Plan.Considered
	if next := candidateAfter(r.Plan, &all[0]); next != &all[1] {
		t.Errorf("after a comes %v", next)
	}
	for i := range all[1:] {
		if next := candidateAfter(r.Plan, &all[1+i]); next != nil {
			t.Errorf("after %s comes %v", all[1+i].Strategy, next)
		}
	}
}
