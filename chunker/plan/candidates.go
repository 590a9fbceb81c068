package plan

import "math"

// stage returns a stage of a candidate that processes all records.
func (c *chooser) stage(name string, w work) Stage { return c.stageOf(name, float64(c.f.Records), w) }

// stageOf returns a stage of a candidate that processes some of the records.
func (c *chooser) stageOf(name string, records float64, w work) Stage {
	bytes := int64(max(records, 0)) * int64(c.f.recordSize())
	return Stage{Name: name, Bytes: bytes, Seconds: w.cost(c.prices)}
}

// known returns the number of records, or 0 if it is not known.
func (c *chooser) known() float64 { return float64(max(c.f.Records, 0)) }

// written returns the maximum number of records that are written to the output.
func (c *chooser) written() float64 {
	if c.f.Request.Limit > 0 {
		return min(c.known(), float64(c.f.Request.Limit))
	}
	return c.known()
}

// overlapLoss is the fraction of the shorter of two times, CPU and disk, that direct I/O does not
// hide.
const overlapLoss = 0.25

// overlap returns how long CPU work and disk transfers take when direct I/O lets them run
// concurrently.
func overlap(cpu, disk float64) float64 {
	return max(cpu, disk) + overlapLoss*min(cpu, disk)
}

// withDiskTime adds disk time to a candidate in two places: to its last stage, which waits for the
// disk, and as a new final stage, which syncs the output. It returns the candidate with its total
// time.
func (c *chooser) withDiskTime(a Candidate, writtenRecords, spilledRecords float64) Candidate {
	last := &a.Stages[len(a.Stages)-1]
	cpu := last.Seconds
	waitBytes := c.waitBytes(writtenRecords, spilledRecords) + a.fetchedRecords*c.eq.fetch
	disk := work{waits: waitBytes}.cost(c.prices)
	if c.directIO {
		last.Seconds = overlap(cpu, disk)
	} else {
		last.Seconds = cpu + disk
	}

	a.Stages = append(a.Stages, c.syncStage(writtenRecords, cpu))
	for _, s := range a.Stages {
		a.Seconds += s.Seconds
	}
	return a
}

// syncStage returns the stage that makes the output durable. The kernel has been writing to the
// disk since the last stage began, so only the remaining dirty pages count.
func (c *chooser) syncStage(writtenRecords, lastStageSeconds float64) Stage {
	finish := Stage{Name: StageFinish}
	if !c.f.Output.OnDisk {
		return finish
	}
	dirty := 0.0
	if !c.directIO {
		dirty = min(writtenRecords*float64(c.f.recordSize()), c.f.maxDirtyBytes())
	}
	writtenBack := lastStageSeconds / c.prices[waits]
	finish.Seconds = work{fixed: c.profile.Sync, waits: max(0, dirty-writtenBack)}.cost(c.prices)
	return finish
}

// dirtyPart is the fraction of the memory that may hold unwritten data before writers have to wait:
// Linux slows them down half way between a tenth and a fifth.
const dirtyPart = 0.15

// maxDirtyBytes returns how many bytes of unwritten data there can be before writers have to wait.
// It is unlimited if the size of the memory was not determined, because then the data is small.
func (f *Facts) maxDirtyBytes() float64 {
	if f.Memory == 0 {
		return math.Inf(1)
	}
	return dirtyPart * float64(f.Memory)
}

// waitBytes returns the number of bytes that must reach the disk before writers can continue. It
// counts the output, and the spilled records if they stay in the page cache. Without direct I/O,
// only the part beyond maxDirtyBytes counts.
func (c *chooser) waitBytes(writtenRecords, spilledRecords float64) float64 {
	records := 0.0
	if c.f.Spill.OnDisk && !c.f.leavesCache() {
		records += spilledRecords
	}
	if c.f.Output.OnDisk {
		records += writtenRecords
	}
	bytes := records * float64(c.f.recordSize())
	if c.directIO {
		return bytes
	}
	return max(0, bytes-c.f.maxDirtyBytes())
}

// isOnce reports whether the key at index i occurs only once in a sorted sample.
func isOnce(sorted []uint64, i int) bool {
	return (i == 0 || sorted[i-1] != sorted[i]) && (i+1 == len(sorted) || sorted[i+1] != sorted[i])
}

// frequent reports whether any key of a sorted sample occurs more often than the given number of
// times.
func frequent(keys []uint64, most int) bool {
	for i := most; i < len(keys); i++ {
		if keys[i] == keys[i-most] {
			return true
		}
	}
	return false
}

// SampleKeys is the number of keys in a sample, unless records are large. With that many keys,
// parts are within a few percent of their planned size, and sampling takes milliseconds.
const SampleKeys = 1 << 14

// passFill returns the fraction of a chunk that a pass should fill. It leaves a margin of twice the
// error of a sample of n keys, so that a pass rarely selects too many records. If a pass would
// select too many, it takes fewer.
func passFill(passes float64, n int) float64 {
	return 1 / (1 + 2*math.Sqrt(passes/float64(max(n, 1))))
}

// passesOf returns the number of passes that sort all records in chunks of the given capacity.
func passesOf(records, capacity int64) int {
	if records <= capacity {
		return 1
	}
	passes := float64(records) / float64(max(capacity, 1))
	return int(math.Ceil(passes / passFill(passes, SampleKeys)))
}

// wanted estimates how many of the first records in sorted order are needed. It returns -1 if all
// may be needed. With unique keys, it uses the sorted sample to estimate how many records contain
// enough distinct keys. It assumes that all keys between two different neighbors in the sample are
// distinct.
func (f *Facts) wanted(sorted func() []uint64) int64 {
	if f.Request.Limit <= 0 || !f.Request.Unique {
		return f.First()
	}
	keys := sorted()
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

// blocksOf returns the number of blocks in which spilled records are read back.
func (c *chooser) blocksOf(records float64, blockBytes int) float64 {
	return records * float64(c.f.recordSize()) / float64(max(blockBytes, 1))
}

// blockFill is the minimum average fill of the blocks of a run. Blocks are not always full, because
// a device stores whole buckets.
const blockFill = 5.0 / 8

// roomFor returns the disk space that a number of bytes takes up in blocks of at most block bytes.
// Each block takes whole pages.
func roomFor(bytes int64, block int) int64 {
	return bytes + int64(float64(bytes)*SpillAlign/(blockFill*float64(max(block, 1))))
}

// Levels returns the number of merge levels for a number of runs. With parts instead of runs, it
// returns the number of passes that distribute the records.
func Levels(runs, fanIn int) int {
	levels := 0
	for fanIn = max(fanIn, 2); runs > 1; levels++ {
		runs = (runs + fanIn - 1) / fanIn
	}
	return levels
}

// rewritten returns how often a record is merged into another run before the last merge, on
// average. All runs have the same size. This is less than the number of levels before the last: the
// first merge takes just enough runs that all later merges have the full fan-in.
func rewritten(runs, fanIn int) float64 {
	levels := Levels(runs, fanIn)
	if levels < 2 {
		return 0
	}
	full := float64(max(fanIn, 2))
	n := float64(runs)
	tooMany := n - math.Pow(full, float64(levels-1))
	merged := tooMany + math.Ceil(tooMany/(full-1))
	return float64(levels-2) + merged/n
}
