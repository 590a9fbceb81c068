package plan

import (
	"fmt"
	"math"
)

// stage is a stage of a candidate through which all records go.
func (c *chooser) stage(name string, w work) Stage { return c.stageOf(name, float64(c.f.Records), w) }

func (c *chooser) stageOf(name string, records float64, w work) Stage {
	return Stage{Name: name, Bytes: int64(max(records, 0)) * int64(c.f.recordSize()), Seconds: w.cost(c.prices)}
}

// known is the number of records as the cost model takes it: none where it is not known.
func (c *chooser) known() float64 { return float64(max(c.f.Records, 0)) }

// written is how many records go to the output at most.
func (c *chooser) written() float64 {
	if c.f.Asked.Limit > 0 {
		return min(c.known(), float64(c.f.Asked.Limit))
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

func (c *chooser) copy() Candidate {
	a := Candidate{Strategy: Copy, Possible: true, Why: "the sample is in order: the input is copied while that holds"}
	switch {
	case c.f.Remote:
		a.Possible, a.Why = false, "could read a remote input twice"
	case c.f.Mirrored():
		a.Why = "the sample is in reverse order: the input is copied from its end while that holds"
	case !c.f.Ordered():
		a.Possible, a.Why = false, "the sample is not in order"
	}
	n, out := c.known(), c.written()
	a.Stages = []Stage{c.stage(StageCopy, work{reads: n, writes: out, starts: 1})}
	return c.finished(a, out, 0)
}

func (c *chooser) inCore() Candidate {
	a := Candidate{Strategy: InCore, ChunkRecords: c.capacity, Chunks: 1, Possible: true, Why: "fits one chunk"}
	if c.f.Records < 0 || c.f.Records > c.capacity {
		a.Possible, a.Why = false, "does not fit one chunk"
	}
	n := c.known()
	a.Stages = []Stage{
		c.stage(StageRead, work{reads: n, touches: n, sorts: n / 2, starts: 1}),
		c.stage(StageWrite, work{sorts: n / 2, writes: c.written()}),
	}
	return c.finished(a, c.written(), 0)
}

// reread sorts in several passes, each of which looks at every record and takes the least keys that are left (Munro and
// Paterson, "Selection and sorting with limited storage", 1980).
func (c *chooser) reread() Candidate {
	a := Candidate{Strategy: Reread, ChunkRecords: c.capacity,
		Why: "reads the input once for every chunk, without temporary data"}
	if c.f.Remote {
		a.Why = "would read a remote input more than once"
		return a
	}
	if !c.f.canReread() {
		a.Why = rereadNeeds
		return a
	}
	a.ChunkRecords = c.chunkRecords(c.f.Records)
	a.Chunks = passesOf(c.f.Records, a.ChunkRecords)
	wanted, n := c.f.Wanted(), c.known()
	few := wanted >= 0 && wanted <= c.f.Records/ChunkOfLimit
	if wanted >= 0 {
		n = min(n, float64(wanted))
		a.Chunks = min(a.Chunks, passesOf(wanted, a.ChunkRecords))
	}
	switch {
	case c.f.Records <= c.capacity && !few:
		a.Why = "one chunk holds everything"
	case a.Chunks > 1 && !c.f.Output.File:
		a.Why = "would write to a stream while it still reads the input"
	case a.Chunks > 1 && !c.f.staysCached():
		a.Why = rereadNeeds
	case c.f.Devices[0].WholeRecords && a.Chunks > maxWholePasses || !few && !c.f.keysFit(a.ChunkRecords):
		a.Why = rereadNeeds
	default:
		a.Possible = true
	}
	first := 1 / float64(max(a.Chunks, 1))
	a.Stages = []Stage{
		c.stage(StageRead, work{looks: c.known(), touches: first * n, sorts: first * n / 2, starts: 1}),
		c.stageOf(StageWrite, first*n, work{sorts: first * n / 2, writes: first * n}),
	}
	if a.Chunks > 1 {
		rest := (1 - first) * n
		a.Stages = append(a.Stages, c.stageOf(StagePasses, rest,
			work{looks: float64(a.Chunks-1) * c.known(), sorts: rest, writes: rest}))
	}
	return c.finished(a, n, 0)
}

const rereadNeeds = "needs records of up to 16 bytes in a few chunks or plain numbers of 3 to 8, " +
	"not too often the same, in files that the page cache holds"

// maxWholePasses is how many passes may pay for records that are sorted whole: their order is kept account of in all
// that is read.
const maxWholePasses = 4

// cachedInputPart is the part of the memory that an input may have to be taken to stay in the page cache, beside as
// much of output. More would be read from the disk again and again.
const cachedInputPart = 4

// SmallBytes of input are taken to be in the page cache on any machine.
const SmallBytes = 64 << 20

// canReread reports whether a chunk can take the records of a key range, and the input can be read again.
func (f *Facts) canReread() bool {
	return f.Records >= 0 && !f.Remote && f.onHost() && f.Devices[0].Selects && f.Seekable
}

// staysCached reports whether the page cache holds the input until it has been read several times.
func (f *Facts) staysCached() bool { return f.bytes() <= max(f.Memory/cachedInputPart, SmallBytes) }

// keysFit reports whether no key of the sample is so frequent that it may fill a chunk alone.
func (f *Facts) keysFit(chunk int64) bool {
	const full = 0.9
	keys := f.Sample.Sorted()
	return !Frequent(keys, int(full*float64(chunk)/float64(max(f.Records, 1))*float64(len(keys))))
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
	if f.Asked.Limit <= 0 || !f.Asked.Unique {
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
		if seen >= float64(f.Asked.Limit) {
			return max(f.Asked.Limit, int64(each*float64(i)))
		}
	}
	return -1
}

func (c *chooser) merge() Candidate {
	a := Candidate{Strategy: Merge, ChunkRecords: c.capacity, Possible: true,
		Why: "one pass to sort runs, one to merge them"}
	if c.f.Records < 0 {
		a.Why, a.Temp, a.Room, a.Levels = "works without knowing the size of the input", -1, -1, 1
		a.Stages = []Stage{c.stage(StageRuns, work{}), c.stage(StageMerge, work{})}
		return a
	}
	a.Chunks, a.Stays = c.cut(c.f.Records)
	a.Levels = Levels(a.Chunks, c.sizes.FanIn)
	n := c.known()
	merged, kept := n, float64(min(a.Stays, c.f.Records))
	if limit := c.f.First(); limit >= 0 {
		merged, kept = min(n, float64(limit)*float64(a.Chunks)), min(kept, float64(limit))
	}
	spilled := max(merged-kept, 0)
	if a.Kept = int64(kept) * int64(c.f.recordSize()); a.Kept > 0 {
		a.Why += "; the last stays in memory"
	}
	if !c.sizes.Merges(c.f) {
		a.Possible, a.Why = false, "too little memory for blocks of such records"
	}
	again := rewritten(a.Chunks, c.sizes.FanIn)
	a.Temp = int64(spilled) * int64(c.f.recordSize()) * int64(max(a.Levels, 1))
	a.Room = roomFor(a.Temp, c.storedBlock(a.ChunkRecords))
	stored, packed := spilled, 0.0
	if keeps, numbers := c.packing(a.Temp); keeps < 1 {
		stored, a.Stored, packed = keeps*spilled, int64(keeps*float64(a.Temp)), spilled*float64(numbers)
	}
	a.fetched = (1 + again) * stored
	runs, read := min(a.Chunks, c.sizes.FanIn), (1+again)*c.blocksOf(spilled, c.storedBlock(a.ChunkRecords))
	last := work{
		stores: again * stored, fetches: (1 + again) * stored, packs: (1 + 2*again) * packed,
		blocks: read, cuts: read * float64(runs),
		merges: (1 + again) * merged * math.Log2(float64(max(runs, 2))), follows: (1 + again) * merged, writes: c.written(),
	}
	if c.f.Reversed() {
		last[merges], last[follows] = 0, 0 // runs that do not overlap are only joined
	}
	touched, sorted := min(n, float64(a.ChunkRecords)), n
	if c.strays >= 0 {
		sorted *= 2 // the keys of a chunk are close together: buckets that are cut by a sample of all are cut again
	}
	a.Stages = []Stage{
		c.stage(StageRuns, work{reads: n, touches: touched, sorts: sorted, stores: stored, packs: packed, starts: 1}),
		c.stage(StageMerge, last),
	}
	return c.finished(a, c.written(), (1+again)*stored)
}

// blocksOf is the number of blocks of a size that records of spill are read back in.
func (c *chooser) blocksOf(records float64, block int) float64 {
	return records * float64(c.f.recordSize()) / float64(max(block, 1))
}

// partsInFlight is how many parts are loaded, sorted and written at a time where requests read and write them: the disk
// has nothing to read while one part is written, and nothing to write while it is loaded.
const partsInFlight = 2

// halved is the records of a chunk of so many; 0: one at a time is as good.
func (c *chooser) halved() int64 {
	if !c.sizes.Queue.Output {
		return 0
	}
	return min(c.f.Devices[0].Capacity(c.sizes.chunk(c.sizes.ChunkBytes/partsInFlight, 0)), c.capacity)
}

// scatter is how records are sent to parts of chunks of a size, of which a pass fits so many, in so many passes.
func (c *chooser) scatter(chunk int64) (s Scatter, parts, fit, passes int) {
	parts = PartsOf(c.f.Records, chunk)
	s, fit = FitParts(c.f, &c.sizes, max(c.f.Records, 0), parts)
	return s, parts, fit, max(Levels(parts, fit), 1)
}

// indexOfParts returns the memory of the index of all parts. Where parts are partitioned again, one at a time is: its
// own parts are there beside those of the first pass.
func indexOfParts(f *Facts, s Scatter, fit, passes int) int64 {
	blocks := s.Blocks(f.bytes(), fit)
	if passes > 1 {
		blocks += s.Blocks(f.bytes()/int64(fit), fit)
	}
	return indexEntries(f, blocks)
}

func (c *chooser) partition() Candidate {
	a := Candidate{Strategy: Partition, ChunkRecords: c.capacity, Possible: true,
		Why: "one pass to partition, one to sort the parts"}
	switch limit := c.f.Asked.Limit; {
	case limit > 0 && (c.f.Records < 0 || limit < c.f.Records):
		a.Possible, a.Why = false, "would store all records for a small result"
	case !c.sizes.Merges(c.f):
		a.Possible, a.Why = false, "too little memory to merge a part that turns out too large"
	}
	if c.f.Records < 0 {
		return c.partitionStream(a)
	}
	var scatter Scatter
	var fit, levels int
	scatter, a.Chunks, fit, levels = c.scatter(a.ChunkRecords)
	if half := c.halved(); half > 0 {
		if s, chunks, n, l := c.scatter(half); l <= levels { // one pass more would take longer than it saves
			scatter, a.Chunks, fit, a.ChunkRecords, a.InFlight = s, chunks, n, half, partsInFlight
		}
	}
	passes := float64(levels)
	n := c.known()
	a.Temp, a.fetched = int64(passes)*c.f.bytes(), passes*n
	a.Room = roomFor(a.Temp, scatter.BlockBytes)
	a.index = indexOfParts(c.f, scatter, fit, levels)
	if passes > 1 && a.Possible {
		a.Why = fmt.Sprintf("%.0f passes to partition, %d parts at a time, and one to sort them",
			passes, fit)
	}
	parts := work{
		scatters: (passes - 1) * n, stores: (passes - 1) * n, fetches: passes * n,
		blocks: passes * c.blocksOf(n, scatter.BlockBytes), parts: float64(a.Chunks),
		touches: min(n, float64(a.ChunkRecords)*float64(max(a.InFlight, 1))), sorts: n, writes: n,
	}
	a.Stages = []Stage{
		c.stage(StagePartition, work{reads: n, scatters: n, stores: n, starts: 1}), c.stage(StageParts, parts),
	}
	return c.finished(a, n, passes*n)
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
