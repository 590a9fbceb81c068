package extsort

import (
	"context"

	"github.com/extsort/extsort/chunker"
	"github.com/extsort/extsort/chunker/plan"
	"github.com/extsort/extsort/chunker/spill"
	"github.com/extsort/extsort/device"
)

// Data that fits stays: the last chunk of a merge is not spilled but merged from where it was sorted. The merge needs
// buffers beside it, so such a chunk is smaller than one that may use all of the memory; how much smaller depends on
// the number of runs. Where the number of records is known the chunks are cut for that: the last one is as large as may
// stay, those before it share the rest evenly. So of 1.2 chunks 0.3 are spilled, not 1.2.
//
// A partition spills everything. It could keep some of its parts, but no more of them than fits memory either. The planner
// counts what each way spills, and weighs them.

// cutting says how many records the chunks of a merge have.
type cutting struct {
	runs  int
	chunk int64 // most records of a chunk
	stays int64 // most records of the last chunk that are merged from memory; 0: every chunk is spilled
}

// keeps reports whether chunks are cut so that the last one can stay. The chunks of several devices share the host's
// memory, and those of a GPU lie in its own: what of these stays depends on nothing that could be cut for it.
func (j *job) keeps() bool { return j.onCPU() }

// onCPU reports whether the host's processors sort, and nothing else.
func (j *job) onCPU() bool { return len(j.devices) == 1 && j.devices[0].Info().Kind == device.CPU }

// cut chooses the chunks of so many records.
func (j *job) cut(records int64) cutting {
	c := cutting{runs: int(max(0, (records+j.capacity-1)/j.capacity)), chunk: j.capacity}
	if !j.keeps() || records <= j.capacity {
		return c
	}
	for runs := max(c.runs, 2); runs <= j.fanIn(); runs++ {
		stays := j.staying(runs)
		if stays < j.capacity/2 {
			break
		}
		if int64(runs)*stays >= records {
			return cutting{runs, stays, stays}
		}
	}
	return c
}

// staying is the number of records of a chunk that can stay in memory beside the merge of so many runs. The chunk that
// they are loaded into is made for more, and wastes a little more for that.
func (j *job) staying(runs int) int64 {
	n := j.devices[0].MaxRecords(j.chunkOptions(), j.besideMerge(runs)-j.forMerge(runs)/12)
	return min(n, j.capacity)
}

// besideMerge is the memory that a merge of so many runs does not need.
func (j *job) besideMerge(runs int) int64 {
	return j.budget - keepSlack(j.budget) - j.forMerge(runs)
}

func (j *job) forMerge(runs int) int64 {
	return plan.MergeMemory(j.keyer, j.blockBytes, j.opt.Workers, runs)
}

// keepSlack is left free beside a chunk that stays and the buffers of the merge, for what the Go heap keeps of the
// phase before.
func keepSlack(budget int64) int64 { return budget / 64 }

// cuts are the sizes of the chunks of one merge as they are cut one after the other.
type cuts struct {
	*sorting
	cutting
	left  int64 // records that are not yet in a chunk; -1: not known
	given int   // chunks
}

func (s *sorting) cutsOf(data chunker.Dataset) *cuts {
	c := &cuts{sorting: s, cutting: cutting{chunk: s.capacity}, left: data.Records()}
	if c.left > s.capacity {
		c.cutting = s.cut(c.left)
	}
	return c
}

// next cuts the next chunk.
func (c *cuts) next(data chunker.Dataset) (device.Source, error) {
	src, err := data.Cut(c.most())
	if c.given++; src != nil && c.left >= 0 {
		c.left -= src.Records()
	}
	return src, err
}

// most is the number of records of the next chunk, at most.
func (c *cuts) most() int64 {
	switch {
	case c.left < 0 && c.given > 0 && c.keeps():
		return c.mostOfStream()
	case c.left <= c.stays || c.stays == 0:
		return c.chunk
	}
	before := c.left - c.stays
	pieces := (before + c.chunk - 1) / c.chunk
	size := (before + pieces - 1) / pieces
	if c.depth > 0 {
		size += int64(c.blockBytes / c.size) // a part is cut at the borders of its blocks only
	}
	return min(size, c.chunk)
}

// mostOfStream is most where the input may end at any time, so that each chunk after the first could be the last: it is
// cut so that it can stay, even if there will be as many runs again, as long as that costs little.
func (c *cuts) mostOfStream() int64 {
	runs := 2*c.given + 2
	if stays := c.staying(runs); runs <= c.fanIn() && stays > c.capacity/8*7 {
		return stays
	}
	return c.capacity
}

// keepRun makes run number i, the last, of the records that a sorted chunk keeps; nil if it can't.
func (s *sorting) keepRun(ctx context.Context, chunk device.Chunk, i int) (*spill.Run, error) {
	if i == 0 || i >= s.fanIn() {
		return nil, nil
	}
	kept, err := chunk.Keep(ctx, s.limit(), s.besideMerge(i+1))
	if kept == nil || err != nil {
		return nil, err
	}
	s.noteChunk(chunk.Stats())
	s.keptBytes += kept.Bytes
	run := spill.KeptRun(s.keyer, kept, func() error { s.pool.put(chunk); return nil })
	s.meter.add(atSpill, int(run.Records())*s.size)
	return run, nil
}
