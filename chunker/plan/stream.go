package plan

import (
	"fmt"
	"sort"
)

// likelyChunks is how many a stream is planned for: where they are fewer, either way is fast.
const likelyChunks = 32

// partsOfStream is the number of its parts: more are small where it is short, fewer too large sooner.
const partsOfStream = 128

// RunsOfStream is how many chunks become runs before a stream is taken to be so long that a partition is worth it.
const RunsOfStream = 8

// partitionStream is a partition by the keys of the first chunks, where a stream of likely length gains by it. Whether
// the keys stay what they are at its start, and more of them come, is seen when those are there.
func (c *chooser) partitionStream(a Candidate) Candidate {
	a.Chunks, a.TempBytes, a.RoomBytes = partsOfStream, -1, -1
	a.Stages = []Stage{c.stage(StagePartition, work{}), c.stage(StageParts, work{})}
	likely := *c.f
	likely.Records = likelyChunks * c.capacity
	switch guess := newChooser(&likely, c.profile); {
	case !a.Possible:
	case !c.f.Sample.Enough || guess.strays >= 0:
		a.Possible, a.Why = false, "needs keys in random order"
	case guess.partition().Seconds > guess.merge().Seconds:
		a.Possible, a.Why = false, fmt.Sprintf("would be slower than a merge for %d chunks", likelyChunks)
	default:
		a.Why = "one pass to partition by the keys of the first chunks, one to sort the parts"
	}
	return a
}

// maxDrift is how far apart two samples may be of which one tells of the other. Those of the same keys are by a fifth.
const maxDrift = 1.0 / 16

// Drift reports whether the keys of two samples in order are distributed differently: by the greatest difference of the
// shares of keys up to any (the statistic of Kolmogorov and Smirnov).
func Drift(a, b []uint64) bool { return exceeds(a, b) || exceeds(b, a) }

// exceeds reports whether a has a share of keys up to one of its keys that is by maxDrift greater than that of b.
func exceeds(a, b []uint64) bool {
	for i, key := range a {
		upTo := sort.Search(len(b), func(j int) bool { return b[j] > key })
		if float64(i+1)/float64(len(a))-float64(upTo)/float64(max(len(b), 1)) > maxDrift {
			return true
		}
	}
	return false
}
