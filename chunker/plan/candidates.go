package plan

import "math"

// stage is a stage of a candidate through which all records go.
func (c *chooser) stage(name string, w work) Stage { return c.stageOf(name, float64(c.f.Records), w) }

func (c *chooser) stageOf(name string, records float64, w work) Stage {
	return Stage{Name: name, Bytes: int64(max(records, 0)) * int64(c.f.recordSize()), Seconds: w.cost(c.prices)}
}

// known is the number of records as the cost model takes it: none where it is not known.
func (c *chooser) known() float64 { return float64(max(c.f.Records, 0)) }

// written is how many records go to the output at most.
func (c *chooser) written() float64 {
	if c.f.Request.Limit > 0 {
		return min(c.known(), float64(c.f.Request.Limit))
	}
	return c.known()
}

// besideShare is the share of the shorter of two times, of the processors and of a disk, that does not go on beside the
// longer where requests past the page cache read ahead and write behind.
const besideShare = 0.25

// finished adds what it takes that some records are written to the disk and some spilled: the last stage waits
// for what does not fit into memory, and another makes the output durable, which the disk takes since the last began.
func (c *chooser) finished(a Candidate, written, spilled float64) Candidate {
	last, finish := &a.Stages[len(a.Stages)-1], Stage{Name: StageFinish}
	if c.f.Output.OnDisk {
		dirty := min(written*float64(c.f.recordSize()), c.f.dirtyBytes())
		if c.past {
			dirty = 0
		}
		finish.Seconds = work{syncs: 1, waits: max(0, dirty-last.Seconds/c.prices[waits])}.cost(c.prices)
	}
	disk := work{waits: c.waits(written, spilled), rereads: a.fetched}.cost(c.prices)
	if c.past {
		last.Seconds = max(last.Seconds, disk) + besideShare*min(last.Seconds, disk)
	} else {
		last.Seconds += disk
	}
	a.Stages = append(a.Stages, finish)
	for _, s := range a.Stages {
		a.Seconds += s.Seconds
	}
	return a
}

// dirtyPart is the part of the memory that may be written and not yet on the disk before writers wait: Linux slows them
// down half way between a tenth and a fifth.
const dirtyPart = 0.15

// dirtyBytes is how much that is; all where the memory was not asked for, since the data are few.
func (f *Facts) dirtyBytes() float64 {
	if f.Memory == 0 {
		return math.Inf(1)
	}
	return dirtyPart * float64(f.Memory)
}

// waits is how many bytes writers wait for until the disk has them: what does not fit into memory of the records that
// are written to the output and of those that are spilled and stay there.
func (c *chooser) waits(written, spilled float64) float64 {
	bytes := 0.0
	if c.f.Spill.OnDisk && !c.f.leavesCache() {
		bytes += spilled
	}
	if c.f.Output.OnDisk {
		bytes += written
	}
	bytes *= float64(c.f.recordSize())
	if c.past {
		return bytes
	}
	return max(0, bytes-c.f.dirtyBytes())
}

// isOnce reports whether a sample in order has the key at i only there.
func isOnce(sorted []uint64, i int) bool {
	return (i == 0 || sorted[i-1] != sorted[i]) && (i+1 == len(sorted) || sorted[i+1] != sorted[i])
}

// Frequent reports whether a key makes up more than most keys of a sample in order.
func Frequent(keys []uint64, most int) bool {
	for i := most; i < len(keys); i++ {
		if keys[i] == keys[i-most] {
			return true
		}
	}
	return false
}

// SampleKeys is how many keys a sample has, of records that are not large: enough for parts within a few percent of
// their share, and they take milliseconds.
const SampleKeys = 1 << 14

// PassFill is how full the chunks of the passes are meant to be: twice the error of a sample of n keys rarely makes
// more of it, and if it does the pass takes less.
func PassFill(passes float64, n int) float64 {
	return 1 / (1 + 2*math.Sqrt(passes/float64(max(n, 1))))
}

// passesOf is the number of passes for records in chunks of a capacity.
func passesOf(records, capacity int64) int {
	if records <= capacity {
		return 1
	}
	passes := float64(records) / float64(max(capacity, 1))
	return int(math.Ceil(passes / PassFill(passes, SampleKeys)))
}

// Wanted is about how many of the first records of the order are needed; -1: all may be. With unique keys that is as
// many as have that many distinct keys by the sample, where neighbours that differ are taken to be all different.
func (f *Facts) Wanted() int64 {
	if f.Request.Limit <= 0 || !f.Request.Unique {
		return f.First()
	}
	keys := f.Sample.Sorted()
	each := float64(max(f.Records, 0)) / float64(max(len(keys), 1))
	seen := 0.0
	for i, key := range keys {
		switch {
		case isOnce(keys, i):
			seen += each
		case i == 0 || keys[i-1] != key:
			seen++
		}
		if seen >= float64(f.Request.Limit) {
			return max(f.Request.Limit, int64(each*float64(i)))
		}
	}
	return -1
}

// blocksOf is the number of blocks of a size that records of spill are read back in.
func (c *chooser) blocksOf(records float64, block int) float64 {
	return records * float64(c.f.recordSize()) / float64(max(block, 1))
}

// blockFill is how full the blocks of a run are at least, on average: a device stores buckets whole.
const blockFill = 5.0 / 8

// roomFor is how much a file system needs for bytes in blocks of at most block bytes, each of which takes whole
// pages.
func roomFor(bytes int64, block int) int64 {
	return bytes + int64(float64(bytes)*SpillAlign/(blockFill*float64(max(block, 1))))
}

// Levels is the number of merges that a record goes through, or of passes that send it to its part.
func Levels(runs, fanIn int) int {
	levels := 0
	for fanIn = max(fanIn, 2); runs > 1; levels++ {
		runs = (runs + fanIn - 1) / fanIn
	}
	return levels
}

// rewritten is how many times a record of one of the runs, all of the same size, is merged into another run before
// the last merge, on average. It is less than the number of levels before the last: just as many runs are merged in the
// first one as must be for all later merges to have the full fan-in.
func rewritten(runs, fanIn int) float64 {
	levels := Levels(runs, fanIn)
	if levels < 2 {
		return 0
	}
	full, n := float64(max(fanIn, 2)), float64(runs)
	tooMany := n - math.Pow(full, float64(levels-1))
	merged := tooMany + math.Ceil(tooMany/(full-1))
	return float64(levels-2) + merged/n
}
