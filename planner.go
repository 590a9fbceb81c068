package extsort

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"github.com/extsort/extsort/chunker/plan"
	"github.com/extsort/extsort/device"
	"github.com/extsort/extsort/device/cpu"
)

// planner weighs the strategies for one dataset.
type planner struct {
	work      work
	rates     rates
	records   int64 // -1: not known
	capacity  int64 // records that fit one chunk
	cut       cutting
	fanIn     int
	block     int       // bytes of spill that a merge reads at a time
	partBlock int       // the same of a part
	fanOut    int       // parts that one pass can fill
	limit     int64     // 0: all
	wanted    int64     // records of the order that are needed, about; 0: all
	ordered   bool      // the sample is in order, or in reverse order so that the input can be copied all the same
	reversed  bool      // the sample is in reverse order: runs do not overlap
	sharing   int       // devices that hold all of the data together; 0: they do not, or there is but one
	gpus      bool      // all the devices are GPUs
	merges    bool      // memory is enough to merge
	disk      diskCosts // of spill and output
	rereads   bool      // the input can be read again and again
	again     float64   // bytes/s that all workers together read then
	apart     bool      // the output is a file, and no stream that may end in an input
}

// storedBlock is the size of the blocks of a run: small chunks are stored in smaller ones than are wanted.
func (j *job) storedBlock() int {
	if !j.onCPU() {
		return j.blockBytes
	}
	return j.devices[0].BlockBytes(j.chunkOptions(), j.capacity)
}

func (j *job) planner() *planner {
	p := &planner{
		work:  j.work(),
		rates: j.rates, records: j.data.Records(), capacity: j.capacity, cut: j.cut(j.data.Records()),
		fanIn: j.fanIn(), block: j.storedBlock(), limit: max(j.limit(), 0), wanted: max(j.wanted(), 0),
		ordered: j.ordered, reversed: j.looksReversed(), sharing: j.sharing(), gpus: j.gpuRates() != nil, merges: j.canMerge(),
	}
	p.disk = j.diskCosts()
	if j.mayReread() {
		p.rereads, p.again, p.apart = true, j.againBytes(), j.isApart()
	}
	var opt plan.Scatter
	opt, p.fanOut = j.scatterOptions(max(p.records, 0), p.parts())
	p.partBlock = opt.BlockBytes
	return p
}

// can is what the host's processors do with the records.
func (j *job) can() device.Capabilities { return cpu.New().Capabilities(j.keyer) }

func (j *job) work() work {
	can := j.can()
	return work{
		records: float64(max(j.data.Records(), 0)), size: float64(j.size),
		bare: j.keyer.Layout().IsBare() && j.keyer.KeySize() <= 8, moved: can.WholeRecords, counted: can.Histogram,
		workers: float64(j.opt.Workers), selectSeconds: can.SelectSeconds,
		trends: allSeekable(j.inputs) && j.sample.Trends(), gpus: j.gpuRates(), reclaimed: j.reclaimed(),
	}
}

// fewRuns are so few that to merge more at once, by fewer workers, takes less than the levels that it saves: 256 MiB of u32 in
// 16 MiB were spilled 7 times with two workers, and 5 times with one, see fanIn.
const fewRuns = 8

// fanIn is the number of runs that one merge can take. Where memory is too little for more than a few, it is that of fewer
// workers: a merge of as many runs goes on with those that it has memory for.
func (j *job) fanIn() int {
	n := 0
	for workers := j.opt.Workers; workers > 0 && n < fewRuns; workers-- {
		n = max(n, plan.MaxFanIn(j.keyer, j.blockBytes, workers, j.mergeBytes()))
	}
	if j.opt.BatchSize > 0 {
		n = min(n, j.opt.BatchSize)
	}
	return max(n, 2)
}

// weigh returns the strategies, the one to take first. A forced strategy is taken unless everything fits one
// chunk, where there is nothing to merge and nothing to partition: asking for one then still does as asked.
func (p *planner) weigh(forced Strategy) []Candidate {
	all := []Candidate{p.copy(), p.inCore(), p.spread(), p.reread(), p.merge(), p.partition()}
	if forced != "" && forced != Auto && (forced != Reread || p.rereads) {
		i := slices.IndexFunc(all, func(c Candidate) bool { return c.Strategy == forced })
		all[i].Why, all[i].possible = "asked for", true
		all[0], all[i] = all[i], all[0]
		return all
	}
	p.disk.leaveOut(all)
	if p.inCore().possible {
		for i := range all { // one chunk needs nothing to be spilled, whatever the sum of the stages
			all[i].possible = all[i].possible && slices.Contains([]Strategy{InCore, Copy, Reread}, all[i].Strategy)
		}
	}
	slices.SortStableFunc(all, byCost)
	return all
}

// byCost puts what is possible first, and of that the cheapest. But where the devices can share the data, which is
// what naming several is for, they do.
func byCost(a, b Candidate) int {
	first := map[bool]int{true: -1, false: 1}
	if a.possible != b.possible {
		return first[a.possible]
	}
	if (a.Strategy == Spread) != (b.Strategy == Spread) && a.possible {
		return first[a.Strategy == Spread]
	}
	return cmp.Compare(a.Seconds, b.Seconds)
}

// sum fills in the total of the stages.
func (c Candidate) sum() Candidate {
	for _, s := range c.stages {
		c.Seconds += s.Seconds
	}
	return c
}

func (p *planner) stage(name string, seconds float64) Stage {
	return Stage{Name: name, Bytes: int64(p.work.bytes()), Seconds: seconds}
}

func (p *planner) copy() Candidate {
	w, r := p.work, p.rates
	written := w.atMost(p.limit)
	c := Candidate{Strategy: Copy, possible: p.ordered, Why: "the sample is in order: the input is copied while that holds"}
	switch {
	case !p.ordered:
		c.Why = "the sample is not in order"
	case p.reversed:
		c.Why = "the sample is in reverse order: the input is copied from its end while that holds"
	}
	c.stages = []Stage{p.stage(stageCopy, w.readCost(r)+written.writeCost(r)+p.waitCost(written, 0)+r.startSeconds)}
	return c.sum()
}

func (p *planner) inCore() Candidate {
	w, r := p.work.onOneGPU(), p.rates
	c := Candidate{Strategy: InCore, chunks: 1, possible: p.records >= 0 && p.records <= p.capacity, Why: "fits one chunk"}
	if !c.possible {
		c.Why = "does not fit one chunk"
	}
	if p.spread().possible {
		c.possible, c.Why = false, "would leave all devices but one idle"
	}
	c.stages = []Stage{
		p.stage(stageRead, w.readCost(r)+w.touchCost()+w.sortCost(r)/2+r.startSeconds),
		p.stage(stageWrite, w.sortCost(r)/2+w.writeCost(r)+p.waitCost(w, 0)),
	}
	return c.sum()
}

// reread is sorting in passes. In each but the first, too, every record is looked at.
func (p *planner) reread() Candidate {
	w, r := p.work, p.rates
	c := Candidate{Strategy: Reread, possible: p.rereads, Why: "reads the input once for every chunk, and spills nothing"}
	if !p.rereads {
		c.Why = rereadNeeds
		return c
	}
	touch := 0.0 // what does not fit memory touches all of that in any case
	if c.chunks = passesOf(p.records, p.capacity); p.records <= p.capacity {
		c.Why = "reads the input several times, so that it takes less memory, which may be slow to touch"
		c.chunks = passesInMemory
		touch = w.touchCost() / passesInMemory
	}
	if p.wanted > 0 {
		c.chunks = min(c.chunks, passesOf(p.wanted, p.capacity))
		w = w.atMost(p.wanted)
	}
	first := 1 / float64(max(c.chunks, 1))
	sorting := max(w.sortCost(r)-w.readCost(r), 0) // the trial that it is known from reads, too
	look := p.work.bytes()/p.again + p.work.records*p.work.selectSeconds/w.workers
	part := int64(first * w.bytes())
	c.stages = []Stage{
		p.stage(stageRead, look+touch+first*sorting/2+r.startSeconds),
		{Name: stageWrite, Bytes: part, Seconds: first * (sorting/2 + w.writeCost(r))},
	}
	if c.chunks > 1 {
		if !p.apart {
			c.possible, c.Why = false, "would still read the input when a stream has some of the output, and may end in it"
		}
		c.stages = append(c.stages, Stage{
			Name: stagePasses, Bytes: int64(w.bytes()) - part,
			Seconds: float64(c.chunks-1)*look + (1-first)*(sorting+w.writeCost(r)) + p.waitCost(w, 0),
		})
	}
	return c.sum()
}

const rereadNeeds = "needs records of up to 16 bytes in a few chunks or bare keys of 3 to 8, not too often the same, in files that the page cache holds"

// spreadBytes is the least input that several devices share although one could hold it: every further H200 takes 0.1 s
// to start, in which one loads this much.
const spreadBytes = 4 << 30

func (p *planner) spread() Candidate {
	w, r := p.work, p.rates
	c := Candidate{Strategy: Spread, chunks: p.sharing, levels: 1}
	c.possible = p.sharing > 0 && p.gpus && !p.ordered && (w.bytes() >= spreadBytes || p.records > p.capacity)
	switch {
	case p.sharing == 0:
		c.Why = "needs several devices whose memories hold all of the data"
	case !c.possible:
		c.Why = "the devices are not GPUs, or there is too little data, or it is in order"
	default:
		c.Why = "each device sorts a share, and the shares are merged on their way out"
	}
	c.stages = []Stage{
		p.stage(stageRead, w.readCost(r)+w.sortCost(r)/2+r.startSeconds),
		p.stage(stageWrite, w.sortCost(r)/2+w.mergeCost(r, p.sharing)+w.writeCost(r)+p.waitCost(w, 0)),
	}
	return c.sum()
}

func (p *planner) merge() Candidate {
	w, r := p.work, p.rates
	c := Candidate{Strategy: MergeRuns, chunks: p.cut.runs, possible: true, Why: "one pass to sort runs, one to merge them"}
	if p.records < 0 {
		c.Why, c.temp = "works without knowing the size of the input", -1
		c.stages = []Stage{p.stage(stageRuns, 0), p.stage(stageMerge, 0)}
		c.levels = 1
		return c
	}
	merged, kept := w, w
	kept.records = float64(min(p.cut.stays, p.records))
	if p.limit > 0 {
		merged.records = min(w.records, float64(p.limit)*float64(c.chunks))
		kept = kept.atMost(p.limit)
	}
	spilled := merged
	spilled.records -= kept.records
	c.levels = levelsOf(c.chunks, p.fanIn)
	p.disk.planSpill(&c, int64(spilled.bytes())*int64(c.levels), p.block)
	c.kept = int64(kept.bytes())
	merging := merged.mergeCost(r, min(c.chunks, p.fanIn))
	if c.kept > 0 {
		c.Why = "one pass to sort runs, one to merge them; the last stays in memory"
	}
	if p.ordered || p.reversed {
		merging, c.Why = 0, "the sample is in order, or in reverse: runs that do not overlap are only joined"
	}
	if !p.merges {
		c.possible, c.Why = false, "memory is too little for the blocks of runs of such records"
	}
	merging += spilled.blockCost(p.block, min(c.chunks, p.fanIn))
	spilling, stored := p.spillCost(&c, spilled)
	again := rewritten(c.chunks, p.fanIn)
	c.stages = []Stage{
		p.stage(stageRuns, w.readCost(r)+w.chunkCost(r)+spilling+r.startSeconds),
		p.stage(stageMerge, again*(2*spilling+merging)+spilling+merging+w.writeCost(r)+p.waitCost(w, (1+again)*stored)),
	}
	return c.sum()
}

func (p *planner) partition() Candidate {
	w, r := p.work, p.rates
	passes := max(levelsOf(p.parts(), p.fanOut), 1)
	c := Candidate{Strategy: Partition, chunks: p.parts(), temp: int64(passes) * int64(w.bytes()), possible: true,
		Why: "one pass to partition, one to sort the parts"}
	if passes > 1 {
		c.Why = fmt.Sprintf("%d passes to partition, since memory has room for %d parts at a time, and one to sort them", passes, p.fanOut)
	}
	switch {
	case p.records < 0:
		c.possible, c.Why, c.temp = false, "needs a sample of all of the input", -1
	case p.limit > 0 && p.limit < p.records:
		c.possible, c.Why = false, "would spill everything for a few records"
	case p.ordered:
		c.possible, c.Why = false, "the sample is in order: joining sorted runs is cheaper"
	case !p.merges:
		c.possible, c.Why = false, "memory is too little to merge a part that turns out too large"
	}
	c.room = roomFor(max(c.temp, 0), p.partBlock)
	blocks := w.blockCost(p.partBlock, 0)
	c.stages = []Stage{
		p.stage(stagePartition, w.readCost(r)+w.scatterCost(r)+w.spillCost(r)+r.startSeconds),
		p.stage(stageParts, float64(passes-1)*(w.scatterCost(r)+2*w.spillCost(r)+blocks)+w.spillCost(r)+blocks+
			float64(p.parts())*partSeconds+w.partCost(r)+w.writeCost(r)+p.waitCost(w, float64(c.temp))),
	}
	return c.sum()
}

// partFill is how full a part's chunk is meant to be, so that the sample's error rarely makes one too large.
const partFill = 0.85

// partsOfStream is the number of parts when the size of the input is not known.
const partsOfStream = 64

// parts is the number of parts of a partition.
func (p *planner) parts() int {
	if p.records < 0 {
		return partsOfStream
	}
	return int(max(1, math.Ceil(float64(max(p.records, 0))/(partFill*float64(p.capacity)))))
}

// levelsOf is the number of merges that a record goes through, or of passes that send it to its part.
func levelsOf(runs, fanIn int) int {
	levels := 0
	fanIn = max(fanIn, 2)
	for runs > 1 {
		runs, levels = (runs+fanIn-1)/fanIn, levels+1
	}
	return levels
}

// rewritten is how many times a record of one of so many runs, all of the same size, is merged into another run before the
// last merge, on average. It is less than the number of levels: merge.Reduce merges just as many runs as it must.
func rewritten(runs, fanIn int) float64 {
	fanIn = max(fanIn, 2)
	sizes := slices.Repeat([]int{1}, runs) // the least first: what was merged is never less than what will be
	moved := 0
	for len(sizes) > fanIn {
		group := plan.MergeGroup(len(sizes), fanIn)
		merged := 0
		for _, size := range sizes[:group] {
			merged += size
		}
		sizes = append(sizes[group:], merged)
		moved += merged
	}
	return float64(moved) / float64(max(runs, 1))
}
