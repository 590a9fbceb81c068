package plan

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/extsort/extsort/internal/filename"
	"github.com/extsort/extsort/internal/human"
)

const (
	// memoryStep is the ratio between the memory of a plan and that of the next plan to try.
	memoryStep = 4

	// worthLessMemory is the ratio of predicted times below which a plan with less memory replaces
	// the best one so far.
	worthLessMemory = 0.85

	// indexRounds limits how often a plan is repeated with a larger index. A larger index leaves
	// less memory for chunks. This makes a few more parts, which again need a larger index.
	indexRounds = 4
)

// Choose returns the plan with the shortest predicted time. It does not change the facts, and the
// same facts always give the same plan. Unless a strategy is requested, it also tries plans that
// use less memory than the limit, because touching memory for the first time may take longer than
// it saves.
func Choose(f *Facts, profile *Profile) (*Plan, error) {
	d := newDecision(f, profile)
	best, err := d.plan(0)
	if errors.Is(err, errTooLittle) {
		return nil, NewMemoryError(f)
	}
	if err != nil || !f.onHost() || f.Request.Strategy.isListed() {
		return best, err
	}
	for used := f.Request.MemoryBytes / memoryStep; used >= limitedBytes; used /= memoryStep {
		p, err := d.plan(f.Request.MemoryBytes - used)
		if err == nil && p.Seconds < worthLessMemory*best.Seconds {
			best = p
		}
	}
	return best, nil
}

// errTooLittle means that a memory limit is too small. Choose replaces it with the error of
// NewMemoryError. That function is slower than planning a small input, because it searches for the
// smallest limit that is enough. So Choose does not call it for plans with less memory than the
// limit.
var errTooLittle = errors.New("too little memory")

// A decision holds the arguments of one call of Choose, and the data that all compared plans share.
type decision struct {
	f       *Facts
	profile *Profile
	sorted  func() []uint64 // the sorted sample; sorting it takes about a millisecond
}

func newDecision(f *Facts, profile *Profile) *decision {
	return &decision{f, profile, sync.OnceValue(f.Sample.Sorted)}
}

// plan returns the best plan that leaves the given amount of memory unused. The index of temporary
// data gets as much memory as the blocks of the chosen strategy need, up to a limit. Beyond the
// limit the index is in a file.
func (d *decision) plan(unused int64) (*Plan, error) {
	best, err := d.planWith(reserved{unused: unused})
	for range indexRounds {
		if err != nil || d.f.Records < 0 || best.Considered[0].indexBytes <= best.Sizes.IndexBytes {
			return best, err
		}
		index := best.Considered[0].indexBytes
		again, err := d.planWith(reserved{unused: unused, index: index})
		if err != nil || again.Strategy != best.Strategy || again.Sizes.IndexBytes < index {
			return best, nil
		}
		best = again
	}
	return best, nil
}

// planWith returns the best plan with the given amounts of memory.
func (d *decision) planWith(r reserved) (*Plan, error) {
	c := d.chooser(r)
	if refuse := d.f.Request.Strategy.Properties().refuse; refuse != nil {
		if err := refuse(c); err != nil {
			return nil, err
		}
	}
	if c.capacity < 1 {
		return nil, errTooLittle
	}
	all := c.weigh()
	if err := canRun(c, &all[0]); err != nil {
		return nil, err
	}
	addTransitions(c, all)
	return planOf(c, all), nil
}

// canRun returns an error if even the best candidate cannot run.
func canRun(c *chooser, first *Candidate) error {
	if !first.Possible && c.leastRoom > 0 {
		return noRoom(c)
	}
	needsMerge := first.Strategy.Properties().Spills && c.f.Records > c.capacity
	if !first.Possible || needsMerge && !c.sizes.Merges(c.f) {
		return errTooLittle
	}
	return nil
}

// noRoom returns the error if all strategies need more room for temporary data than there is.
func noRoom(c *chooser) error {
	spill := &c.f.Spill
	output := int64(0)
	if spill.Output > 0 { // spill.Output may be less than the output needs
		output = c.f.ReservedBytes()
	}
	return NewRoomError(spill.Dirs, c.leastRoom, spill.Free+spill.Output, output, c.f.Checkpoint != nil)
}

// planOf returns the plan with these candidates. A run starts with the first one.
func planOf(c *chooser, all []Candidate) *Plan {
	first := &all[0]
	p := planned(c.f, c.sizes)
	p.Device = deviceNames(c.f)
	p.Unified = c.f.unified()
	p.Algorithm = c.f.Request.Algorithm
	p.DigitBits = c.f.Request.DigitBits
	p.Strategy = first.Strategy
	p.ChunkRecords = first.ChunkRecords
	p.Chunks = first.Chunks
	p.MergeLevels = first.Levels
	p.TempBytes = first.TempBytes
	p.StoredBytes = first.StoredBytes
	p.KeptBytes = first.KeptBytes
	p.Checkpoint = c.f.Checkpoint
	p.Seconds = first.Seconds
	p.Stages = first.Stages
	p.Considered = all
	p.Sizes.Queue = c.sizes.Queue.of(first.Strategy, c.profile.isCold(c.f))
	p.Rates = c.profile.Rates()
	p.Rates.DiskBytes = 1 / c.prices[waits]
	return p
}

// planned returns a plan with everything that does not depend on the strategy.
func planned(f *Facts, sizes Sizes) *Plan {
	return &Plan{
		Records:      f.Records,
		RecordSize:   f.recordSize(),
		KeySize:      f.Keyer.KeySize(),
		Layout:       f.Keyer.Layout().String(),
		MemoryLimit:  f.Request.MemoryBytes,
		UnusedMemory: sizes.UnusedBytes,
		Workers:      sizes.Workers,
		FanIn:        sizes.FanIn,
		BlockBytes:   sizes.BlockBytes,
		OutputBytes:  f.outputBytes(),
		TempDirs:     f.Spill.Dirs,
		RawTempDirs:  filename.RawAll(f.Spill.Dirs),
		Budget:       sizes.Budget,
		Sizes:        sizes,
	}
}

func deviceNames(f *Facts) string {
	var names []string
	for _, d := range f.Devices {
		names = append(names, d.Name)
	}
	return strings.Join(names, ", ")
}

// A chooser weighs the strategies for one division of the memory.
type chooser struct {
	f          *Facts
	profile    *Profile
	sorted     func() []uint64 // the sorted sample
	sizes      Sizes
	capacity   int64 // maximum number of records in a chunk on any device
	prices     work
	eq         equivalents
	outOfOrder float64 // expected number of records that are out of order, see Facts.outOfOrder
	directIO   bool    // the candidate writes its output by direct I/O
	leastRoom  int64   // least room needed by a candidate ruled out for lack of room; 0: none
}

func (d *decision) chooser(r reserved) *chooser {
	c := &chooser{
		f:          d.f,
		profile:    d.profile,
		sorted:     d.sorted,
		sizes:      divide(d.f, r),
		outOfOrder: d.f.outOfOrder(),
	}
	c.shareMemory(1)
	if d.f.Records < 0 || d.f.Records > c.capacity || len(d.f.Devices) > 1 {
		c.shareMemory(slotsOnGPU)
	}
	c.prices, c.eq = d.profile.price(d.f, c.sizes.Workers)
	return c
}

// weigh returns the candidates of all strategies in the order in which they are tried: the
// requested one, then the possible ones from cheapest to most expensive, then the others. If all
// records fit in one chunk, a request to merge is ignored. Candidates that can use direct I/O are
// weighed last, with the price of direct I/O writes.
func (c *chooser) weigh() []Candidate {
	all := candidates(c, false)
	c.directIO = c.sizes.Queue.Output
	if c.directIO {
		c.prices[writes] = c.profile.copies(c.f, c.sizes.Workers)
	}
	all = append(all, candidates(c, true)...)
	if c.f.InPlace {
		ruleOutInPlace(all)
	}
	c.ruleOutByCheckpoint(all)
	c.ruleOutByRoom(all)
	forced := slices.IndexFunc(all, func(a Candidate) bool { return a.Strategy == c.f.Request.Strategy })
	if forced >= 0 && c.canForce(&all[forced]) {
		all[forced].Why = requested
		all[forced].Possible = true
	} else {
		preferInCore(all)
	}
	slices.SortStableFunc(all, func(a, b Candidate) int {
		return cmp.Or(cmp.Compare(a.rank(), b.rank()), cmp.Compare(a.Seconds, b.Seconds))
	})
	return all
}

// candidates returns the candidates of all strategies whose DirectIO property equals directIO.
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

// requested is the reason given for a candidate that the user requested.
const requested = "requested"

// rank orders candidates: the requested one, the possible ones, the others.
func (a *Candidate) rank() int {
	switch {
	case a.Why == requested:
		return 0
	case a.Possible:
		return 1
	}
	return 2
}

// canForce reports whether the candidate of the requested strategy can run.
func (c *chooser) canForce(a *Candidate) bool {
	p := a.Strategy.Properties()
	switch {
	case c.f.Spill.lacks(a.RoomBytes), c.f.InPlace && !p.ReadsAllFirst:
		return false
	case p.canForce != nil:
		return p.canForce(c, a)
	}
	return a.Possible
}

// preferInCore rules out the strategies that spill if one chunk holds everything.
func preferInCore(all []Candidate) {
	fits := func(a Candidate) bool { return a.Possible && a.Strategy.Properties().HoldsAll }
	if !slices.ContainsFunc(all, fits) {
		return
	}
	for i := range all {
		if a := &all[i]; a.Possible && !a.Strategy.Properties().InMemory {
			a.ruleOut("everything fits in one chunk")
		}
	}
}

// ruleOut makes a candidate impossible.
func (a *Candidate) ruleOut(why string) {
	a.Possible = false
	a.Why = why
}

// ruleOutByRoom rules out the candidates whose temporary data needs more room than there is.
func (c *chooser) ruleOutByRoom(all []Candidate) {
	for i := range all {
		if a := &all[i]; a.Possible && c.f.Spill.lacks(a.RoomBytes) {
			a.ruleOut(fmt.Sprintf("needs %s of temporary data, but only %s is free",
				human.Bytes(a.RoomBytes), human.Bytes(c.f.Spill.Free)))
			c.leastRoom = min(cmp.Or(c.leastRoom, a.RoomBytes), a.RoomBytes)
		}
	}
}

// ruleOutInPlace rules out the strategies that would overwrite an input before they have read all
// of it.
func ruleOutInPlace(all []Candidate) {
	for i := range all {
		if a := &all[i]; !a.Strategy.Properties().ReadsAllFirst {
			a.ruleOut("would overwrite the input before all of it is read")
		}
	}
}

// ruleOutByCheckpoint rules out the strategies whose work a checkpoint cannot keep. If the
// checkpoint already has runs, only the strategy that continues with them is left.
func (c *chooser) ruleOutByCheckpoint(all []Candidate) {
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
			a.ruleOut("the checkpoint already has runs to merge")
		case p.losesWork != nil && p.losesWork(a):
			a.ruleOut("a checkpoint can keep only runs")
		}
	}
}
