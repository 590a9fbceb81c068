package engine

import (
	"testing"

	"github.com/extsort/extsort/chunker/plan"
)

// TestBeside corrects what is predicted of a stage by what those before it took.
func TestBeside(t *testing.T) {
	measured := []plan.Stage{{Name: "start", Seconds: 9}, {Name: "sort", Seconds: 4}, {Name: "merge", Seconds: 3},
		{Name: "finish"}}
	predicted := []plan.Stage{{Name: "sort", Seconds: 2}, {Name: "merge", Seconds: 5}, {Name: "finish", Seconds: 1}}
	want := [][2]float64{{}, {2, 0}, {5, 10}, {1, 1}}
	for i, s := range Beside(measured, predicted) {
		if got := [2]float64{s.Predicted, s.Corrected}; got != want[i] || s.Seconds != measured[i].Seconds {
			t.Errorf("%s: %v, want %v", s.Name, got, want[i])
		}
	}
}
