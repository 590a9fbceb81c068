package chunker

import "sync"

// stretches collects stretches of a file that do not overlap, and joins those that touch. Its methods are safe
// for concurrent use.
type stretches struct {
	mu     *sync.Mutex
	endOf  map[int64]int64 // by start
	begins map[int64]int64 // by end
}

func newStretches() stretches {
	return stretches{mu: new(sync.Mutex), endOf: map[int64]int64{}, begins: map[int64]int64{}}
}

// add adds the bytes from up to to, and returns the stretch that they are part of now.
func (s *stretches) add(from, to int64) (int64, int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if start, ok := s.begins[from]; ok {
		delete(s.begins, from)
		from = start
	}
	if end, ok := s.endOf[to]; ok {
		delete(s.endOf, to)
		to = end
	}
	s.endOf[from], s.begins[to] = to, from
	return from, to
}

// drop forgets the stretch that begins at from and ends at to, if it is still just that.
func (s *stretches) drop(from, to int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.endOf[from] == to {
		delete(s.endOf, from)
		delete(s.begins, to)
	}
}
