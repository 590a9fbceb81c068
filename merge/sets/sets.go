// Package sets combines sorted inputs by their keys: union, intersection, difference, comparison
// and join.
//
// Only the root package of this module is stable: this package may change in any version.
//
// A group consists of all records of an input with the same key. Each input has a goroutine, its
// feed, that reads blocks, computes the first 8 bytes of each key, and checks the order. A block
// ends at the end of a group. Therefore, all groups are complete up to the lowest key with which a
// current block ends. The cutter makes a span of them:
//
//	A  1 2 2 3 │ 7 7 8          the block of B ends with 3, so the span contains the keys up to 3:
//	B  1 3     │                1 2 2 3 of A, and 1 3 of B
//
// Workers handle spans independently of each other. They write the results in turn:
//
//	feeds ─blocks of whole groups─▶ cutter ─spans─▶ workers ─in turn─▶ device.BlockWriter
//	   ▲                                               │
//	   └───────────── blocks, when no span needs them ─┘
//
// If all inputs have random access, there is no need for feeds and a cutter: each worker finds the
// next span with a few binary searches, and reads it (ranges.go).
//
// A group that is larger than a block is handled by the cutter itself, piece by piece (large.go). So
// memory does not depend on the sizes of the inputs and of the groups.
package sets

import (
	"context"
	"errors"
	"io"
	"slices"

	"github.com/extsort/extsort/device"
	"github.com/extsort/extsort/format"
	"github.com/extsort/extsort/internal/safely"
	"github.com/extsort/extsort/internal/turns"
	"github.com/extsort/extsort/merge"
)

// An Operation says which keys are selected. For each selected key, all records of the first input
// with this key are written. With Options.All, occurrences are counted as SQL's ALL does.
type Operation int

// The operations.
const (
	Union     Operation = iota // keys of any input
	Intersect                  // keys that all inputs have
	Subtract                   // keys that only the first input has
	Compare                    // counts and separates the keys of two inputs
	Join                       // pairs the records of two inputs; see Options.Join
)

// An Input is a sorted input.
type Input struct {
	Records io.Reader
	At      *merge.Sorted     // random access to the records, if it is fast; otherwise nil
	Keyer   *format.Keyer     // its normalized keys have the same size and meaning for all inputs
	Read    func(recs []byte) // called with all records as they are read
}

// Options describes an operation.
type Options struct {
	Operation Operation
	// All counts records with equal keys: Union keeps all of them, Intersect the smallest number in
	// any input, and Subtract the difference between the inputs.
	All     bool
	Inputs  []Input
	Outputs Outputs
	Join    *JoinOptions

	Workers      int // number of spans that are handled concurrently
	BlockRecords int // number of records in a block

	// Interrupt is called when the operation fails, unless it is nil. It ends the reads of all inputs
	// that block.
	Interrupt func(cause error)
}

// Outputs are the outputs of an operation. Each may be nil.
type Outputs struct {
	// Result receives the result of all operations but Compare. Union writes records of all inputs,
	// and Join writes the rows of Options.Join. All other operations write only records of the first
	// input.
	Result device.BlockWriter

	// OnlyA, OnlyB and Both receive the records of a comparison. For shared keys, Both receives the
	// records of A.
	OnlyA, OnlyB, Both device.BlockWriter
}

// Counts are the results of a comparison.
type Counts struct {
	KeysA       int64 `json:"keys_only_a"`
	RecordsA    int64 `json:"records_only_a"`
	KeysB       int64 `json:"keys_only_b"`
	RecordsB    int64 `json:"records_only_b"`
	KeysBoth    int64 `json:"keys_both"`
	RecordsBoth int64 `json:"records_both"`   // records of A
	OtherBoth   int64 `json:"records_both_b"` // records of B
}

// add adds the counts of other keys.
func (c *Counts) add(other *Counts) {
	c.KeysA += other.KeysA
	c.RecordsA += other.RecordsA
	c.KeysB += other.KeysB
	c.RecordsB += other.RecordsB
	c.KeysBoth += other.KeysBoth
	c.RecordsBoth += other.RecordsBoth
	c.OtherBoth += other.OtherBoth
}

// Run runs an operation. It reads all inputs to their ends. If one is not sorted, it returns a
// *merge.DisorderError.
func Run(ctx context.Context, opt Options) (Counts, error) {
	op := newOperation(opt)
	err := op.run(ctx)
	if op.groups != nil {
		err = errors.Join(err, op.groups.close())
	}
	for _, w := range op.workers {
		op.counts.add(&w.counts)
	}
	return op.counts, err
}

// An operation is a running set operation.
type operation struct {
	opt     Options
	turns   turns.Queue
	workers []*worker
	counts  Counts      // counts of large groups
	groups  *groupStore // for a join
	sinks   [outputs]*sink
}

// The indexes of outputs in operation.sinks and worker.buffers.
const (
	result = iota
	onlyA
	onlyB
	both
	outputs
)

func newOperation(opt Options) *operation {
	a := opt.Inputs[0].Keyer.Layout().RecordSize
	b := opt.Inputs[len(opt.Inputs)-1].Keyer.Layout().RecordSize
	out := a
	if opt.Operation == Join {
		out = opt.Join.Row.Size
	}
	op := &operation{opt: opt}
	op.sinks = [outputs]*sink{
		result: newSink(opt.Outputs.Result, out, opt.BlockRecords),
		onlyA:  newSink(opt.Outputs.OnlyA, a, opt.BlockRecords),
		onlyB:  newSink(opt.Outputs.OnlyB, b, opt.BlockRecords),
		both:   newSink(opt.Outputs.Both, a, opt.BlockRecords),
	}
	if opt.Operation == Join {
		op.groups = newGroupStore(opt.Join, b, opt.BlockRecords)
	}
	for range max(opt.Workers, 1) {
		op.workers = append(op.workers, newWorker(op))
	}
	return op
}

func (op *operation) run(ctx context.Context) error {
	if err := op.handleSpans(ctx); err != nil {
		return err
	}
	for _, s := range op.sinks {
		if err := s.flush(ctx); err != nil {
			return err
		}
	}
	return nil
}

// handleSpans runs the operation on all spans.
func (op *operation) handleSpans(ctx context.Context) error {
	tasks, ctx := safely.WithContext(ctx)
	defer safely.OnFailure(ctx, op.opt.Interrupt)()
	if op.opt.hasRandomAccess() {
		r := newRanges(&op.opt)
		for _, w := range op.workers {
			tasks.Go(func() error { return newRanger(w, r).run(ctx) })
		}
		return tasks.Wait()
	}

	spans := make(chan *span)
	c := &cutter{spans: spans, turns: &op.turns, large: op.large}
	for i, in := range op.opt.Inputs {
		f := newFeed(i, in, newBlocks(in.Keyer, op.opt.BlockRecords))
		c.heads = append(c.heads, &head{feed: f})
		f.start(ctx, tasks)
	}
	tasks.Go(func() error {
		defer close(spans)
		return c.run(ctx)
	})
	for _, w := range op.workers {
		tasks.Go(func() error { return w.run(ctx, spans) })
	}
	return tasks.Wait()
}

// hasRandomAccess reports whether the records of all inputs can be read at any position.
func (opt *Options) hasRandomAccess() bool {
	return !slices.ContainsFunc(opt.Inputs, func(in Input) bool { return in.At == nil })
}
