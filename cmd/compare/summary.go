package main

import "slices"

// A summary contains the median, minimum and maximum of some times in seconds.
type summary struct {
	Median float64 `json:"median"`
	Min    float64 `json:"min"`
	Max    float64 `json:"max"`
}

// summarize returns the summary of times, or the zero value if times is empty. The median of an
// even number of times is the mean of the middle two.
func summarize(seconds []float64) summary {
	if len(seconds) == 0 {
		return summary{}
	}
	sorted := slices.Sorted(slices.Values(seconds))
	upper := len(sorted) / 2
	lower := (len(sorted) - 1) / 2
	return summary{
		Median: (sorted[lower] + sorted[upper]) / 2,
		Min:    sorted[0],
		Max:    sorted[len(sorted)-1],
	}
}

// ratio returns a / b, or 0 if b is unknown.
func ratio(a, b float64) float64 {
	if b == 0 {
		return 0
	}
	return a / b
}

func mean(values []float64) float64 {
	var sum float64
	for _, v := range values {
		sum += v
	}
	return ratio(sum, float64(len(values)))
}
