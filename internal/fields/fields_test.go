package fields

import "testing"

func TestShared(t *testing.T) {
	type wide struct {
		A, B    int
		C       []string
		private int
	}
	type narrow struct {
		C          []string
		A, Another int
		private    int
	}
	got := Shared[narrow](wide{1, 2, []string{"x"}, 3})
	if got.A != 1 || got.Another != 0 || len(got.C) != 1 || got.private != 0 {
		t.Errorf("narrow: %+v", got)
	}
	if back := Shared[wide](got); back.A != 1 || back.B != 0 || len(back.C) != 1 {
		t.Errorf("wide: %+v", back)
	}
}
