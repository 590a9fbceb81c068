package spill

import (
	"math/rand/v2"
	"testing"
)

func TestStretchesJoin(t *testing.T) {
	var s Stretches
	for _, c := range []struct{ from, to, wantFrom, wantTo int64 }{
		{10, 20, 10, 10},
		{30, 40, 30, 30},
		{20, 30, 10, 10}, // closes the gap
		{50, 60, 50, 50},
		{0, 10, 0, 40},
		{40, 50, 40, 40}, // a returned range is forgotten
		{60, 85, 40, 85},
		{100, 200, 100, 200},
	} {
		if from, to := s.Collect(c.from, c.to, 40); from != c.wantFrom || to != c.wantTo {
			t.Errorf("after [%d, %d): [%d, %d), want [%d, %d)", c.from, c.to, from, to, c.wantFrom, c.wantTo)
		}
	}
	if len(s.endOf) != 0 || len(s.begins) != 0 {
		t.Errorf("%d and %d stretches are left", len(s.endOf), len(s.begins))
	}
}

func TestStretchesInAnyOrder(t *testing.T) {
	const blocks = 1000
	var s Stretches
	given := int64(0)
	for _, i := range rand.New(rand.NewPCG(1, 2)).Perm(blocks) {
		from, to := s.Collect(int64(i)*7, int64(i+1)*7, 70)
		if n := to - from; n != 0 && n < 70 {
			t.Errorf("a stretch of %d bytes is given", n)
		}
		given += to - from
	}
	for from, to := range s.endOf {
		given += to - from
	}
	if given != blocks*7 || len(s.endOf) != len(s.begins) {
		t.Errorf("%d of %d bytes are given or left, in %d and %d stretches", given, blocks*7, len(s.endOf), len(s.begins))
	}
}
