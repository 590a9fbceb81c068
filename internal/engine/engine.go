// Package engine runs a plan. Each strategy is a function in a file of its own. All have the same
// signature: they receive a Run and the plan's candidate for the strategy. If a strategy turns
// out to be impossible, it returns plan.Impossible and nothing is lost. The engine then warns the
// user and tries the next candidate.
//
// Only the root package of this module is stable: this package may change in any version.
//
//	Run{Plan, Input, Output, Devices, Meter} ─▶ one of eight strategies, such as in-core or merge ─▶ Result
package engine

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/dustin/go-humanize/english"

	"github.com/extsort/extsort/chunker/input"
	"github.com/extsort/extsort/chunker/plan"
	"github.com/extsort/extsort/chunker/spill"
	"github.com/extsort/extsort/device"
	"github.com/extsort/extsort/format"
	"github.com/extsort/extsort/internal/blockio"
	"github.com/extsort/extsort/internal/safely"
	"github.com/extsort/extsort/merge"
)

// A Run is one sort, from its plan to its last record.
type Run struct {
	Plan       *plan.Plan
	Facts      *plan.Facts
	Input      *Input
	Output     *Output
	Devices    []device.Device // in the order of Facts.Devices
	Meter      *Meter
	Store      spill.Store       // storage of spill files; nil for the disk
	Checkpoint *spill.Checkpoint // nil without --checkpoint
	Warn       func(message string)
	Interrupt  func(cause error) // ends the reads of all inputs that block; may be nil

	Result Result

	pool   *pool         // chunks of the current candidate
	direct *blockio.Pool // requests of direct I/O; nil if none exist
	spill  *spill.Spill  // nil until something is spilled
	mu     sync.Mutex    // protects Result while chunks are sorted

	// waiting holds records of the output until the header with their number can be written; nil
	// if none wait.
	waiting *spill.Spill
}

// Result describes what happened in a run.
type Result struct {
	Strategy     plan.Strategy
	Stages       []plan.Stage // as predicted for the strategy
	Chunks       int          // number of chunks or parts that were sorted
	FanIn        int          // number of runs in the last merge; 0 for none
	MergeLevels  int
	Algorithms   []string // algorithms of the chunks; several if devices differ
	BytesKept    int64    // size of the records that did not have to be read again
	BytesSpilled int64
	SpillCodec   string
	Changes      []Change
	ChecksumIn   string // if requested
	ChecksumOut  string
	Verified     bool
	Summary      *format.Summary // of the output, if it was verified
}

// A Change is a change of strategy: a transition of the plan that the run has taken, or a requested
// strategy that was impossible.
type Change struct {
	Planned plan.Strategy `json:"planned"`
	Why     string        `json:"why"`
	Ran     plan.Strategy `json:"ran"`
	Parts   int           `json:"parts,omitempty"` // number of changed parts; 0: the whole sort
}

func (c Change) String() string {
	if c.Parts > 0 {
		parts := english.Plural(c.Parts, "part", "")
		return fmt.Sprintf("%s by strategy %s: %s", parts, c.Ran, c.Why)
	}
	return fmt.Sprintf("from strategy %s to %s: %s", c.Planned, c.Ran, c.Why)
}

// Sort runs the first candidate of the plan. If it turns out to be impossible, Sort follows the
// plan to the next one, until one of them succeeds. If no record is wanted, it reads none.
func (r *Run) Sort(ctx context.Context) error {
	if r.Facts.Request.Limit < 0 {
		r.Result.Strategy = r.Plan.Strategy
		return nil
	}

	input.AllowRemote(r.Input.Files, r.Plan.Sizes.RequestBytes)
	candidate := &r.Plan.Considered[0]
	for {
		err := r.runCandidate(ctx, candidate)
		impossible, ok := errors.AsType[*plan.Impossible](err)
		if !ok {
			return err
		}
		next := candidateAfter(r.Plan, candidate)
		if next == nil {
			return r.nothingLeft(impossible)
		}
		r.change(candidate.Strategy, next.Strategy, impossible.Why)
		r.restart()
		candidate = next
	}
}

// nothingLeft returns the error if the last possible strategy turned out to be impossible. It
// explains why a merge, the last resort, is not possible.
func (r *Run) nothingLeft(last *plan.Impossible) error {
	if !r.Plan.Sizes.Merges(r.Facts) {
		return plan.NewMemoryError(r.Facts)
	}
	for _, c := range r.Plan.Considered {
		if c.Strategy.Properties().LastResort {
			return fmt.Errorf("%s, and strategy %s %s", last.Why, c.Strategy, c.Why)
		}
	}
	return last
}

func (r *Run) runCandidate(ctx context.Context, c *plan.Candidate) error {
	r.Result.Strategy = c.Strategy
	r.Result.Stages = c.Stages
	stages := slices.Clone(c.Stages)
	// the output will be read back
	if last := len(stages) - 1; last > 0 && r.Input.Summed && r.Output.checked == nil {
		stages = slices.Insert(stages, last, plan.Stage{
			Name:  plan.StageVerify,
			Bytes: stages[last-1].Bytes,
		})
	}
	r.Meter.expect(stages)
	r.pool = newPool(r, c)
	err := safely.Call(func() error { return Strategies[c.Strategy](ctx, r, c) })
	return errors.Join(err, r.pool.close())
}

// change records a change of strategy. It warns the user if the planned strategy was the one
// requested.
func (r *Run) change(planned, ran plan.Strategy, why string) {
	c := Change{Planned: planned, Why: why, Ran: ran}
	r.Result.Changes = append(r.Result.Changes, c)
	if r.Facts.Request.Strategy == planned {
		r.Warn(c.String())
	}
}

// NoteStrategyChange records a change if the requested strategy is not the first one of the plan.
func (r *Run) NoteStrategyChange() {
	asked := r.Facts.Request.Strategy
	for _, c := range r.Plan.Considered {
		if c.Strategy == asked && asked != r.Plan.Strategy {
			r.change(asked, r.Plan.Strategy, c.Why)
		}
	}
}

// restart resets the counters before the next strategy is tried. Bytes already sent to a stream
// are skipped, not sent again.
func (r *Run) restart() {
	r.Output.restart()
	r.Input.restart()
	r.mu.Lock()
	defer r.mu.Unlock()
	r.Result = Result{
		Strategy: r.Result.Strategy,
		Stages:   r.Result.Stages,
		Changes:  r.Result.Changes,
	}
}

// Close releases the spill files. It must be called once, after the output has been finished.
func (r *Run) Close() error {
	if r.Checkpoint != nil {
		_ = r.Checkpoint.Wait() // its errors have been reported
	}
	var errs []error
	for _, s := range []*spill.Spill{r.spill, r.waiting} {
		if s != nil {
			r.Result.BytesSpilled += s.Written()
			r.Result.SpillCodec = cmp.Or(r.Result.SpillCodec, s.Codec())
			errs = append(errs, s.Close())
		}
	}

	return errors.Join(append(errs, r.direct.Close())...)
}

// demandReads is the number of requests that are never used to read ahead, so that data needed now
// can always be read.
const demandReads = 4

// useDirectIO creates the direct I/O requests of the plan, if it has any. Half of them are for
// reads.
func (r *Run) useDirectIO() {
	q := r.Plan.Sizes.Queue
	if q.Requests == 0 {
		return
	}
	r.direct = blockio.NewPool(blockio.Options{
		Bytes:  q.Bytes,
		Reads:  q.Requests / 2,
		Demand: demandReads,
		Writes: q.Requests - q.Requests/2,
	})
	if q.Input {
		input.UseDirectIO(r.Input.Files, r.direct)
	}
}

// leastIndexBytes is the minimum memory for indexes, for a plan that expected not to spill.
const leastIndexBytes = 64 << 10

// Spill creates the temporary files for records of the input. Later calls return the same files.
func (r *Run) Spill(expectBytes int64) (*spill.Spill, error) {
	if r.spill != nil {
		return r.spill, nil
	}
	s := &r.Plan.Sizes
	asked := &r.Facts.Request
	var err error
	r.spill, err = spill.New(spill.Options{
		Store:       r.Store,
		Checkpoint:  r.Checkpoint,
		Folders:     r.Facts.Spill.Dirs,
		Codec:       asked.SpillCodec,
		Keyer:       r.Input.Keyer,
		ExpectBytes: expectBytes,
		IndexBytes:  max(s.IndexBytes, leastIndexBytes),
		OutputBytes: r.Facts.Spill.Output,
		CachedBytes: r.Facts.CachedSpill(),
		Requests:    r.direct,
		DiskBytes:   r.Facts.Spill.Disk.Write,
		Workers:     s.Workers,
		Coders:      s.SpillCoders,
	})
	return r.spill, err
}

func (r *Run) noteChunk(s device.Stats) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.Result.Chunks++
	if s.Algorithm != "" && !slices.Contains(r.Result.Algorithms, s.Algorithm) {
		r.Result.Algorithms = append(r.Result.Algorithms, s.Algorithm)
	}
}

func (r *Run) mergeOptions() merge.Options {
	s := &r.Plan.Sizes
	return merge.Options{
		Keyer:       r.Input.Keyer,
		Workers:     s.Workers,
		BlockBytes:  s.BlockBytes,
		MemoryBytes: s.MergeBytes,
		Limit:       r.Facts.First(),
	}
}

// sortTo sorts a chunk and writes it. last means that the chunk is not needed afterwards.
func (r *Run) sortTo(
	ctx context.Context, chunk device.Chunk, w device.BlockWriter, last bool,
) error {
	if err := chunk.Sort(ctx); err != nil {
		return err
	}
	return r.store(ctx, chunk, w, last)
}

// store writes a sorted chunk.
func (r *Run) store(
	ctx context.Context, chunk device.Chunk, w device.BlockWriter, last bool,
) error {
	err := chunk.Store(ctx, r.Facts.First(), last, w)
	r.noteChunk(chunk.Stats())
	return err
}
