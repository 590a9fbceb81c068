package algo

import "testing"

func TestCostModel(t *testing.T) {
	// By hand: T = 4096, s = 4, h = 8: 4 passes of 4 + 4·(1 + 0.5) + 0.75 = 10.75 bytes per
	// element.
	k := tiling{elementBytes: 4, keyBits: 32, tile: 4096}
	if got, want := k.cost(8), 4*10.75; got != want {
		t.Errorf("cost %v, want %v", got, want)
	}
	if got := k.bestDigitBits(upTo(8)); got != 8 {
		t.Errorf("tiles of 4096: best digit %d bits, want 8", got)
	}
	k.tile = 64
	if got := k.bestDigitBits(upTo(8)); got >= 8 {
		t.Errorf("tiles of 64: best digit %d bits, want fewer than 8", got)
	}
}
