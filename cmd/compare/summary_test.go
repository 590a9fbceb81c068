package main

import (
	"slices"
	"testing"
)

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

func TestLongRunsCountOnce(t *testing.T) {
	for _, c := range []struct {
		long float64
		want []float64
	}{
		{0, []float64{3, 2}},
		{4, []float64{3, 2}},
		{3, []float64{4}},
	} {
		var l lane
		for turn, seconds := range []float64{4, 3, 2} {
			if !l.once {
				l.count(turn, seconds, c.long)
			}
		}
		if !slices.Equal(l.seconds, c.want) {
			t.Errorf("--long %v counted %v, want %v", c.long, l.seconds, c.want)
		}
	}
}
