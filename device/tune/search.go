package tune

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/bits"
	"slices"
	"time"

	"github.com/extsort/extsort/device"
	"github.com/extsort/extsort/device/bench"
	"github.com/extsort/extsort/device/opencl"
	"github.com/extsort/extsort/device/opencl/algo"
)

// Options describes a search. The zero value is the default.
type Options struct {
	Budget  time.Duration // limit for the whole search; 0: DefaultBudget
	Records int64         // number of keys to sort; 0: chosen for the kind of device
	Keys    []opencl.KeyKind
	OnTrial func(Trial) // called after each trial
}

// DefaultBudget is the default limit for the time of a search.
const DefaultBudget = time.Minute

// A Trial is a candidate that was timed.
type Trial struct {
	bench.Case
	Rate    float64 // keys per second; 0: the device cannot run it
	Default float64 // rate of the default parameters
}

// Bed is the device on which Search times candidates.
type Bed interface {
	bench.Bed

	// LinkRate measures the bytes per second between host and device, in the slower direction.
	LinkRate() (float64, error)
}

const (
	trialRuns   = 3    // runs of each candidate, whose median counts
	confirmRuns = 7    // runs of the winner and of the default, one after the other
	leastGain   = 1.01 // minimum gain of a winner over the default; less is noise
	hopeless    = 0.6  // fraction of the fastest default; no parameters can compensate for that
	dist        = "uniform"
)

// search is a search in progress.
type search struct {
	bed      Bed
	opt      Options
	deadline time.Time
	found    opencl.Tuning
	skipped  string // why the last skipped candidate was skipped
}

// Search measures a device. When its budget is used up, it returns the results so far. It returns
// an error if ctx ends, if the device fails or sorts incorrectly with its default parameters, or
// if it cannot sort this many keys at all.
func Search(ctx context.Context, bed Bed, opt Options) (opencl.Tuning, error) {
	if opt.Budget == 0 {
		opt.Budget = DefaultBudget
	}
	if opt.Records == 0 {
		opt.Records = recordsFor(bed.Info())
	}
	if opt.Keys == nil {
		opt.Keys = opencl.KeyKinds
	}
	s := &search{
		bed:      bed,
		opt:      opt,
		deadline: time.Now().Add(opt.Budget),
	}
	var err error
	if s.found.LinkRate, err = bed.LinkRate(); err != nil {
		return s.found, fmt.Errorf(
			"measure the link of %s: %w", bed.Info().Name, err,
		)
	}
	shares := len(opt.Keys) * (len(tuned) + 1)
	for _, key := range opt.Keys {
		if err := s.tuneKey(ctx, key, &shares); err != nil {
			return s.found, err
		}
	}
	if len(s.found.Sorts) == 0 {
		info := bed.Info()
		return s.found,
			fmt.Errorf("tune device %d (%s): none of its sorts can be timed with %d keys: %s (try another -n)",
				info.Index, info.Name, opt.Records, s.skipped)
	}
	for _, key := range opt.Keys {
		if err := s.tuneTiny(ctx, key, s.nextDeadline(&shares)); err != nil {
			return s.found, err
		}
	}
	return s.found, nil
}

// nextDeadline returns the end of the next share of the remaining time, which is divided by the
// number of remaining parts.
func (s *search) nextDeadline(parts *int) time.Time {
	now := time.Now()
	end := now.Add(s.deadline.Sub(now) / time.Duration(max(*parts, 1)))
	*parts--
	return end
}

// recordsFor returns a number of keys that keeps the device busy, but allows dozens of trials
// within seconds.
func recordsFor(info device.Info) int64 {
	if !info.Automatic { // an OpenCL device on the host's CPU
		return 1 << 16
	}
	const buffers = 64 // bytes of device memory per key, with a margin
	return min(
		1<<26,
		int64(1)<<(bits.Len64(uint64(max(info.MemoryBytes/buffers, 1)))-1),
	)
}

// tuneKey searches the algorithms for one kind of key. It times the default parameters of all
// algorithms, even if time is up. Algorithms that are too slow to catch up leave their time to
// the others.
func (s *search) tuneKey(
	ctx context.Context,
	key opencl.KeyKind,
	shares *int,
) error {
	var descents []*descent
	for _, name := range tuned {
		d, err := s.timeDefaults(ctx, key, name)
		if err != nil {
			return err
		}
		if d.defaultRate == 0 { // not supported by this device
			*shares--
			continue
		}
		descents = append(descents, d)
	}
	slices.SortStableFunc(descents, func(a, b *descent) int {
		return cmp.Compare(b.defaultRate, a.defaultRate)
	})
	for _, d := range descents {
		if d.until = s.nextDeadline(shares); d.defaultRate >= hopeless*descents[0].defaultRate {
			if err := d.improveAll(ctx, axesOf(d.base.Algorithm, s.bed.Info())); err != nil {
				return err
			}
		}
	}
	for _, d := range descents {
		winner, err := d.confirm(ctx)
		if err != nil {
			return err
		}
		s.found.Sorts = append(s.found.Sorts, winner)
		if key == (opencl.KeyKind{WordBytes: 8}) {
			s.found.SortRate = max(s.found.SortRate, 8*winner.Rate)
		}
	}
	return nil
}

// timeDefaults times the default parameters of an algorithm.
func (s *search) timeDefaults(
	ctx context.Context,
	key opencl.KeyKind,
	name string,
) (*descent, error) {
	c := bench.Case{
		Label:     name,
		Algorithm: name,
		Key:       key,
		Dist:      dist,
		Records:   s.opt.Records,
	}
	d := &descent{search: s, base: c}
	if !slices.Contains(s.bed.Info().Algorithms, name) {
		return d, nil
	}
	var err error
	d.defaultRate, err = s.timeCandidate(ctx, c, trialRuns, 0)
	d.bestRate = d.defaultRate
	return d, err
}

// timeCandidate times a candidate. If the device cannot run the candidate, the rate is 0. It is an
// error if the default parameters fail.
func (s *search) timeCandidate(
	ctx context.Context,
	c bench.Case,
	runs int,
	defaultRate float64,
) (float64, error) {
	results, err := bench.Run(
		ctx,
		s.bed,
		[]bench.Case{c},
		bench.Options{Runs: runs},
	)
	if err != nil {
		return 0, err
	}
	r := results[0]
	if r.Error != "" && c.Params == (algo.Params{}) {
		return 0, fmt.Errorf(
			"tune %s, %s: %w", c.Algorithm, c.Key, errors.New(r.Error),
		)
	}
	if r.Skipped != "" {
		s.skipped = r.Skipped
	}
	if s.opt.OnTrial != nil {
		s.opt.OnTrial(Trial{
			Case:    c,
			Rate:    r.Rate,
			Default: defaultRate,
		})
	}
	return r.Rate, nil
}

// A descent is a coordinate descent: it finds the best value of one parameter after the other
// while the others are fixed.
type descent struct {
	search      *search
	base        bench.Case
	until       time.Time
	defaultRate float64
	best        algo.Params
	bestRate    float64
	tried       []algo.Params
}

// improveAll goes through the axes until a round improves nothing or time is up.
func (d *descent) improveAll(ctx context.Context, axes []axis) error {
	d.tried = []algo.Params{{}}
	for improved := true; improved; {
		improved = false
		for _, a := range axes {
			better, err := d.improveAxis(ctx, a)
			if err != nil {
				return err
			}
			improved = improved || better
		}
	}
	return nil
}

func (d *descent) improveAxis(
	ctx context.Context, a axis,
) (improved bool, err error) {
	from := d.best
	for _, value := range a.values {
		p := a.apply(from, value)
		if time.Now().After(d.until) {
			return improved, nil
		}
		if slices.Contains(d.tried, p) {
			continue
		}
		d.tried = append(d.tried, p)
		rate, err := d.search.timeCandidate(ctx, d.caseWith(p), trialRuns, d.defaultRate)
		if err != nil {
			return improved, err
		}
		if rate > d.bestRate {
			d.best = p
			d.bestRate = rate
			improved = true
		}
	}
	return improved, nil
}

func (d *descent) caseWith(p algo.Params) bench.Case {
	c := d.base
	c.Params = p
	return c
}

// confirm times the default and the winner again, one right after the other, so that a lucky
// measurement cannot win.
func (d *descent) confirm(ctx context.Context) (opencl.TunedSort, error) {
	again, err := d.search.timeCandidate(ctx, d.base, confirmRuns, 0)
	if err != nil {
		return opencl.TunedSort{}, err
	}
	kept := opencl.TunedSort{Key: d.base.Key, Algorithm: d.base.Algorithm, Records: d.base.Records, Rate: again,
		Default: again}
	if d.best == (algo.Params{}) {
		return kept, nil
	}
	rate, err := d.search.timeCandidate(ctx, d.caseWith(d.best), confirmRuns, again)
	if rate > leastGain*again {
		kept.Rate = rate
		kept.Params = d.best
	}
	return kept, err
}
