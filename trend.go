package extsort

import (
	"math"
	"slices"
)

const (
	// fewestSampled is how many keys tell how to cut a chunk's.
	fewestSampled = 1024

	// knotKeys is how many keys of a sample the median of is one that their places have but for outliers.
	knotKeys = 16
)

// knotsOf gives the medians of a sample, place by place.
func knotsOf(sample []uint64) []uint64 {
	knots := make([]uint64, 0, len(sample)/knotKeys)
	for keys := range slices.Chunk(sample, knotKeys) {
		if len(keys) == knotKeys {
			sorted := slices.Sorted(slices.Values(keys))
			knots = append(knots, sorted[knotKeys/2])
		}
	}
	return knots
}

// along guesses the keys of a stretch of data whose keys rise or fall with the position, from share from on and as long as
// share: it goes straight from knot to knot of the sample of all. What of the stretch's own few sampled keys is beyond that
// is added. 256 MiB of nearly sorted u64 took 1.5 s in 16 MiB of memory without it, when the 50 chunks had 300 keys each to be
// cut by, which lie close together in 20 places, and 0.9 s with as many as this gives.
func along(knots []uint64, from, share float64, own []uint64) []uint64 {
	if len(knots) < 2 {
		return nil
	}
	keys := make([]uint64, fewestSampled, fewestSampled+len(own))
	for i := range keys {
		at := from + share*(float64(i)+0.5)/fewestSampled
		keys[i] = between(knots, at*float64(len(knots)-1))
	}
	low, high := slices.Min(keys), slices.Max(keys)
	for _, key := range own {
		if key < low || key > high {
			keys = append(keys, key)
		}
	}
	return keys
}

// between goes straight from one knot to the next, and on beyond the first and the last.
func between(knots []uint64, at float64) uint64 {
	i := int(min(max(math.Floor(at), 0), float64(len(knots)-2)))
	a, b := knots[i], knots[i+1]
	part := at - float64(i)
	if a > b {
		a, b, part = b, a, 1-part
	}
	switch step := part * float64(b-a); {
	case step <= -float64(a):
		return 0
	case step < 0:
		return a - min(a, uint64(-step))
	case step >= float64(math.MaxUint64-a):
		return math.MaxUint64
	default:
		return a + min(math.MaxUint64-a, uint64(step))
	}
}
