package plan

import (
	"fmt"
	"math"
	"sort"
)

// The conditions of a Partition of a stream, whose length and keys are not known in advance.
const (
	FewChunks Condition = "the input ends after a few chunks"
	KeysDrift Condition = "the first chunks have other keys than the start of the input"
	ShortRuns Condition = "few records are left after equal keys of the first chunks are combined"
)

const (
	// likelyChunks is the number of chunks that a stream is expected to have. If it has fewer, any
	// strategy is fast.
	likelyChunks = 32

	// minStreamParts is the least number of parts of a stream. More parts would be too small in a
	// short stream, and fewer would soon be too large in a long one.
	minStreamParts = 128

	// likelyStreamBytes is the size of a stream whose parts still fit in a chunk. It does not
	// depend on the memory limit, because the length of a stream does not either. Each part needs a
	// buffer, though, and buffers of less than minStreamBlock would cost more than they save.
	likelyStreamBytes = 512 << 20
	minStreamBlock    = 8 << 10

	// RunsOfStream is the number of chunks that become runs before a stream counts as long enough
	// for a partition.
	RunsOfStream = 8
)

func isStream(c *chooser, _ *Candidate) bool { return c.f.Records < 0 }

// isChosenForStream reports whether the planner chose the strategy for a stream. If the user
// requested the strategy, the run keeps it.
func isChosenForStream(c *chooser, a *Candidate) bool { return isStream(c, a) && a.Why != requested }

// mayCombine reports whether equal keys of a stream are combined in its runs, and the planner chose
// the strategy.
func mayCombine(c *chooser, a *Candidate) bool {
	return isChosenForStream(c, a) && c.f.Request.CombinesRuns
}

// AreShort reports whether the runs of a stream contain so few of the records that were read that
// merging all runs is faster than sending all records to parts.
func AreShort(read, left int64) bool { return float64(left) <= combineBelow*float64(read) }

// partsOfStream returns the number of parts of a stream. The parts are determined from the keys of
// sorted runs. These are so precise that a part needs no margin for their error.
func partsOfStream(c *chooser) int {
	parts := partsOf(likelyStreamBytes/int64(c.f.recordSize()), c.capacity, math.MaxInt)
	for parts > minStreamParts {
		scatter, fit := FitPartitions(c.f, &c.sizes, -1, parts)
		if fit == parts && scatter.BlockBytes >= minStreamBlock {
			return parts
		}
		parts -= parts / 8
	}
	return minStreamParts
}

// partitionStream returns the candidate that partitions a stream by the keys of its first chunks,
// if this is faster for a stream of likely length. The run finds out whether the stream is long
// enough, and whether its keys stay the same.
func (c *chooser) partitionStream(a Candidate) Candidate {
	a.Chunks = partsOfStream(c)
	a.ScatterPasses = 1
	a.TempBytes = -1
	a.RoomBytes = -1
	a.Stages = []Stage{c.stage(StagePartition, work{}), c.stage(StageParts, work{})}
	if !a.Possible {
		return a
	}

	likely := *c.f
	likely.Records = likelyChunks * c.capacity
	guess := newDecision(&likely, c.profile).chooser(reserved{})
	switch {
	case !c.f.Sample.Enough || guess.outOfOrder >= 0:
		a.ruleOut("needs keys in random order")
	case guess.partition().Seconds > guess.merge().Seconds:
		a.ruleOut(fmt.Sprintf("would be slower than a merge for %d chunks", likelyChunks))
	default:
		a.Why = "one pass to partition by the keys of the first chunks, one to sort the parts"
	}
	return a
}

// maxDrift is the largest difference at which two samples still count as equally distributed.
// Samples of the same keys usually differ by a fifth of maxDrift.
const maxDrift = 1.0 / 16

// Drift reports whether the keys of two sorted samples are distributed differently. It compares the
// largest difference of their cumulative distributions with a limit (the test of Kolmogorov and
// Smirnov).
func Drift(a, b []uint64) bool { return exceeds(a, b) || exceeds(b, a) }

// exceeds reports whether, at some key of a, the fraction of a up to that key exceeds that of b by
// more than maxDrift.
func exceeds(a, b []uint64) bool {
	for i, key := range a {
		upTo := sort.Search(len(b), func(j int) bool { return b[j] > key })
		shareA := float64(i+1) / float64(len(a))
		shareB := float64(upTo) / float64(max(len(b), 1))
		if shareA-shareB > maxDrift {
			return true
		}
	}
	return false
}
