// Package engine runs a plan. Each strategy is one function in a file of its own, and all have the same signature: they
// get a Run and the candidate of the plan that names them. One that turns out not to be possible gives back
// plan.Impossible with nothing lost, and the next candidate is tried, which the user is told.
//
//	Run{Plan, Input, Output, Devices, Meter} ─▶ copy │ sift │ in core │ reread │ merge │ partition │ spread ─▶ Result
package engine

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/extsort/extsort/chunker/input"
	"github.com/extsort/extsort/chunker/plan"
	"github.com/extsort/extsort/chunker/spill"
	"github.com/extsort/extsort/device"
	"github.com/extsort/extsort/format"
	"github.com/extsort/extsort/internal/safely"
	"github.com/extsort/extsort/merge"
)

// Run is one sort, from its plan to its last record.
type Run struct {
	Plan    *plan.Plan
	Facts   *plan.Facts
	Input   *Input
	Output  *Output
	Devices []device.Device // in the order of Facts.Devices
	Meter   *Meter
	Store   spill.Store       // where spill goes; nil: the disk
	Kept    *spill.Checkpoint // nil: nothing is kept
	Warn    func(message string)

	Result Result

	pool  *pool        // of the candidate that runs
	queue *spill.Queue // of requests past the page cache; nil: there are none
	spill *spill.Spill // nil as long as nothing is spilled
	mu    sync.Mutex   // protects Result while chunks are sorted

	waiting *spill.Spill // records of the output that wait for a header with their number; nil: none do
}

// Result is what ran.
type Result struct {
	Strategy     plan.Strategy
	Stages       []plan.Stage // that were predicted for it
	Chunks       int          // chunks or parts that were sorted
	FanIn        int          // runs of the last merge; 0: none
	MergeLevels  int
	Algorithms   []string // that sorted the chunks: several when devices differ
	BytesKept    int64    // of records that did not have to be read again
	BytesSpilled int64
	SpillCodec   string
	Changes      []Change
	ChecksumIn   string // where they were asked for
	ChecksumOut  string
	Verified     bool
	Summary      *format.Summary // of the output, where it was verified
}

// Change is a change of mind: a strategy that was tried and turned out not to be possible.
type Change struct {
	Planned plan.Strategy `json:"planned"`
	Why     string        `json:"why"`
	Ran     plan.Strategy `json:"ran"`
}

func (c Change) String() string {
	return fmt.Sprintf("from strategy %s to %s: %s", c.Planned, c.Ran, c.Why)
}

// Sort tries the candidates of the plan that are possible, one after the other, until one of them proves so. Where no
// record is wanted none is read.
func (r *Run) Sort(ctx context.Context) error {
	all := r.Plan.Considered
	if r.Facts.Asked.Limit < 0 {
		r.Result.Strategy = r.Plan.Strategy
		return nil
	}
	input.RequestsOf(r.Input.Files).Allow(r.Plan.Sizes.RequestBytes)
	for i := range all {
		err := r.try(ctx, &all[i])
		impossible, ok := errors.AsType[*plan.Impossible](err)
		if !ok {
			return err
		}
		if i+1 == len(all) || !all[i+1].Possible {
			return r.nothingLeft(impossible)
		}
		r.change(all[i].Strategy, all[i+1].Strategy, impossible.Why)
		r.restart()
	}
	return nil
}

// nothingLeft is the error where the last possible strategy turned out not to be: merge is what it would take.
func (r *Run) nothingLeft(last *plan.Impossible) error {
	if !r.Plan.Sizes.Merges(r.Facts) {
		return plan.TooLittle(r.Facts)
	}
	for _, c := range r.Plan.Considered {
		if c.Strategy.Properties().LastResort {
			return fmt.Errorf("%s, and strategy %s %s", last.Why, c.Strategy, c.Why)
		}
	}
	return last
}

func (r *Run) try(ctx context.Context, c *plan.Candidate) error {
	r.Result.Strategy, r.Result.Stages = c.Strategy, c.Stages
	stages := slices.Clone(c.Stages)
	if last := len(stages) - 1; last > 0 && r.Input.summed && r.Output.checked == nil { // it will be read back
		stages = slices.Insert(stages, last, plan.Stage{Name: plan.StageVerify, Bytes: stages[last-1].Bytes})
	}
	r.Meter.expect(stages)
	r.pool = newPool(r, c)
	err := safely.Call(func() error { return Strategies[c.Strategy](ctx, r, c) })
	return errors.Join(err, r.pool.close())
}

// change enters a change of mind, and warns of it where the user had asked for what was planned.
func (r *Run) change(planned, ran plan.Strategy, why string) {
	c := Change{planned, why, ran}
	r.Result.Changes = append(r.Result.Changes, c)
	if r.Facts.Asked.Strategy == planned {
		r.Warn(c.String())
	}
}

// AskedFor enters a strategy that was asked for and is not the first of the plan.
func (r *Run) AskedFor() {
	asked := r.Facts.Asked.Strategy
	for _, c := range r.Plan.Considered {
		if c.Strategy == asked && asked != r.Plan.Strategy {
			r.change(asked, r.Plan.Strategy, c.Why)
		}
	}
}

// restart makes the counts and sums those of a run that has read nothing, and written nothing but what a stream has
// already: that is not written again.
func (r *Run) restart() {
	r.Output.restart()
	r.Input.restart()
	r.mu.Lock()
	defer r.mu.Unlock()
	r.Result = Result{Strategy: r.Result.Strategy, Stages: r.Result.Stages, Changes: r.Result.Changes}
}

// Close gives spill back. It is to be called once, after the output has been finished.
func (r *Run) Close() error {
	if r.Kept != nil {
		_ = r.Kept.Wait() // what went wrong there has been told
	}
	var errs []error
	for _, s := range []*spill.Spill{r.spill, r.waiting} {
		if s != nil {
			r.Result.BytesSpilled += s.Written()
			r.Result.SpillCodec = cmp.Or(r.Result.SpillCodec, s.Codec())
			errs = append(errs, s.Close())
		}
	}
	return errors.Join(append(errs, r.queue.Close())...)
}

// openQueue makes the queue of requests that go past the page cache, if the plan has one.
func (r *Run) openQueue() (err error) {
	if q := r.Plan.Sizes.Queue; q.Requests > 0 {
		if r.queue, err = spill.NewQueue(q.Requests, q.Bytes); err == nil && q.Input {
			input.UseDirectIO(r.Input.Files, r.queue)
		}
	}
	return err
}

// leastIndexBytes are for the index of what a plan did not expect to spill.
const leastIndexBytes = 64 << 10

// Spill makes the temporary files, once.
func (r *Run) Spill(expectBytes int64) (*spill.Spill, error) {
	if r.spill != nil {
		return r.spill, nil
	}
	s, asked := &r.Plan.Sizes, &r.Facts.Asked
	var err error
	r.spill, err = spill.New(spill.Options{
		Store: r.Store, Checkpoint: r.Kept, Folders: r.Facts.Spill.Folders, Codec: asked.SpillCodec, Keyer: r.Input.Keyer,
		ExpectBytes: expectBytes, IndexBytes: max(s.IndexBytes, leastIndexBytes),
		OutputBytes: r.Facts.Spill.Output, CachedBytes: r.Facts.CachedSpill(), Queue: r.queue,
		DiskBytes: r.Facts.Spill.Disk.Write, Workers: s.Workers, Coders: s.SpillCoders,
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
		Keyer: r.Input.Keyer, Workers: s.Workers, BlockBytes: s.BlockBytes, MemoryBytes: s.MergeBytes, Limit: r.Facts.First(),
	}
}

// sortTo sorts a chunk and writes it. last: there is no other use for it.
func (r *Run) sortTo(ctx context.Context, chunk device.Chunk, w device.BlockWriter, last bool) error {
	if err := chunk.Sort(ctx); err != nil {
		return err
	}
	return r.store(ctx, chunk, w, last)
}

// store writes a sorted chunk.
func (r *Run) store(ctx context.Context, chunk device.Chunk, w device.BlockWriter, last bool) error {
	err := chunk.Store(ctx, r.Facts.First(), last, w)
	r.noteChunk(chunk.Stats())
	return err
}
