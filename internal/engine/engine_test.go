package engine

import (
	"testing"

	"github.com/extsort/extsort/chunker/plan"
)

// TestEveryStrategyRuns checks that the engine has a function for every strategy of package plan.
func TestEveryStrategyRuns(t *testing.T) {
	for _, s := range plan.Strategies {
		if Strategies[s.Name] == nil {
			t.Errorf("the engine has no %s", s.Name)
		}
	}
	if len(Strategies) != len(plan.Strategies) {
		t.Errorf("the engine has %d strategies, plans %d", len(Strategies), len(plan.Strategies))
	}
}
