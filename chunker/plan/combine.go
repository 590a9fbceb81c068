package plan

import "math"

// leastForDistinct is the least size of a sample from which the number of distinct keys is
// estimated.
const leastForDistinct = 1000

// combinedShare estimates which fraction of the records of a chunk is left in its run after equal
// keys are combined. It is 1 if keys are not combined in runs, or if different keys may have equal
// prefixes.
func combinedShare(c *chooser, chunkRecords int64) float64 {
	if !c.f.Request.CombinesRuns || c.f.Keyer.KeySize() > 8 {
		return 1
	}
	return distinctShare(c.sorted(), float64(chunkRecords))
}

// distinctShare estimates the fraction of n records that have distinct keys, if their keys are
// distributed as those of a sorted sample. The estimate of the number of distinct keys of all
// records is a lower bound (Chao, "Nonparametric estimation of the number of classes in a
// population", 1984).
func distinctShare(sorted []uint64, n float64) float64 {
	if len(sorted) < leastForDistinct || n < 1 {
		return 1
	}
	distinct := 0.0
	once := 0.0
	twice := 0.0
	for from, to := 0, 0; from < len(sorted); from = to {
		for to = from; to < len(sorted) && sorted[to] == sorted[from]; {
			to++
		}
		distinct++
		switch to - from {
		case 1:
			once++
		case 2:
			twice++
		}
	}
	if once > 0 && twice == 0 {
		return 1 // too few keys are repeated
	}
	if once > 0 {
		distinct += once * once / (2 * twice)
	}
	return min(distinct*-math.Expm1(-n/distinct)/n, 1)
}
