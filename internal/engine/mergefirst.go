package engine

import (
	"context"
	"errors"

	"github.com/extsort/extsort/chunker/spill"
	"github.com/extsort/extsort/device"
)

// selectFirst makes runs of the records whose prefixes are not greater than that of the candidate. It
// reports whether they contain all of the first records. If not, it closes the runs.
func (m *inputMerge) selectFirst(ctx context.Context) (isEnough bool, err error) {
	r := m.run
	if err := r.beginSpill(m.candidate); err != nil {
		return false, err
	}
	left := min(r.Facts.First(), r.Input.Data.Records())
	for i, src := range r.Input.Data.Split(m.candidate.Chunks) {
		n, err := m.selectSlice(ctx, src, i)
		if errors.Is(err, device.ErrTooMany) || errors.Is(err, errors.ErrUnsupported) {
			return false, m.dropRuns()
		}
		if err != nil {
			return false, errors.Join(err, m.dropRuns())
		}
		left -= n
	}

	if left > 0 {
		return false, m.dropRuns()
	}
	return true, nil
}

// selectSlice makes runs of the selected records of slice i. There is more than one run only if most
// of the selected records are in few slices. It returns the number of records.
func (m *inputMerge) selectSlice(ctx context.Context, src device.Source, i int) (records int64, err error) {
	for low := uint64(0); ; {
		n, last, err := m.selectRun(ctx, src, low, i)
		records += n
		if err != nil || last >= m.candidate.SelectedHigh {
			return records, err
		}
		low = last + 1
		src = m.run.Input.unseen.Split(m.candidate.Chunks)[i] // its records have been counted
	}
}

// selectRun makes a run of the records of src from prefix low on, or of the smallest of them if they
// don't fit in a chunk. last is the greatest prefix in the run.
func (m *inputMerge) selectRun(
	ctx context.Context, src device.Source, low uint64, slice int,
) (records int64, last uint64, err error) {
	r := m.run
	chunk, err := r.pool.get(ctx)
	if err != nil {
		return 0, 0, err
	}
	defer r.pool.put(chunk)

	records, last, err = chunk.Select(ctx, src, low, m.candidate.SelectedHigh)
	if err != nil || records == 0 {
		return 0, last, err
	}
	if err := chunk.Sort(ctx); err != nil {
		return 0, 0, err
	}
	run, err := m.runs.spill(ctx, &loadedChunk{
		chunk:  chunk,
		origin: spill.Origin{First: int64(slice)},
	})
	if err == nil {
		m.runs.set(m.runs.reserve(), run)
	}
	return records, last, err
}

// dropRuns closes all runs.
func (m *inputMerge) dropRuns() error {
	err := closeRuns(m.runs.runs)
	m.runs.runs = nil
	return err
}
