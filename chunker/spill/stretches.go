package spill

import "sync"

// Stretches collects disjoint ranges of a file and joins adjacent ones until they reach a minimum
// length. The zero value is empty. It is safe for concurrent use.
type Stretches struct {
	mu     sync.Mutex
	endOf  map[int64]int64 // end by start
	begins map[int64]int64 // start by end
}

// Collect adds the range [from, to). If it completes a range of at least the given length,
// Collect returns that range and forgets it. Otherwise the result is empty.
func (s *Stretches) Collect(from, to, least int64) (start, end int64) {
	s.mu.Lock()
	defer s.mu.Unlock()

	if s.endOf == nil {
		s.endOf = map[int64]int64{}
		s.begins = map[int64]int64{}
	}

	if start, ok := s.begins[from]; ok {
		delete(s.begins, from)
		delete(s.endOf, start)
		from = start
	}

	if end, ok := s.endOf[to]; ok {
		delete(s.endOf, to)
		delete(s.begins, end)
		to = end
	}

	if to-from >= least {
		return from, to
	}
	s.endOf[from] = to
	s.begins[to] = from
	return from, from
}
