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
