package engine

import (
	"context"
	"errors"

	"github.com/extsort/extsort/chunker/plan"
	"github.com/extsort/extsort/chunker/sift"
)

// runSift reads a nearly sorted input twice. Between the two passes it sorts the records that are
// out of order in memory.
func runSift(ctx context.Context, r *Run, c *plan.Candidate) (err error) {
	s := &r.Plan.Sizes
	sieve, err := sift.New(sift.Options{
		Keyer:        r.Input.Keyer,
		Workers:      s.Workers,
		BlockRecords: c.BlockRecords,
		Strays:       c.ChunkRecords,
	})
	defer func() { err = errors.Join(err, sieve.Close()) }()

	if err != nil {
		return err
	}
	r.Meter.begin(plan.StageSift, atInput, r.Input.DataBytes())
	if err = sieve.Read(ctx, r.Input.Data.Split(1)[0]); err == nil {
		err = r.sortStrays(ctx, sieve.Early, sieve.Late)
	}
	r.Meter.end(r.Input.Bytes())
	if errors.Is(err, sift.ErrTooMany) {
		return &plan.Impossible{Why: err.Error()}
	}
	if err != nil {
		return err
	}
	r.Meter.begin(plan.StageCopy, atOutput, r.Input.Bytes())
	defer func() { r.Meter.end(r.Input.Bytes()) }()
	return sieve.Write(ctx, r.Input.readAgain(), r.Output)
}

// sortStrays sorts the records that are out of order, each kind separately.
func (r *Run) sortStrays(ctx context.Context, kinds ...*sift.Strays) error {
	for _, strays := range kinds {
		if strays.Records() == 0 {
			continue
		}
		chunk, err := r.pool.load(ctx, strays.Source())
		if err != nil {
			return err
		}
		err = r.sortTo(ctx, chunk, strays, true)
		r.pool.put(chunk)
		if err != nil {
			return err
		}
	}

	return r.pool.closeFree()
}
