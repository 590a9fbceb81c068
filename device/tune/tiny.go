package tune

import (
	"context"
	"time"

	"github.com/extsort/extsort/device/bench"
	"github.com/extsort/extsort/device/opencl"
)

// tuneTiny finds the size up to which a selection sort is faster than the fastest other sort. It
// tries sizes in ascending order until no selection sort wins.
func (s *search) tuneTiny(
	ctx context.Context,
	key opencl.KeyKind,
	until time.Time,
) error {
	large, ok := s.fastest(key)
	if !ok {
		return nil
	}
	var found *opencl.TunedSort
	for log2 := tinyFrom; log2 <= tinyTo && time.Now().Before(until); log2++ {
		won, err := s.bestTinyAt(ctx, large, 1<<log2)
		if err != nil {
			return err
		}
		if won == nil {
			break
		}
		found = won
	}
	if found != nil {
		s.found.Tiny = append(s.found.Tiny, *found)
	}
	return nil
}

// fastest returns the case of the fastest sort for a kind of key.
func (s *search) fastest(key opencl.KeyKind) (c bench.Case, ok bool) {
	var rate float64
	for _, t := range s.found.Sorts {
		if t.Key == key && t.Rate > rate {
			c = bench.Case{
				Label:     t.Algorithm,
				Algorithm: t.Algorithm,
				Params:    t.Params,
				Key:       key,
				Dist:      dist,
			}
			rate = t.Rate
			ok = true
		}
	}
	return c, ok
}

// bestTinyAt returns the tiny sort that beats large with n keys, or nil.
func (s *search) bestTinyAt(
	ctx context.Context,
	large bench.Case,
	n int64,
) (*opencl.TunedSort, error) {
	large.Records = n
	toBeat, err := s.timeCandidate(ctx, large, trialRuns, 0)
	if err != nil {
		return nil, err
	}
	var won *opencl.TunedSort
	for _, candidate := range tiny {
		c := bench.Case{Label: candidate.algorithm, Algorithm: candidate.algorithm, Params: candidate.params,
			Key: large.Key, Dist: dist, Records: n}
		rate, err := s.timeCandidate(ctx, c, trialRuns, toBeat)
		if err != nil {
			return nil, err
		}
		if rate > toBeat*leastGain && (won == nil || rate > won.Rate) {
			won = &opencl.TunedSort{Key: c.Key, Algorithm: c.Algorithm, Params: c.Params, Records: n, Rate: rate,
				Default: toBeat}
		}
	}
	return won, nil
}
