package algo

import "testing"

// TestDataMovement holds the formula to the numbers that Koppelman's document works out.
func TestDataMovement(t *testing.T) {
	k := Tiling{ElementBytes: 4, KeyBits: 32, DigitBits: 4, Items: 4, GroupSize: 256, Groups: 64}
	want := float64((1<<22 + 1<<15 + 1<<16 + 1<<10) * 8)
	if got := k.DataMovement(1 << 20); got != want {
		t.Errorf("2^20 elements: %v, want %v", got, want)
	}
}

// TestDataMovementBestDigit finds the document's best digit widths (6.00 to 7.33 bits for tiles of 128 to 1024) as the
// whole numbers beside them, where k/h is not rounded up.
func TestDataMovementBestDigit(t *testing.T) {
	for tile, want := range map[int]float64{1024: 7.33, 512: 7.01, 256: 6.55, 128: 6.00} {
		best, least := 0, 0.0
		for h := 1; h <= 12; h++ {
			k := Tiling{ElementBytes: 4, KeyBits: h * 1000, DigitBits: h, Items: 1, GroupSize: tile, Groups: 64}
			if cost := k.DataMovement(1<<20) / float64(h); best == 0 || cost < least {
				best, least = h, cost
			}
		}
		if d := float64(best) - want; d < -0.5 || d > 0.5 {
			t.Errorf("tile %d: best digit %d bits, the document has %.2f", tile, best, want)
		}
	}
}

func TestCostModel(t *testing.T) {
	// By hand: T = 4096, s = 4, h = 8: 4 passes of 4 + 4·(1 + 0.5) + 0.75 = 10.75 bytes per element.
	k := Tiling{ElementBytes: 4, KeyBits: 32, DigitBits: 8, Items: 16, GroupSize: 256}
	if got, want := k.CostModel(1<<20), 4*10.75*(1<<20); got != want {
		t.Errorf("cost %v, want %v", got, want)
	}
	if got := k.BestDigitBits(1<<20, 8); got != 8 {
		t.Errorf("tiles of 4096: best digit %d bits, want 8", got)
	}
	k.Items, k.GroupSize = 1, 64
	if got := k.BestDigitBits(1<<20, 8); got >= 8 {
		t.Errorf("tiles of 64: best digit %d bits, want fewer than 8", got)
	}
	if got := k.MovedBytes(64, 4); got <= 4*64*4*4 {
		t.Errorf("moved %v bytes, less than the elements alone", got)
	}
}
