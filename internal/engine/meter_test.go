package engine

import (
	"testing"

	"github.com/extsort/extsort/chunker/plan"
)

// TestCompareStages corrects the prediction for a stage by the time of the stages before it, and
// the prediction for the run by the time of the first stage.
func TestCompareStages(t *testing.T) {
	measured := []plan.Stage{{Name: "start", Seconds: 9}, {Name: "sort", Seconds: 4}, {Name: "merge", Seconds: 3},
		{Name: "finish"}}
	predicted := []plan.Stage{{Name: "sort", Seconds: 2}, {Name: "merge", Seconds: 5}, {Name: "finish", Seconds: 1}}
	want := [][2]float64{{}, {2, 0}, {5, 10}, {1, 1}}
	stages, longest, all := CompareStages(measured, predicted, 8)
	if longest != "start" || all != 16 {
		t.Errorf("%s took the longest, all is to take %v, want start and 16", longest, all)
	}
	for i, s := range stages {
		if got := [2]float64{s.Predicted, s.Corrected}; got != want[i] || s.Seconds != measured[i].Seconds {
			t.Errorf("%s: %v, want %v", s.Name, got, want[i])
		}
	}
}
