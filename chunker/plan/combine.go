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

// MayCombineEarly reports whether the planner can predict that combining equal keys of longer records
// before the last merge saves more than it costs. This requires that different keys have different
// prefixes.
func MayCombineEarly(f *Facts) bool {
	return f.onHost() && len(f.Devices) == 1 && f.Keyer.KeySize() <= 8 && len(f.Sample.Prefixes) >= leastForDistinct
}

// CombinesEarlier reports whether a plan for longer records, whose equal keys are combined early,
// spills less than a plan for the records themselves, and takes no longer. A stream that is likely to
// fit into memory is sorted as it is.
func CombinesEarlier(f *Facts, longer *Plan, plain *Facts, p *Plan) bool {
	if !p.Strategy.Properties().Spills || !longer.Strategy.Properties().Spills {
		return false
	}
	keys := f.Sample.Sorted()
	if f.Records < 0 { // a partition of a stream also begins with runs
		mayFit := longer.ChunkRecords > likelyStreamBytes/int64(f.recordSize())
		return !mayFit && shortens(f, plain, distinctShare(keys, float64(longer.ChunkRecords)))
	}
	if longer.Strategy.Properties().SpillsAll {
		scatter, fit := FitPartitions(f, &longer.Sizes, f.Records, longer.Chunks)
		return scatter.CombinesKeys(f, keys, fit) && shortens(f, plain, scatter.distinctShare(f, keys, fit))
	}
	isSlower := longer.Strategy != f.Request.Strategy && longer.Seconds > p.Seconds
	return !isSlower && float64(longer.TempBytes) <= appendBelow*float64(p.TempBytes)
}

// appendBelow is the ratio of spilled bytes up to which it pays to append results early. It is small
// because longer records and the combination of runs take CPU time (docs/dev/experiments.md).
const appendBelow = 0.25

// shortens reports whether a share of the longer records is much smaller than all plain records.
func shortens(longer, plain *Facts, share float64) bool {
	return share*float64(longer.recordSize()) <= appendBelow*float64(plain.recordSize())
}
