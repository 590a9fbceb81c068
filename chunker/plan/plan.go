// Package plan decides how a sort is done: facts and a profile of the machine in, a plan out. It is pure: it opens
// nothing, measures nothing and asks nobody, so that every decision can be had again from its facts.
//
// Only the root package of this module is stable: this package may change in any version.
//
//	Facts ─┬─▶ Divide ──▶ Sizes (Budget, blocks, workers) ─┐
//	       └─▶ candidates: amounts of work ◀───────────────┘
//	Profile ─▶ prices ─▶ cost of each candidate ─▶ Plan: the candidates in the order in which to try them
package plan

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/extsort/extsort/internal/filename"
	"github.com/extsort/extsort/internal/human"
)

// Plan is what a sort would do and what that is expected to cost.
type Plan struct {
	Records      int64    `json:"records"`     // -1: not known before the end of the input
	RecordSize   int      `json:"record_size"` // bytes
	KeySize      int      `json:"key_size"`    // bytes of normalized key
	Layout       string   `json:"layout"`
	MemoryLimit  int64    `json:"memory_limit"`            // bytes
	UnusedMemory int64    `json:"unused_memory,omitempty"` // bytes of it that stay untouched: it is faster
	Device       string   `json:"device"`
	Unified      bool     `json:"unified_memory,omitempty"` // a device's memory is the host's: the limit includes it
	Algorithm    string   `json:"algorithm"`
	Workers      int      `json:"workers"`
	Strategy     Strategy `json:"strategy"`
	ChunkRecords int64    `json:"chunk_records"`        // records that fit one chunk
	Chunks       int      `json:"chunks"`               // chunks or parts expected; 0: not known
	FanIn        int      `json:"fan_in"`               // most runs that one merge can take
	MergeLevels  int      `json:"merge_levels"`         // 0: no merge
	BlockBytes   int      `json:"block_bytes"`          // size of the blocks that are spilled and written
	DigitBits    int      `json:"digit_bits,omitempty"` // of a pass, where they were asked for; 0: the device's choice
	TempBytes    int64    `json:"temp_bytes"`           // spill expected; -1: not known
	StoredBytes  int64    `json:"stored_bytes"`         // of spill, where it is less because it is packed
	KeptBytes    int64    `json:"kept_bytes"`           // of the last chunk, which is merged from memory
	OutputBytes  int64    `json:"output_bytes"`         // of records, not compressed, at most; -1: not known
	TempDirs     []string `json:"temp_dirs"`
	RawTempDirs  [][]byte `json:"temp_dirs_base64,omitempty"` // the same, where one is not UTF-8

	Checkpoint *Checkpoint `json:"checkpoint,omitempty"` // what is finished already; nil: none was asked for

	Seconds float64 `json:"seconds"` // predicted, all stages; 0: not known

	Rates      Rates       `json:"rates"` // of this machine
	Stages     []Stage     `json:"stages"`
	Budget     Budget      `json:"budget"`
	Considered []Candidate `json:"considered"` // the strategies that were weighed, in the order in which they are tried

	Sizes Sizes `json:"-"`
}

// Stage is one stage of a run. In a plan Seconds is what is predicted; in a report it is what was measured, and
// Predicted stands beside it, and Corrected: that times what the stages before took of what was predicted for them.
type Stage struct {
	Name      string  `json:"name"`
	Bytes     int64   `json:"bytes"` // record bytes that go through
	Seconds   float64 `json:"seconds"`
	Predicted float64 `json:"predicted,omitempty"`
	Corrected float64 `json:"corrected,omitempty"`
}

// Candidate is a strategy that was weighed, with everything that the engine needs to follow it.
type Candidate struct {
	Strategy Strategy `json:"strategy"`
	Possible bool     `json:"possible"`
	Seconds  float64  `json:"seconds"` // predicted
	Why      string   `json:"why"`     // for instance: "does not fit one chunk"

	ChunkRecords int64   `json:"-"` // most records of a chunk
	InFlight     int     `json:"-"` // chunks that share the memory of one of the host's processors; 0: one has it
	Chunks       int     `json:"-"` // chunks, parts or passes
	Levels       int     `json:"-"` // of merging
	TempBytes    int64   `json:"-"` // bytes of records that are spilled; -1: not known
	RoomBytes    int64   `json:"-"` // bytes of the file system that they take at most, in whole pages; -1: not known
	StoredBytes  int64   `json:"-"` // bytes that they take, packed; 0: as many
	KeptBytes    int64   `json:"-"` // bytes of the last chunk, which stays in memory
	KeptRecords  int64   `json:"-"` // records of a chunk of a merge whose last one stays in memory; 0: none does
	Stages       []Stage `json:"-"`
	Shares       []Share `json:"-"` // of a spread
	BlockRecords int     `json:"-"` // records that are sifted together

	fetched float64 // records that are read back from spill, as stored
	index   int64   // bytes of the index of all blocks that it spills; 0: no more than the budget has
}

// Impossible is the error of a strategy that turns out not to be possible, with nothing lost: the next candidate is
// tried.
type Impossible struct{ Why string }

func (i *Impossible) Error() string { return i.Why }

const (
	frugality = 4    // how many times less of the memory is tried, again and again
	worthLess = 0.85 // the part of the seconds that less has to come down to
)

// Choose weighs the strategies with all of the memory and, unless one is asked for, with less: memory that nobody has
// touched may take longer than it saves.
func Choose(f *Facts, profile *Profile) (*Plan, error) {
	best, err := newPlan(f, profile)
	if err != nil || !f.onHost() || f.Request.Strategy.isListed() {
		return best, err
	}
	less := *f
	for used := f.Request.MemoryBytes / frugality; used >= limitedBytes; used /= frugality {
		less.unused = f.Request.MemoryBytes - used
		if p, err := newPlan(&less, profile); err == nil && p.Seconds < worthLess*best.Seconds {
			best = p
		}
	}
	return best, nil
}

// indexRounds bounds how often a plan is made with a larger index: it leaves less memory for chunks, so that the parts
// are a few more.
const indexRounds = 4

// newPlan weighs the strategies with the memory that is not left alone. It gives the index of temporary data the memory
// that the chosen strategy's blocks need, unless that is more than an index may take: then it is in a file.
func newPlan(f *Facts, profile *Profile) (*Plan, error) {
	best, err := planWith(f, profile)
	sized := *f
	for range indexRounds {
		if err != nil || f.Records < 0 || best.Considered[0].index <= best.Sizes.IndexBytes {
			return best, err
		}
		sized.spillIndex = best.Considered[0].index
		again, err := planWith(&sized, profile)
		if err != nil || again.Strategy != best.Strategy || again.Sizes.IndexBytes < sized.spillIndex {
			return best, nil
		}
		best = again
	}
	return best, nil
}

// planWith weighs the strategies with the memory that the facts give to the index.
func planWith(f *Facts, profile *Profile) (*Plan, error) {
	c := newChooser(f, profile)
	if refuse := f.Request.Strategy.Properties().refuse; refuse != nil {
		if err := refuse(c); err != nil {
			return nil, err
		}
	}
	if c.capacity < 1 {
		return nil, TooLittle(f)
	}
	all := c.weigh()
	first := &all[0]
	spills := first.Strategy.Properties().Spills
	switch {
	case !first.Possible && c.leastRoom > 0:
		output := int64(0)
		if f.Spill.Output > 0 { // which may be less than it takes
			output = f.ReservedBytes()
		}
		free := f.Spill.Free + f.Spill.Output
		return nil, NoRoom(f.Spill.Dirs, c.leastRoom, free, output, f.Checkpoint != nil)
	case !first.Possible, spills && f.Records > c.capacity && !c.sizes.Merges(f):
		return nil, TooLittle(f)
	}
	p := planned(f, c.sizes)
	p.Device, p.Unified, p.Algorithm, p.DigitBits = deviceNames(f), f.unified(), f.Request.Algorithm, f.Request.DigitBits
	p.Strategy, p.ChunkRecords, p.Chunks, p.MergeLevels = first.Strategy, first.ChunkRecords, first.Chunks, first.Levels
	p.TempBytes, p.StoredBytes, p.KeptBytes = first.TempBytes, first.StoredBytes, first.KeptBytes
	p.Checkpoint, p.Seconds, p.Stages, p.Considered = f.Checkpoint, first.Seconds, first.Stages, all
	p.Sizes.Queue = c.sizes.Queue.of(first.Strategy, profile.isCold(f))
	p.Rates, p.Budget = profile.Rates(), c.sizes.Budget
	p.Rates.DiskBytes = 1 / c.prices[waits]
	return p, nil
}

// planned is what the facts and sizes say of any plan.
func planned(f *Facts, sizes Sizes) *Plan {
	return &Plan{
		Records: f.Records, RecordSize: f.recordSize(), KeySize: f.Keyer.KeySize(), Layout: f.Keyer.Layout().String(),
		OutputBytes: f.OutputBytes(), MemoryLimit: f.Request.MemoryBytes, UnusedMemory: f.unused, Workers: sizes.Workers,
		FanIn: sizes.FanIn, BlockBytes: sizes.BlockBytes, TempDirs: f.Spill.Dirs,
		RawTempDirs: filename.RawAll(f.Spill.Dirs), Sizes: sizes,
	}
}

func deviceNames(f *Facts) string {
	var names []string
	for _, d := range f.Devices {
		names = append(names, d.Name)
	}
	return strings.Join(names, ", ")
}

// chooser weighs the strategies for one set of facts.
type chooser struct {
	f         *Facts
	profile   *Profile
	sizes     Sizes
	capacity  int64 // records that fit a chunk on every device
	prices    work
	strays    float64 // records that are out of order, see Facts.strays
	past      bool    // what is weighed writes the output past the page cache
	leastRoom int64   // of what the strategies need that are left out for lack of room; 0: none is
}

func newChooser(f *Facts, profile *Profile) *chooser {
	c := &chooser{f: f, profile: profile, sizes: Divide(f), strays: f.strays()}
	c.divide(1)
	if f.Records < 0 || f.Records > c.capacity || len(f.Devices) > 1 {
		c.divide(slotsOnGPU)
	}
	c.prices = profile.price(f, c.sizes.Workers)
	return c
}

// weigh returns the strategies in the order in which they are to be tried: the possible ones first, then the cheapest.
// One that is asked for is the first, unless all records fit a chunk, where there is nothing to merge. Those that
// may write past the page cache come last, where that is what a write costs.
func (c *chooser) weigh() []Candidate {
	all := candidates(c, false)
	if c.past = c.sizes.Queue.Output; c.past {
		c.prices[writes] = c.profile.copies(c.f, c.sizes.Workers)
	}
	all = append(all, candidates(c, true)...)
	if c.f.InPlace {
		leaveOutInPlace(all)
	}
	c.leaveOutUnkept(all)
	c.leaveOutOfRoom(all)
	forced := slices.IndexFunc(all, func(a Candidate) bool { return a.Strategy == c.f.Request.Strategy })
	if forced >= 0 && c.obeys(&all[forced]) {
		all[forced].Why, all[forced].Possible = askedFor, true
	} else {
		preferInCore(all)
	}
	slices.SortStableFunc(all, func(a, b Candidate) int {
		return cmp.Or(cmp.Compare(a.rank(), b.rank()), cmp.Compare(a.Seconds, b.Seconds))
	})
	return all
}

// candidates returns the candidates of the strategies that may bypass the page cache, or of those that may not.
func candidates(c *chooser, directIO bool) (all []Candidate) {
	for _, p := range Strategies {
		if p.DirectIO == directIO {
			a := p.weigh(c)
			a.Strategy = p.Name
			all = append(all, a)
		}
	}
	return all
}

const askedFor = "requested"

// rank orders what is asked for before what is possible, and that before the rest.
func (a *Candidate) rank() int {
	switch {
	case a.Why == askedFor:
		return 0
	case a.Possible:
		return 1
	}
	return 2
}

// obeys reports whether the strategy that was asked for can be taken.
func (c *chooser) obeys(asked *Candidate) bool {
	p := asked.Strategy.Properties()
	switch {
	case c.f.Spill.lacks(asked.RoomBytes), c.f.InPlace && !p.ReadsAllFirst:
		return false
	case p.canForce != nil:
		return p.canForce(c, asked)
	}
	return asked.Possible
}

// preferInCore leaves out what spills where one chunk holds everything.
func preferInCore(all []Candidate) {
	if !slices.ContainsFunc(all, func(a Candidate) bool { return a.Possible && a.Strategy.Properties().HoldsAll }) {
		return
	}
	for i := range all {
		if all[i].Possible && !all[i].Strategy.Properties().InMemory {
			all[i].Possible, all[i].Why = false, "everything fits in one chunk"
		}
	}
}

// leaveOutOfRoom leaves out the strategies for whose spill there is too little room.
func (c *chooser) leaveOutOfRoom(all []Candidate) {
	for i := range all {
		if a := &all[i]; a.Possible && c.f.Spill.lacks(a.RoomBytes) {
			a.Possible, a.Why = false, fmt.Sprintf("needs %s of temporary data, but only %s is free",
				human.Bytes(a.RoomBytes), human.Bytes(c.f.Spill.Free))
			c.leastRoom = min(cmp.Or(c.leastRoom, a.RoomBytes), a.RoomBytes)
		}
	}
}

// leaveOutInPlace leaves out the strategies that would write over an input before they have read it.
func leaveOutInPlace(all []Candidate) {
	for i := range all {
		if a := &all[i]; !a.Strategy.Properties().ReadsAllFirst {
			a.Possible, a.Why = false, "would overwrite the input before all of it is read"
		}
	}
}

// leaveOutUnkept leaves out the strategies that spill or write what a checkpoint does not keep, and all but merge where
// it has runs.
func (c *chooser) leaveOutUnkept(all []Candidate) {
	if c.f.Checkpoint == nil {
		return
	}
	for i := range all {
		a := &all[i]
		p := a.Strategy.Properties()
		switch {
		case p.Resumable && c.f.Checkpoint.begun():
			a.Why = "continues with the runs of the checkpoint"
		case c.f.Checkpoint.begun():
			a.Possible, a.Why = false, "the checkpoint already has runs to merge"
		case p.losesWork != nil && p.losesWork(a):
			a.Possible, a.Why = false, "a checkpoint can keep only runs"
		}
	}
}
