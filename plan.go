package extsort

import (
	"context"
	"fmt"
	"slices"
)

// SortPlan is what a sort would do and what that is expected to cost.
type SortPlan struct {
	Records      int64    `json:"records"`     // -1: not known before the end of the input
	RecordSize   int      `json:"record_size"` // bytes
	KeySize      int      `json:"key_size"`    // bytes of normalized key
	Layout       string   `json:"layout"`
	MemoryLimit  int64    `json:"memory_limit"` // bytes
	Device       string   `json:"device"`
	Algorithm    string   `json:"algorithm"`
	Workers      int      `json:"workers"`
	Strategy     Strategy `json:"strategy"`
	ChunkRecords int64    `json:"chunk_records"` // records that fit one chunk
	Chunks       int      `json:"chunks"`        // chunks or parts expected; 0: not known
	FanIn        int      `json:"fan_in"`        // most runs that one merge can take
	MergeLevels  int      `json:"merge_levels"`  // 0: no merge
	BlockBytes   int      `json:"block_bytes"`   // size of the blocks that are spilled and written
	DigitBits    int      `json:"digit_bits"`    // radix digit that moves the fewest bytes within a bucket
	TempBytes    int64    `json:"temp_bytes"`    // spill expected; -1: not known
	StoredBytes  int64    `json:"stored_bytes"`  // of spill, where it is less because it is packed
	KeptBytes    int64    `json:"kept_bytes"`    // of the last chunk, which is merged from memory
	TempDirs     []string `json:"temp_dirs"`
	Seconds      float64  `json:"seconds"` // predicted, all stages; 0: not known

	Rates      Rates       `json:"rates"` // of this machine
	Stages     []Stage     `json:"stages"`
	Considered []Candidate `json:"considered"` // the strategies that were weighed, the chosen one first
}

// Stage is one stage of the plan with its predicted cost.
type Stage struct {
	Name    string  `json:"name"` // as the Phase that measures it
	Bytes   int64   `json:"bytes"`
	Seconds float64 `json:"seconds"`
}

// Candidate is a strategy that the planner weighed.
type Candidate struct {
	Strategy Strategy `json:"strategy"`
	Seconds  float64  `json:"seconds"` // predicted
	Why      string   `json:"why"`     // for instance: "does not fit one chunk"

	possible bool
	chunks   int
	levels   int
	temp     int64 // bytes of records that are spilled
	stored   int64 // bytes that they take, packed; 0: as many
	room     int64 // bytes of the file system that they take at most
	packAll  bool  // there is room for no more
	kept     int64
	stages   []Stage
}

// The stages of a sort, which are also the phases of its report.
const (
	stageStart     = "start"       // open the inputs and the devices, plan, reserve the output
	stageRead      = "read"        // in core: read, and partition into buckets
	stageWrite     = "sort, write" // in core: sort the buckets and write them
	stagePasses    = "more passes" // reread: read again, sort and write, after the first pass
	stageRuns      = "sort runs"   // merge: read, sort and spill each chunk
	stageMerge     = "merge"
	stagePartition = "partition"  // partition: spill each record to its part
	stageParts     = "sort parts" // partition: read back, sort and write each part
	stageFinish    = "finish"     // fsync and rename
	stageVerify    = "verify"
	stageCheck     = "check"
	stageCopy      = "copy" // of an input that is in order
)

// Plan tells what Sort would do with these options. It reads a sample of the input but no standard input, and
// writes nothing.
func Plan(ctx context.Context, opt Options) (*SortPlan, error) {
	j, err := newJob(ctx, opt)
	if err != nil {
		return nil, err
	}
	return j.plan, j.close()
}

// sampleSize is enough for parts within a few percent of their share, and takes milliseconds.
const sampleSize = 1 << 14

// newPlan weighs the strategies and fills in what the chosen one needs.
func (j *job) newPlan() *SortPlan {
	p := &SortPlan{
		Records: j.data.Records(), RecordSize: j.size, KeySize: j.keyer.KeySize(), Layout: j.keyer.Layout().String(),
		MemoryLimit: j.opt.MemoryBytes, Device: j.deviceNames(), Algorithm: j.opt.Algorithm, Workers: j.opt.Workers,
		ChunkRecords: j.capacity, FanIn: j.fanIn(), BlockBytes: j.blockBytes, TempDirs: j.opt.TempDirs,
		Rates:     j.rates.shown(),
		DigitBits: digitBits(j.keyer.PrefixBits(), 1<<15, 8),
	}
	p.Considered = j.planner().weigh(j.opt.Strategy)
	p.choose(p.Considered[0])
	return p
}

// without is the plan when a strategy has turned out not to be possible: the next of those considered.
func (p *SortPlan) without(s Strategy) *SortPlan {
	if p.Strategy == s {
		p.Considered = slices.DeleteFunc(p.Considered, func(c Candidate) bool { return c.Strategy == s || c.Strategy == Copy })
		slices.SortStableFunc(p.Considered, byCost)
		p.choose(p.Considered[0])
	}
	return p
}

// choose fills in what depends on the strategy.
func (p *SortPlan) choose(c Candidate) {
	p.Strategy, p.Chunks, p.MergeLevels = c.Strategy, c.chunks, c.levels
	p.TempBytes, p.StoredBytes, p.KeptBytes, p.Stages, p.Seconds = c.temp, c.stored, c.kept, c.stages, c.Seconds
}

// String shows the plan in a line.
func (p *SortPlan) String() string {
	return fmt.Sprintf("%s on %s, %d chunks of up to %d records (%s), %s of memory",
		p.Strategy, p.Device, p.Chunks, p.ChunkRecords, p.Layout, humanBytes(p.MemoryLimit))
}
