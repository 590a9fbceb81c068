package main

import "testing"

func TestSummarize(t *testing.T) {
	for _, c := range []struct {
		seconds []float64
		want    summary
	}{
		{nil, summary{}},
		{[]float64{3}, summary{3, 3, 3}},
		{[]float64{4, 1}, summary{2.5, 1, 4}},
		{[]float64{9, 1, 2}, summary{2, 1, 9}},
		{[]float64{4, 3, 2, 1}, summary{2.5, 1, 4}},
		{[]float64{5, 5, 1, 100, 5}, summary{5, 1, 100}},
	} {
		if got := summarize(c.seconds); got != c.want {
			t.Errorf("summarize(%v) = %+v, want %+v", c.seconds, got, c.want)
		}
	}
}

func TestSummarizeLeavesItsInput(t *testing.T) {
	seconds := []float64{3, 1, 2}
	summarize(seconds)
	if seconds[0] != 3 || seconds[1] != 1 {
		t.Errorf("the runs were reordered: %v", seconds)
	}
}

func TestSummaryString(t *testing.T) {
	for s, want := range map[summary]string{
		{0.0524, 0.05, 0.06}: "0.052 [0.050–0.060]",
		{12.345, 12, 13}:     "12.35 [12.00–13.00]",
	} {
		if s.String() != want {
			t.Errorf("%v, want %s", s, want)
		}
	}
}
