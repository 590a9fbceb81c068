package engine

import (
	"context"
	"errors"

	"github.com/extsort/extsort/chunker/plan"
	"github.com/extsort/extsort/device"
	"github.com/extsort/extsort/internal/safely"
	"github.com/extsort/extsort/merge"
)

// runSpread sorts data on all devices at once, if it fits into their combined memory. Each device
// gets a share of the data by position. The sorted shares are merged as they leave the devices;
// nothing is spilled.
func runSpread(ctx context.Context, r *Run, c *plan.Candidate) (err error) {
	var chunks []device.Chunk
	defer func() {
		for _, chunk := range chunks {
			err = errors.Join(err, chunk.Close())
		}
	}()

	r.Meter.begin(plan.StageRead, atInput, r.Input.DataBytes())
	chunks, err = r.loadShares(ctx, c.Shares)
	r.Meter.end(r.Input.Bytes())
	if err != nil {
		return err
	}
	r.Meter.begin(plan.StageWrite, atOutput, r.Input.Bytes())
	defer func() { r.Meter.end(r.Input.Bytes()) }()
	return r.mergeShares(ctx, chunks)
}

// loadShares creates a chunk on each device and loads all of them concurrently. The caller must
// close the returned chunks even after an error. The sample is in the order of the data, so each
// device gets the part for its share.
func (r *Run) loadShares(
	ctx context.Context, shares []plan.Share,
) (chunks []device.Chunk, err error) {
	sample := r.Facts.Sample.Prefixes
	total := float64(r.Facts.Records)
	at := int64(0)
	place := func(record int64) int { return int(float64(record) / total * float64(len(sample))) }
	group, groupCtx := safely.WithContext(ctx)

	for _, share := range shares {
		end := at + share.Records
		chunk, err := r.Devices[share.Device].NewChunk(ctx, device.ChunkOptions{
			Keyer:       r.Input.Keyer,
			Algorithm:   r.Facts.Request.Algorithm,
			Sample:      sample[place(at):place(end)],
			Records:     share.Records,
			MemoryBytes: share.MemoryBytes,
			BlockBytes:  share.BlockBytes,
			Workers:     share.Workers,
		})
		if err != nil {
			group.Go(func() error { return err })
			break
		}

		chunks = append(chunks, chunk)
		at = end
		src, err := r.Input.Data.Cut(share.Records)
		group.Go(func() error {
			if err != nil {
				return err
			}
			_, err := chunk.Load(groupCtx, src)
			return err
		})
	}

	return chunks, group.Wait()
}

// mergeShares sorts all chunks concurrently and merges their contents.
func (r *Run) mergeShares(ctx context.Context, chunks []device.Chunk) error {
	var inputs []merge.Stored
	for _, c := range chunks {
		inputs = append(inputs, func(ctx context.Context, w device.BlockWriter) error {
			return r.sortTo(ctx, c, w, false)
		})
	}

	opt := r.mergeOptions()
	opt.MemoryBytes = r.Plan.Sizes.Budget.Chunks() / 2
	r.Result.FanIn = len(inputs)
	r.Result.MergeLevels = 1
	return merge.Stores(ctx, opt, inputs, r.Output)
}
