package engine

import (
	"github.com/extsort/extsort/chunker"
	"github.com/extsort/extsort/chunker/plan"
	"github.com/extsort/extsort/chunker/spill"
	"github.com/extsort/extsort/device"
)

// A cutter cuts a dataset into the slices that become chunks. It skips the records of runs that an
// earlier process has finished.
type cutter struct {
	data      chunker.Dataset
	candidate *plan.Candidate
	at        int64 // index of the first record of the next slice
	left      int64 // number of records neither cut nor in finished runs; negative if not known

	// finished holds the finished runs that come next, in the order of their records.
	finished []*spill.Run
}

// A slice is a range of records by position.
type slice struct {
	source device.Source
	origin spill.Origin
}

// next returns the next slice, or nil if no records are left.
func (c *cutter) next() (*slice, error) {
	most, err := c.skipFinished(c.candidate.NextChunk(c.left))
	if err != nil {
		return nil, err
	}
	source, err := c.data.Cut(most)
	if source == nil || err != nil {
		return nil, err
	}
	origin := spill.Origin{First: c.at, Records: most}
	if c.left >= 0 {
		origin.Records = source.Records()
		c.left -= origin.Records
	}
	c.at += origin.Records
	return &slice{source, origin}, nil
}

// skipFinished skips the records of finished runs that come next. If another finished run begins
// within the given number of records, it returns the number of records before that run, and
// otherwise the given number.
func (c *cutter) skipFinished(most int64) (int64, error) {
	for len(c.finished) > 0 {
		next := c.finished[0].Origin
		if gap := next.First - c.at; gap > 0 {
			return min(most, gap), nil
		}
		if _, err := c.data.Cut(next.Records); err != nil {
			return 0, err
		}
		c.at += next.Records
		c.finished = c.finished[1:]
	}

	return most, nil
}
