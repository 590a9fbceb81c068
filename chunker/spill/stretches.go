package spill

import "sync"

// Stretches collects stretches of a file that do not overlap, and joins those that touch, until they are long enough to
// do something with. Its zero value has none. It is safe for concurrent use.
type Stretches struct {
	mu     sync.Mutex
	endOf  map[int64]int64 // by start
	begins map[int64]int64 // by end
}

// Collect adds the bytes from up to to. When the stretch that they are part of then has least bytes or more, it gives
// that stretch and forgets it; else the result is empty.
func (s *Stretches) Collect(from, to, least int64) (start, end int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.endOf == nil {
		s.endOf, s.begins = map[int64]int64{}, map[int64]int64{}
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
	s.endOf[from], s.begins[to] = to, from
	return from, from
}
