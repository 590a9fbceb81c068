package extsort

import (
	"math"
	"testing"
)

// TestRewritten: a record is merged as often as merge.Reduce does it, on average.
func TestRewritten(t *testing.T) {
	for _, c := range []struct {
		runs, fanIn int
		want        float64
	}{
		{1, 2, 0}, {2, 2, 0}, {3, 2, 2.0 / 3}, {4, 2, 1}, {8, 2, 2}, {12, 12, 0}, {13, 12, 2.0 / 13}, {144, 12, 1}, {145, 12, 147.0 / 145},
	} {
		if got := rewritten(c.runs, c.fanIn); math.Abs(got-c.want) > 1e-9 {
			t.Errorf("%d runs, %d at once: %f, want %f", c.runs, c.fanIn, got, c.want)
		}
	}
	for runs := 1; runs < 500; runs++ {
		for fanIn := 2; fanIn < 20; fanIn++ {
			if got, most := rewritten(runs, fanIn), float64(max(levelsOf(runs, fanIn)-1, 0)); got > most {
				t.Errorf("%d runs, %d at once: %f, more than the %f of full levels", runs, fanIn, got, most)
			}
		}
	}
}
