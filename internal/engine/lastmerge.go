package engine

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"sync"

	"github.com/extsort/extsort/chunker/spill"
	"github.com/extsort/extsort/internal/human"
	"github.com/extsort/extsort/internal/safely"
)

const (
	// maxMarkBytes is how much of the output is written at most from one mark to the next, unless a block is larger.
	maxMarkBytes = 256 << 20

	// maxMarks is how many may be written before writers wait until the last one is entered.
	maxMarks = 2
)

// position is a place in the last merge.
type position struct {
	records int64   // of the output, that come before
	taken   []int64 // how many of each run these are
}

// gap is a part of the output that was written and is damaged.
type gap struct {
	from position
	to   int64
}

// lastMerge knows how far the last merge has come. It is a BlockWriter of the output.
type lastMerge struct {
	run  *Run
	base position // behind what was written before

	mu      sync.Mutex
	blocks  map[int64]*block // by first record: of those behind a gap
	written int64            // records of the output, without a gap
	marks   []position       // that have not been reached, in order
	sum     spill.StretchSum // of the bytes behind the last mark that was reached
	reached int              // marks that have not been entered
	next    *spill.Written   // what is to be entered: with all marks that have been reached
}

// block is a block of the output on its way to the file.
type block struct {
	end     int64 // index of the record behind it
	bytes   int64
	sum     spill.StretchSum
	written bool
}

func newLastMerge(r *Run, runs []*spill.Run) *lastMerge {
	l := &lastMerge{run: r, blocks: map[int64]*block{}, next: &spill.Written{}}
	for _, run := range runs {
		of := spill.RunRecords{First: run.Origin.First, Records: run.Origin.Records}
		l.next.Of = append(l.next.Of, of)
	}
	l.base.taken = make([]int64, len(runs))
	return l
}

// resume finds out how far a merge of the same runs had come, and which parts of its output are damaged. Those at its
// end count as not written.
func (l *lastMerge) resume(ctx context.Context) (gaps []gap, err error) {
	out, before := l.run.Output, l.run.Kept.Written()
	if before == nil || !out.kept.Begun || !slices.Equal(before.Of, l.next.Of) {
		return nil, nil
	}
	intact, err := out.verifyKept(ctx, before.Stretches)
	if err != nil {
		return nil, err
	}
	count := len(intact)
	for count > 0 && !intact[count-1] {
		count--
	}
	var kept int64
	for i, s := range before.Stretches[:count] {
		switch {
		case intact[i]:
			kept += s.Records - l.base.records
		case i > 0 && !intact[i-1]:
			gaps[len(gaps)-1].to = s.Records
		default:
			gaps = append(gaps, gap{from: l.base, to: s.Records})
		}
		l.base = position{s.Records, s.Taken}
	}
	l.written = l.base.records
	l.next = &spill.Written{Of: before.Of, Stretches: before.Stretches[:count]}
	l.take(before.Records(), kept)
	return gaps, nil
}

// take counts records of the output as written that were kept, of those that had been written before.
func (l *lastMerge) take(before, kept int64) {
	r := l.run
	if kept > 0 {
		r.Output.kept.Keep()
		r.Output.records.Add(kept)
		r.Meter.add(atOutput, int(kept)*r.Input.size)
	}
	if damaged := (before - kept) * int64(r.Output.Size); damaged > 0 {
		r.Warn(fmt.Sprintf("checkpoint %s: %s of the output are damaged and are written again",
			r.Kept.Folder(), human.Bytes(damaged)))
	}
}

const (
	// verifyBytes is how much of a stretch is verified by one worker.
	verifyBytes = 16 << 20

	// verifyBuffer is how much is read at a time.
	verifyBuffer = 256 << 10
)

// verifyKept reads what a run before has written, and reports which stretches are as they were.
func (o *Output) verifyKept(ctx context.Context, stretches []spill.Stretch) (intact []bool, err error) {
	header := int64(len(o.header.Encode(0)))
	intact = make([]bool, len(stretches))
	from := header
	for i, s := range stretches {
		to := header + s.Records*int64(o.Size)
		sum, err := o.sumKept(ctx, from, to)
		if err != nil && !errors.Is(err, io.EOF) {
			return nil, err
		}
		intact[i] = err == nil && sum == s.Sum
		from = to
	}
	return intact, nil
}

// sumKept is the checksum of bytes of the file, which several workers read.
func (o *Output) sumKept(ctx context.Context, from, to int64) (sum spill.StretchSum, err error) {
	pieces := make([]spill.StretchSum, (to-from+verifyBytes-1)/verifyBytes)
	group, ctx := safely.WithContext(ctx)
	group.SetLimit(max(o.run.Plan.Sizes.Workers, 1))
	for i := range pieces {
		begin := from + int64(i)*verifyBytes
		group.Go(func() (err error) {
			pieces[i], err = o.sumPiece(ctx, begin, min(begin+verifyBytes, to))
			return err
		})
	}
	if err := group.Wait(); err != nil {
		return sum, err
	}
	for i, piece := range pieces {
		begin := from + int64(i)*verifyBytes
		sum = sum.Join(piece, min(verifyBytes, to-begin))
	}
	return sum, nil
}

func (o *Output) sumPiece(ctx context.Context, from, to int64) (sum spill.StretchSum, err error) {
	buffer := make([]byte, min(verifyBuffer, to-from))
	for from < to {
		if ctx.Err() != nil {
			return sum, context.Cause(ctx)
		}
		part := buffer[:min(int64(len(buffer)), to-from)]
		if _, err := o.file.ReadAt(part, from); err != nil {
			return sum, err
		}
		sum = sum.Add(part)
		from += int64(len(part))
	}
	return sum, nil
}

// mark takes note of how far the runs are cut, before any record behind that is written.
func (l *lastMerge) mark(records int64, upTo []int64) {
	at := position{records: l.base.records + records, taken: slices.Clone(l.base.taken)}
	for i := range at.taken {
		at.taken[i] = max(at.taken[i], upTo[i]) // of a run that was written whole, nothing is cut
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.marks = append(l.marks, at)
}

// note takes the checksum of a block that is about to be written, as it will be in the file.
func (l *lastMerge) note(first int64, recs []byte) {
	sum := spill.SumOf(recs)
	l.mu.Lock()
	defer l.mu.Unlock()
	end := first + int64(len(recs)/l.run.Output.Size)
	l.blocks[first] = &block{end: end, bytes: int64(len(recs)), sum: sum}
}

// WriteBlock writes to the output, and enters marks when all before them is written.
func (l *lastMerge) WriteBlock(ctx context.Context, first int64, recs []byte) error {
	if err := l.run.Output.WriteBlock(ctx, first, recs); err != nil {
		return err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if b := l.blocks[first]; b != nil {
		b.written = true
	}
	for b := l.blocks[l.written]; b != nil && b.written; b = l.blocks[l.written] {
		delete(l.blocks, l.written)
		l.written = b.end
		l.sum = l.sum.Join(b.sum, b.bytes)
		l.reach()
	}
	if l.reached > 0 && l.run.Kept.SetWritten(l.next, l.sync, l.reached >= maxMarks) {
		l.reached = 0
	}
	return nil
}

// reach ends a stretch where a mark is. No block goes beyond a mark.
func (l *lastMerge) reach() {
	for len(l.marks) > 0 && l.marks[0].records <= l.written {
		at := l.marks[0]
		l.marks = l.marks[1:]
		if at.records < l.written {
			continue
		}
		stretch := spill.Stretch{Records: at.records, Taken: at.taken, Sum: l.sum}
		l.next = l.next.With(stretch, l.run.Output.Size)
		l.sum = spill.StretchSum{}
		l.reached++
	}
}

// sync makes what has been written durable, and worth to be kept.
func (l *lastMerge) sync() error {
	err := l.run.Output.file.Sync()
	if err == nil {
		l.run.Output.kept.Keep()
	}
	return err
}
