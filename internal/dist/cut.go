package dist

import (
	"context"
	"fmt"
	"time"

	"github.com/extsort/extsort"
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
	opt, err := w.ofRuns(ctx)
	if err != nil {
		return err
	}
	c := &cuts{Schema: schema, Plan: p.Fingerprint}
	if c.At, err = extsort.Cuts(ctx, opt, int64(p.Parts)); err == nil {
		err = writeJSON(ctx, p.path(cutsName), c)
	}
	if err == nil {
		w.Tell(fmt.Sprintf("cut %d runs into %d parts in %.2f s", p.Runs, p.Parts, time.Since(began).Seconds()))
	}
	return classed(err)
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
