// Package sets combines sorted inputs by their keys, as sets: union, intersection, difference and
// comparison.
//
// Only the root package of this module is stable: this package may change in any version.
//
// Each input has a goroutine that reads blocks, checks their order, and computes the first 8 bytes
// of each key. One goroutine walks through all inputs. While the keys of one input are less than
// all others, it handles a whole range of a block:
//
//	A  1 2 2 3 │ 7 7 8          range "1 2 2 3": only in A, because it is less than 5
//	B  5 │ 7 9                  range "5": only in B, because it is less than 7
//	                            group "7 7" and "7": in both
//
// Blocks have a fixed size, so memory does not depend on the inputs or on the size of groups.
package sets

import (
	"bytes"
	"context"
	"io"

	"github.com/extsort/extsort/device"
	"github.com/extsort/extsort/format"
	"github.com/extsort/extsort/internal/safely"
)

// An Operation says which records are written. A key is selected or not; for a selected key, all
// records of the first input that has it are written. With Options.All, occurrences are counted as
// by SQL's ALL.
type Operation int

// The operations.
const (
	Union     Operation = iota // keys of any input
	Intersect                  // keys that all inputs have
	Subtract                   // keys that only the first input has
	Compare                    // counts and separates the keys of two inputs
)

// An Input is a sorted input.
type Input struct {
	Records io.Reader
	Keyer   *format.Keyer     // its normalized keys have the same size and meaning for all inputs
	Read    func(recs []byte) // called with all records as they are read
}

// Options describes an operation.
type Options struct {
	Operation Operation
	All       bool // Union keeps all records; Intersect keeps the fewest that an input has; Subtract subtracts counts
	Inputs    []Input

	// Output receives the result of all operations but Compare. Union writes records of all inputs.
	// All other operations write only records of the first input.
	Output device.BlockWriter

	// OnlyA, OnlyB and Both receive the records of a comparison. For shared keys, Both receives the
	// records of A. Each may be nil.
	OnlyA, OnlyB, Both device.BlockWriter

	BlockBytes int // approximate size of a block
}

// Counts are the results of a comparison.
type Counts struct {
	KeysA       int64 `json:"keys_only_a"`
	RecordsA    int64 `json:"records_only_a"`
	KeysB       int64 `json:"keys_only_b"`
	RecordsB    int64 `json:"records_only_b"`
	KeysBoth    int64 `json:"keys_both"`
	RecordsBoth int64 `json:"records_both"`   // of A
	OtherBoth   int64 `json:"records_both_b"` // of B
}

// Run runs an operation. It reads all inputs to their ends. If one is not sorted, it returns a
// *merge.DisorderError.
func Run(ctx context.Context, opt Options) (Counts, error) {
	group, ctx := safely.WithContext(ctx)
	w := &walk{ctx: ctx, opt: opt}
	for i, in := range opt.Inputs {
		f := newFeed(i, in, opt.BlockBytes)
		w.heads = append(w.heads, &head{feed: f, keyer: in.Keyer})
		group.Go(func() error {
			defer close(f.blocks)
			return f.read(ctx)
		})
	}
	group.Go(w.run)
	err := group.Wait()
	return w.counts, err
}

// A walk is the state of an operation.
type walk struct {
	ctx    context.Context
	opt    Options
	heads  []*head
	counts Counts

	output, onlyA, onlyB, both *collector
}

func (w *walk) run() error {
	size := func(input int) int { return w.heads[input].keyer.Layout().RecordSize }
	w.output = newCollector(w.opt.Output, size(0), w.opt.BlockBytes)
	w.onlyA = newCollector(w.opt.OnlyA, size(0), w.opt.BlockBytes)
	w.onlyB = newCollector(w.opt.OnlyB, size(len(w.heads)-1), w.opt.BlockBytes)
	w.both = newCollector(w.opt.Both, size(0), w.opt.BlockBytes)

	for _, h := range w.heads {
		if err := h.fill(w.ctx); err != nil {
			return err
		}
	}
	for {
		lowest, bound, shared := w.lowest()
		var err error
		switch {
		case lowest < 0:
			return w.flush()
		case shared:
			err = w.sharedGroup(lowest)
		default:
			err = w.ownRange(lowest, bound)
		}
		if err != nil {
			return err
		}
	}
}

func (w *walk) flush() error {
	for _, c := range []*collector{w.output, w.onlyA, w.onlyB, w.both} {
		if err := c.flush(w.ctx); err != nil {
			return err
		}
	}
	return nil
}

// lowest returns the first input with the lowest key, or -1 at the end of all inputs. shared means
// that another input has the same key. Otherwise, bound is the input with the lowest of the other
// keys, or nil.
func (w *walk) lowest() (lowest int, bound *head, shared bool) {
	lowest = -1
	for i, h := range w.heads {
		if h.ended {
			continue
		}
		if lowest < 0 {
			lowest = i
			continue
		}
		switch c := h.compare(w.heads[lowest]); {
		case c < 0:
			bound = w.heads[lowest]
			lowest = i
			shared = false
		case c == 0:
			shared = true
		case bound == nil || h.compare(bound) < 0:
			bound = h
		}
	}
	return lowest, bound, shared
}

// ownRange handles the next records of an input whose keys are less than all keys of the other
// inputs.
func (w *walk) ownRange(input int, bound *head) error {
	h := w.heads[input]
	b := h.block
	from, to := h.at, len(b.prefixes)
	if bound != nil {
		limit := bound.block.prefixes[bound.at]
		to = from
		for to < len(b.prefixes) && b.prefixes[to] < limit {
			to++
		}
		if to == from { // the first 8 bytes of the keys are equal
			to = b.groupEnd(from)
		}
	}

	recs := b.records(from, to)
	var err error
	switch w.opt.Operation {
	case Union:
		err = w.output.add(w.ctx, recs)
	case Intersect:
		if len(w.heads) == 1 {
			err = w.output.add(w.ctx, recs)
		}
	case Subtract:
		if input == 0 {
			err = w.output.add(w.ctx, recs)
		}
	case Compare:
		keys := b.keys(from, to)
		if input == 0 {
			w.counts.KeysA += keys
			w.counts.RecordsA += int64(to - from)
			err = w.onlyA.add(w.ctx, recs)
		} else {
			w.counts.KeysB += keys
			w.counts.RecordsB += int64(to - from)
			err = w.onlyB.add(w.ctx, recs)
		}
	}
	if err != nil {
		return err
	}
	return h.advance(w.ctx, to)
}

// sharedGroup handles all records with the key of an input and of at least one other.
func (w *walk) sharedGroup(first int) error {
	var present []*head
	for _, h := range w.heads[first:] {
		if !h.ended && (h == w.heads[first] || h.compare(w.heads[first]) == 0) {
			present = append(present, h)
		}
	}
	isEverywhere := len(present) == len(w.heads)

	switch {
	case w.opt.Operation == Compare:
		return w.countBoth(present)
	case w.opt.Operation == Union && w.opt.All:
		for _, h := range present {
			if _, err := h.copyGroup(w.ctx, w.output); err != nil {
				return err
			}
		}
		return nil
	case w.opt.Operation == Intersect && w.opt.All && isEverywhere:
		return w.intersectCounts(present)
	case w.opt.Operation == Subtract && w.opt.All && first == 0:
		return w.subtractCounts(present)
	}

	to := (*collector)(nil)
	if w.opt.Operation == Union || w.opt.Operation == Intersect && isEverywhere {
		to = w.output
	}
	for _, h := range present {
		if _, err := h.copyGroup(w.ctx, to); err != nil {
			return err
		}
		to = nil
	}
	return nil
}

// countBoth handles a key that both inputs of a comparison have.
func (w *walk) countBoth(present []*head) error {
	ofA, err := present[0].copyGroup(w.ctx, w.both)
	if err != nil {
		return err
	}
	ofB, err := present[1].copyGroup(w.ctx, nil)
	w.counts.KeysBoth++
	w.counts.RecordsBoth += ofA
	w.counts.OtherBoth += ofB
	return err
}

// intersectCounts writes as many records of the first input as each input has with the same key.
func (w *walk) intersectCounts(present []*head) error {
	for i := range present {
		present[i].inGroup = true
	}
	for {
		for _, h := range present {
			if !h.inGroup {
				return w.skipGroups(present)
			}
		}
		if err := w.output.add(w.ctx, present[0].record()); err != nil {
			return err
		}
		for _, h := range present {
			if err := h.next(w.ctx); err != nil {
				return err
			}
		}
	}
}

// subtractCounts skips one record of the first input for each record of the others with the same
// key, and writes the rest.
func (w *walk) subtractCounts(present []*head) error {
	a := present[0]
	a.inGroup = true
	for _, h := range present[1:] {
		h.inGroup = true
		for h.inGroup && a.inGroup {
			if err := a.next(w.ctx); err != nil {
				return err
			}
			if err := h.next(w.ctx); err != nil {
				return err
			}
		}
		if h.inGroup {
			if _, err := h.copyGroup(w.ctx, nil); err != nil {
				return err
			}
		}
	}
	if !a.inGroup {
		return nil
	}
	_, err := a.copyGroup(w.ctx, w.output)
	return err
}

// skipGroups skips the remaining records of a group.
func (w *walk) skipGroups(present []*head) error {
	for _, h := range present {
		if !h.inGroup {
			continue
		}
		if _, err := h.copyGroup(w.ctx, nil); err != nil {
			return err
		}
	}
	return nil
}

// A head is the next record of an input.
type head struct {
	feed    *feed
	keyer   *format.Keyer
	block   *block
	at      int  // index in the block
	ended   bool // there are no more records
	inGroup bool // the next record has the same key as the group; see next
}

// compare compares the keys of two heads.
func (h *head) compare(other *head) int {
	a := h.block.prefixes[h.at]
	b := other.block.prefixes[other.at]
	switch {
	case a < b:
		return -1
	case a > b:
		return 1
	case h.keyer.KeySize() <= prefixBytes:
		return 0
	case h.keyer == other.keyer:
		return h.keyer.Compare(h.record(), other.record())
	}
	return bytes.Compare(h.keyer.Append(nil, h.record()), other.keyer.Append(nil, other.record()))
}

// record returns the next record.
func (h *head) record() []byte { return h.block.records(h.at, h.at+1) }

// advance continues at the given index of the block.
func (h *head) advance(ctx context.Context, at int) error {
	h.at = at
	if at < len(h.block.prefixes) {
		return nil
	}
	h.feed.free <- h.block
	return h.fill(ctx)
}

// fill takes the next block.
func (h *head) fill(ctx context.Context) error {
	select {
	case b, ok := <-h.feed.blocks:
		h.block = b
		h.at = 0
		h.ended = !ok
		if !ok && ctx.Err() != nil {
			return context.Cause(ctx)
		}
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// next continues with the next record, and determines whether it has the same key.
func (h *head) next(ctx context.Context) error {
	if err := h.advance(ctx, h.at+1); err != nil {
		return err
	}
	h.inGroup = !h.ended && h.block.repeats[h.at]
	return nil
}

// copyGroup adds all records with the key of the head to a collector, which may be nil, and returns
// their number.
func (h *head) copyGroup(ctx context.Context, to *collector) (records int64, err error) {
	for {
		end := h.block.groupEnd(h.at)
		records += int64(end - h.at)
		if err := to.add(ctx, h.block.records(h.at, end)); err != nil {
			return 0, err
		}
		isLast := end < len(h.block.prefixes)
		if err := h.advance(ctx, end); err != nil {
			return 0, err
		}
		if isLast || h.ended || !h.block.repeats[0] {
			return records, nil
		}
	}
}

// A collector collects records into blocks for a BlockWriter. A nil collector ignores them.
type collector struct {
	to    device.BlockWriter
	size  int
	first int64 // index of the first collected record
	recs  []byte
	bytes int // when to write
}

func newCollector(to device.BlockWriter, size, bytes int) *collector {
	if to == nil {
		return nil
	}
	return &collector{to: to, size: size, bytes: bytes, recs: make([]byte, 0, bytes+size)}
}

func (c *collector) add(ctx context.Context, recs []byte) error {
	if c == nil {
		return nil
	}
	if len(c.recs)+len(recs) > c.bytes {
		if err := c.flush(ctx); err != nil {
			return err
		}
		if len(recs) > c.bytes/2 {
			return c.write(ctx, recs)
		}
	}
	c.recs = append(c.recs, recs...)
	return nil
}

func (c *collector) flush(ctx context.Context) error {
	if c == nil || len(c.recs) == 0 {
		return nil
	}
	err := c.write(ctx, c.recs)
	c.recs = c.recs[:0]
	return err
}

func (c *collector) write(ctx context.Context, recs []byte) error {
	first := c.first
	c.first += int64(len(recs) / c.size)
	return c.to.WriteBlock(ctx, first, recs)
}
