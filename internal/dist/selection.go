package dist

import (
	"bytes"
	"cmp"
	"context"
)

// selection finds the first records of a merge: how many of each run they are. It looks at runs in groups of records,
// each known by its last one, and takes the groups that come first; then at groups of half that size, of which nearly
// all are taken already. With groups of one record that is exact. Halving the groups reads about one record of each
// run: R·log n reads in all. (Varman et al., "Merging multiple lists on hierarchical-memory multiprocessors", 1991.)
type selection struct {
	runs  []*sortedRun
	read  func(run int, index int64) ([]byte, error) // gives the normalized key of a record
	known map[place][]byte                           // what it gave

	step  int64
	taken []int64  // groups of each run
	last  [][]byte // key of the last record taken of each run; nil: none is
	next  [][]byte // that of the last record of the next group; nil: there is none
}

// place is that of a record.
type place struct {
	run   int
	index int64
}

// cut is how many records of each run are among the first rank of the merge.
func (s *selection) cut(ctx context.Context, rank int64) ([]int64, error) {
	longest := int64(1)
	for _, r := range s.runs {
		longest = max(longest, r.records)
	}
	for s.step = 1; s.step <= longest/2; s.step *= 2 {
	}
	n := len(s.runs)
	s.known, s.taken, s.last, s.next = map[place][]byte{}, make([]int64, n), make([][]byte, n), make([][]byte, n)
	for ; s.step > 0 && ctx.Err() == nil; s.step /= 2 {
		if err := s.refine(rank / s.step); err != nil {
			return nil, err
		}
	}
	return s.taken, context.Cause(ctx)
}

// refine halves the groups and takes the first of them, as many as are wanted or there are.
func (s *selection) refine(wanted int64) error {
	sum, all := int64(0), int64(0)
	for i, r := range s.runs {
		all += r.records / s.step
		sum += 2 * s.taken[i]
		if err := s.take(i, 2*s.taken[i]); err != nil {
			return err
		}
	}
	wanted = min(wanted, all)
	for {
		first, last := s.extremes()
		give, take := sum < wanted, sum > wanted
		if !give && !take {
			give = first >= 0 && last >= 0 && compare(s.next[first], first, s.last[last], last) < 0
			take = give
		}
		if !give && !take {
			return nil
		}
		if give {
			sum++
			if err := s.take(first, s.taken[first]+1); err != nil {
				return err
			}
		}
		if take {
			sum--
			if err := s.take(last, s.taken[last]-1); err != nil {
				return err
			}
		}
	}
}

// extremes are the run whose next group comes first of all, and the run whose last group comes last; -1: none has one.
func (s *selection) extremes() (first, last int) {
	first, last = -1, -1
	for i := range s.runs {
		if s.next[i] != nil && (first < 0 || compare(s.next[i], i, s.next[first], first) < 0) {
			first = i
		}
		if s.last[i] != nil && (last < 0 || compare(s.last[i], i, s.last[last], last) > 0) {
			last = i
		}
	}
	return first, last
}

// compare orders records of different runs; of one run, equal ones are equal, since the next group follows the last.
func compare(a []byte, runOfA int, b []byte, runOfB int) int {
	return cmp.Or(bytes.Compare(a, b), cmp.Compare(runOfA, runOfB))
}

// take takes n groups of a run.
func (s *selection) take(run int, n int64) (err error) {
	s.taken[run] = n
	if s.last[run], err = s.end(run, n); err == nil {
		s.next[run], err = s.end(run, n+1)
	}
	return err
}

// end is the key of the last record of the n-th group of a run, from 1; nil: there is none.
func (s *selection) end(run int, n int64) ([]byte, error) {
	at := place{run, n*s.step - 1}
	if n == 0 || at.index >= s.runs[run].records {
		return nil, nil
	}
	if key, ok := s.known[at]; ok {
		return key, nil
	}
	key, err := s.read(run, at.index)
	s.known[at] = key
	return key, err
}
