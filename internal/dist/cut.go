package dist

import (
	"context"
	"fmt"
	"io/fs"
	"time"

	"al.essio.dev/pkg/shellescape"

	"github.com/extsort/extsort/internal/human"
	"github.com/extsort/extsort/internal/session"
)

// A cut says where a part begins in each run. At[r] is the index of the part's first record in
// run r. If the cut is a bracket, this index is between At[r] and To[r]. There is also a cut
// after the last part.
type cut struct {
	Schema int     `json:"schema"`
	Plan   string  `json:"plan"`
	Sum    string  `json:"sum"` // as in Record
	At     []int64 `json:"at"`
	To     []int64 `json:"to,omitempty"`
}

// cutsAtOnce is the number of cuts that a task searches for at the same time.
const cutsAtOnce = 64

// CutTasks returns the number of tasks that are useful for finding cuts. A task searches for
// cutsAtOnce cuts in about the time of one.
func CutTasks(p *Plan) int { return (p.Parts-1)/cutsAtOnce + 1 }

// Cut finds where the parts of a share begin in the runs, and where the last of them ends. With
// indexes, it finds brackets; without indexes, it reads single records.
func (w *Worker) Cut(ctx context.Context, s session.Part) error {
	p := w.Plan
	began := time.Now()
	from, to := s.Of(int64(p.Parts))
	if isCut(ctx, p, int(from), int(to)) {
		w.Tell("the cuts are already done")
		return nil
	}
	opt, err := w.mergeOptions(ctx)
	if err != nil {
		return err
	}
	opt.Part = s
	found, err := w.findCuts(ctx, opt)
	for i := range found {
		if err == nil {
			err = writeJSON(ctx, p.recordFile(cuts, int(from)+i), &found[i])
		}
	}
	if err == nil {
		w.Tell(
			fmt.Sprintf(
				"cut %d runs into %d parts in %s",
				p.Runs,
				to-from,
				human.Time(time.Since(began).Seconds()),
			),
		)
	}
	return markRetryable(err)
}

// findCuts finds the cuts of a share of the parts.
func (w *Worker) findCuts(
	ctx context.Context, opt session.MergeOptions,
) (found []cut, err error) {
	p := w.Plan
	if p.IndexEvery > 0 {
		levels, missing := indexes(ctx, p)
		if missing == nil {
			from, to := opt.Part.Of(int64(p.Parts))
			return w.brackets(ctx, levels, int(from), int(to))
		}
		w.Tell(
			fmt.Sprintf(
				"searching the runs, because an index cannot be used: %v",
				missing,
			),
		)
	}
	all, err := session.Cuts(ctx, opt, int64(p.Parts))
	for _, at := range all {
		found = append(found, cut{
			Schema: schema,
			Plan:   p.Fingerprint,
			At:     at,
		})
	}
	return found, err
}

// isCut reports whether all cuts of this plan, between two parts, exist and are undamaged.
func isCut(ctx context.Context, p *Plan, from, to int) bool {
	missing := runConcurrently(ctx, to-from+1, func(_ context.Context, i int) error {
		name := p.recordFile(cuts, from+i)
		c := &cut{}
		err := readJSON(name, c)
		if err == nil && c.Plan != p.Fingerprint {
			err = fs.ErrNotExist
		}
		return err
	})
	return missing == nil
}

// cutsOf returns the cuts before and after part k.
func (p *Plan) cutsOf(k int) (found [2]cut, err error) {
	for i := range found {
		c := &found[i]
		name := p.recordFile(cuts, k+i)
		err := readJSON(name, c)
		if err == nil && c.Plan != p.Fingerprint {
			err = fmt.Errorf("%s: belongs to another plan", name)
		}
		if err != nil {
			return found, fmt.Errorf(
				"%w (run extsort dist cut %s)",
				err,
				shellescape.Quote(p.folder),
			)
		}
	}
	return found, nil
}
