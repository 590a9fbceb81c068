package chunker

import (
	"math/rand/v2"
	"testing"
)

func TestStretchesJoin(t *testing.T) {
	s := newStretches()
	for _, c := range []struct{ from, to, wantFrom, wantTo int64 }{
		{10, 20, 10, 20},
		{30, 40, 30, 40},
		{20, 30, 10, 40}, // closes the gap
		{0, 10, 0, 40},
		{50, 60, 50, 60},
		{40, 45, 0, 45},
	} {
		if from, to := s.add(c.from, c.to); from != c.wantFrom || to != c.wantTo {
			t.Errorf("[%d, %d) becomes part of [%d, %d), want [%d, %d)", c.from, c.to, from, to, c.wantFrom, c.wantTo)
		}
	}
	s.drop(0, 45)
	if from, to := s.add(45, 50); from != 45 || to != 60 {
		t.Errorf("after a drop: [%d, %d), want [45, 60)", from, to)
	}
	s.drop(0, 60) // not a stretch: nothing happens
	if len(s.endOf) != 1 || len(s.begins) != 1 {
		t.Errorf("%d stretches are left, want 1", len(s.endOf))
	}
}

func TestStretchesInAnyOrder(t *testing.T) {
	const blocks = 1000
	s := newStretches()
	for _, i := range rand.New(rand.NewPCG(1, 2)).Perm(blocks) {
		s.add(int64(i)*7, int64(i+1)*7)
	}
	if len(s.endOf) != 1 || s.endOf[0] != blocks*7 {
		t.Errorf("%v, want one stretch from 0 to %d", s.endOf, blocks*7)
	}
}
