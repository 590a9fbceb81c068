package engine

import (
	"context"
	"errors"

	"golang.org/x/sync/errgroup"

	"github.com/extsort/extsort/chunker/plan"
	"github.com/extsort/extsort/device"
	"github.com/extsort/extsort/merge"
)

// runSpread lets all devices sort at once what fits their memories together: each a share of the data by position. The
// sorted shares are merged on their way out of the devices; nothing is spilled.
func runSpread(ctx context.Context, r *Run, c *plan.Candidate) (err error) {
	s := &spreading{r: r, shares: c.Shares}
	defer func() {
		for _, chunk := range s.chunks {
			err = errors.Join(err, chunk.Close())
		}
	}()
	if err := s.makeChunks(ctx); err != nil {
		return err
	}
	r.Meter.begin(plan.StageRead, atInput, r.Input.DataBytes())
	err = s.load(ctx)
	r.Meter.end(r.Input.Bytes())
	if err != nil {
		return err
	}
	r.Meter.begin(plan.StageWrite, atOutput, r.Input.Bytes())
	defer func() { r.Meter.end(r.Input.Bytes()) }()
	return s.merge(ctx)
}

type spreading struct {
	r      *Run
	shares []plan.Share
	chunks []device.Chunk
}

// makeChunks makes one chunk on each device. The sample has the order of the data, so that each gets its own part.
func (s *spreading) makeChunks(ctx context.Context) error {
	sample, total, at := s.r.Facts.Sample.Prefixes, float64(s.r.Facts.Records), int64(0)
	place := func(record int64) int { return int(float64(record) / total * float64(len(sample))) }
	for _, share := range s.shares {
		end := at + share.Records
		chunk, err := s.r.Devices[share.Device].NewChunk(ctx, device.ChunkOptions{
			Keyer: s.r.Input.Keyer, Algorithm: s.r.Facts.Asked.Algorithm, Sample: sample[place(at):place(end)],
			Records: share.Records, MemoryBytes: share.MemoryBytes, BlockBytes: share.BlockBytes, Workers: share.Workers,
		})
		if err != nil {
			return err
		}
		s.chunks, at = append(s.chunks, chunk), end
	}
	return nil
}

// load loads all chunks at once.
func (s *spreading) load(ctx context.Context) error {
	var sources []device.Source
	for _, share := range s.shares {
		src, err := s.r.Input.Data.Cut(share.Records)
		if err != nil {
			return err
		}
		sources = append(sources, src)
	}
	group, ctx := errgroup.WithContext(ctx)
	for i, c := range s.chunks {
		group.Go(func() error {
			_, err := c.Load(ctx, sources[i])
			return err
		})
	}
	return group.Wait()
}

// merge sorts all chunks at once and merges what they store.
func (s *spreading) merge(ctx context.Context) error {
	var inputs []merge.Stored
	for _, c := range s.chunks {
		inputs = append(inputs, func(ctx context.Context, w device.BlockWriter) error {
			if err := c.Sort(ctx); err != nil {
				return err
			}
			return s.r.store(ctx, c, w, false)
		})
	}
	opt := s.r.mergeOptions()
	opt.MemoryBytes = s.r.Plan.Sizes.Budget.Chunks() / 2
	s.r.Result.FanIn, s.r.Result.MergeLevels = len(inputs), 1
	return merge.Stores(ctx, opt, inputs, s.r.Output)
}
