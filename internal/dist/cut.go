package dist

import (
	"context"
	"fmt"
	"os"
	"sync/atomic"
	"time"

	"github.com/extsort/extsort/device"
	"github.com/extsort/extsort/merge"
)

// cuts says where each part begins in each run: At[k][r] is the index in run r of the first record of part k, and the
// last row has the numbers of records.
type cuts struct {
	Schema int       `json:"schema"`
	Plan   string    `json:"plan"`
	At     [][]int64 `json:"at"`
}

// Cut finds where the runs are cut. It reads single records.
func (w *Worker) Cut(ctx context.Context) error {
	p, began := w.Plan, time.Now()
	if _, err := p.readCuts(); err == nil {
		w.Tell("the cuts are there")
		return nil
	}
	records, err := p.done(ctx, runs, p.Runs)
	if err != nil {
		return err
	}
	sorted, err := p.openRuns(records)
	if err != nil {
		return classed(err)
	}
	defer closeRuns(sorted)
	c := &cuts{Schema: schema, Plan: p.Fingerprint}
	reads, err := c.find(ctx, p, sorted)
	if err != nil {
		return classed(err)
	}
	if err := writeJSON(ctx, p.path(cutsName), c); err != nil {
		return classed(err)
	}
	w.Tell(fmt.Sprintf("cut %d runs into %d parts by %d records in %.2f s", p.Runs, p.Parts, reads,
		time.Since(began).Seconds()))
	return nil
}

// find finds all cuts, and tells how many records that took.
func (c *cuts) find(ctx context.Context, p *Plan, sorted []*sortedRun) (reads int64, err error) {
	var read atomic.Int64
	inputs := make([]merge.Sorted, len(sorted))
	for i, run := range sorted {
		inputs[i] = merge.Sorted{Records: run.records, ReadRecords: func(b []byte, first int64) error {
			read.Add(1)
			return run.readRecords(b, first, p.RecordBytes)
		}}
	}
	ranks := []int64{0}
	for k := range p.Parts {
		_, end := partOf(k, p.Parts).Of(p.Records)
		ranks = append(ranks, end)
	}
	c.At, err = merge.Cuts(ctx, p.keyer, inputs, ranks, false)
	return read.Load(), err
}

func (p *Plan) readCuts() (*cuts, error) {
	c := &cuts{}
	if err := readJSON(p.path(cutsName), c); err != nil {
		return nil, fmt.Errorf("%w (extsort dist cut %s makes it)", err, p.folder)
	}
	if c.Plan != p.Fingerprint {
		return nil, fmt.Errorf("%s: is of another plan (extsort dist cut %s makes it anew)", p.path(cutsName), p.folder)
	}
	return c, nil
}

// sortedRun is the file of a run.
type sortedRun struct {
	file    *os.File
	records int64
}

// readRecords fills b with records from index first on.
func (r *sortedRun) readRecords(b []byte, first int64, size int) error {
	if _, err := r.file.ReadAt(b, first*int64(size)); err != nil {
		return fmt.Errorf("read %s at byte %d: %w", r.file.Name(), first*int64(size), device.WithoutPath(err))
	}
	return nil
}

func (p *Plan) openRuns(records []*Record) ([]*sortedRun, error) {
	var all []*sortedRun
	for _, r := range records {
		file, err := os.Open(r.File)
		if err != nil {
			closeRuns(all)
			return nil, fmt.Errorf("%s: %w", r.File, device.WithoutPath(err))
		}
		all = append(all, &sortedRun{file, r.Records})
	}
	return all, nil
}

func closeRuns(runs []*sortedRun) {
	for _, r := range runs {
		r.file.Close() // which was only read
	}
}
