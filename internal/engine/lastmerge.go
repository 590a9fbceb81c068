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
	// maxMarkBytes limits the output from one mark to the next, unless a block is larger.
	maxMarkBytes = 256 << 20

	// maxMarks is the number of marks that may be reached before writers wait for the manifest.
	maxMarks = 2
)

// position is a position in the last merge.
type position struct {
	records int64   // number of output records before the position
	taken   []int64 // number of records taken from each run
}

// gap is a damaged part of the output, which must be written again.
type gap struct {
	from position
	to   int64
}

// lastMerge tracks the progress of the last merge. It is a BlockWriter that writes to the output.
type lastMerge struct {
	run  *Run
	base position // end of the output of earlier processes

	mu sync.Mutex
	// blocks holds the blocks after a gap, by their first record.
	blocks  map[int64]*block
	written int64            // number of leading output records without a gap
	marks   []position       // marks that have not been reached, in order
	sum     spill.StretchSum // checksum of the bytes after the last reached mark
	reached int              // number of reached marks not yet in the manifest
	next    *spill.Written   // the next state for the manifest, with all reached marks
}

// block is a block of the output that is being written.
type block struct {
	end     int64 // index of the record after the block
	bytes   int64
	sum     spill.StretchSum
	written bool
}

func newLastMerge(r *Run, runs []*spill.Run) *lastMerge {
	l := &lastMerge{
		run:    r,
		blocks: map[int64]*block{},
		next:   &spill.Written{},
	}
	for _, run := range runs {
		of := spill.RunRecords{First: run.Origin.First, Records: run.Origin.Records}
		l.next.Of = append(l.next.Of, of)
	}

	l.base.taken = make([]int64, len(runs))
	return l
}

// resume determines how far an earlier merge of the same runs got, and which parts of its output
// are damaged. Damaged parts at the end count as not written.
func (l *lastMerge) resume(ctx context.Context) (gaps []gap, err error) {
	out := l.run.Output
	before := l.run.Checkpoint.Written()
	if before == nil || !out.resumable.Begun || !slices.Equal(before.Of, l.next.Of) {
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
	l.countKept(before.Records(), kept)
	return gaps, nil
}

// countKept counts the output records of an earlier process. before is the number of records that
// it had written, and kept is the number of intact ones.
func (l *lastMerge) countKept(before, kept int64) {
	r := l.run
	if kept > 0 {
		r.Output.records.Add(kept)
		r.Meter.add(atOutput, int(kept)*r.Input.size)
	}

	if damaged := (before - kept) * int64(r.Output.Size); damaged > 0 {
		r.Warn(fmt.Sprintf("checkpoint %s: %s of the output is damaged and is written again",
			r.Checkpoint.Folder(), human.Bytes(damaged)))
	}
}

const (
	// verifyBytes is the amount that one worker verifies at a time.
	verifyBytes = 16 << 20

	// verifyBuffer is the size of a read.
	verifyBuffer = 256 << 10
)

// verifyKept reads the output of an earlier process and reports which stretches are intact.
func (o *Output) verifyKept(
	ctx context.Context, stretches []spill.Stretch,
) (intact []bool, err error) {
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

// sumKept returns the checksum of a range of the file. Several workers read it.
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

// mark records how far the runs have been cut. It is called before any record after the cut is
// written.
func (l *lastMerge) mark(records int64, upTo []int64) {
	at := position{records: l.base.records + records, taken: slices.Clone(l.base.taken)}
	for i := range at.taken {
		// a run that was already written completely is not cut
		at.taken[i] = max(at.taken[i], upTo[i])
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.marks = append(l.marks, at)
}

// noteBlock records the checksum of a block that is about to be written. recs contains exactly the
// bytes to write to the file.
func (l *lastMerge) noteBlock(first int64, recs []byte) {
	sum := spill.SumOf(recs)
	l.mu.Lock()
	defer l.mu.Unlock()
	end := first + int64(len(recs)/l.run.Output.Size)
	l.blocks[first] = &block{
		end:   end,
		bytes: int64(len(recs)),
		sum:   sum,
	}
}

// WriteBlock writes to the output. It passes marks to the manifest after everything before them
// has been written.
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

	if l.reached == 0 {
		return nil
	}
	started, err := l.run.Checkpoint.SetWritten(l.next, l.sync, l.reached >= maxMarks)
	if started {
		l.reached = 0
	}
	return err
}

// reach ends a stretch at a mark. No block extends beyond a mark.
func (l *lastMerge) reach() {
	for len(l.marks) > 0 && l.marks[0].records <= l.written {
		at := l.marks[0]
		l.marks = l.marks[1:]
		if at.records < l.written {
			continue
		}
		stretch := spill.Stretch{
			Records: at.records,
			Taken:   at.taken,
			Sum:     l.sum,
		}
		l.next = l.next.With(stretch, l.run.Output.Size)
		l.sum = spill.StretchSum{}
		l.reached++
	}
}

// sync makes the written data durable and keeps the file from now on.
func (l *lastMerge) sync() error {
	err := l.run.Output.file.Sync()
	if err == nil {
		l.run.Output.resumable.Preserve()
	}
	return err
}
