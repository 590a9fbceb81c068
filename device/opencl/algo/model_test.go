package algo

import (
	"math"
	"testing"
)

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
	if got := k.BestDigitBits(1<<20, upTo(8)); got != 8 {
		t.Errorf("tiles of 4096: best digit %d bits, want 8", got)
	}
	k.Items, k.GroupSize = 1, 64
	if got := k.BestDigitBits(1<<20, upTo(8)); got >= 8 {
		t.Errorf("tiles of 64: best digit %d bits, want fewer than 8", got)
	}
	if got := k.MovedBytes(64, 4); got <= 4*64*4*4 {
		t.Errorf("moved %v bytes, less than the elements alone", got)
	}
}

// TestComputation holds the formula to the parts that the document works out for 2^20 elements with its example values.
func TestComputation(t *testing.T) {
	k := Tiling{ElementBytes: 4, KeyBits: 32, DigitBits: 4, Items: 4, GroupSize: 256, Groups: 64}
	for name, part := range map[string]struct {
		costs Costs
		want  float64
	}{
		"sort within block": {Costs{Sort: 1}, 1 << 20 * 4 * 10},
		"histograms":        {Costs{CountElement: 1, CountBin: 1}, 1<<20 + 1<<10<<4},
		"global histogram":  {Costs{Histogram: 1}, 64 * (64<<4 + 1<<6)},
		"offsets":           {Costs{Offset: 1}, 1 << 10 << 6},
		"scatter":           {Costs{Scatter: 1}, 1 << 20},
	} {
		if got := k.Computation(1<<20, part.costs); got != 8*part.want {
			t.Errorf("%s: %v steps, want %v", name, got, 8*part.want)
		}
	}
	wide := k
	wide.DigitBits = 8 // "h is irrelevant for computation", as far as the sort within blocks goes
	if a, b := k.Computation(1<<20, Costs{Sort: 1}), wide.Computation(1<<20, Costs{Sort: 1}); a != b {
		t.Errorf("the sort within blocks takes %v steps by 4 bits, %v by 8", a, b)
	}
}

// TestBalancedTile: the document has 7.79 elements for h = 4, which solves its equation with the natural logarithm.
func TestBalancedTile(t *testing.T) {
	k := Tiling{DigitBits: 4}
	if got := k.BalancedTile(Costs{Sort: 1, Offset: 1 / math.Ln2}); math.Abs(got-7.79) > 0.01 {
		t.Errorf("natural logarithm: %.2f elements, want 7.79", got)
	}
	if got := k.BalancedTile(UnitCosts); math.Abs(got*math.Log2(got)-16) > 1e-3 {
		t.Errorf("%.2f elements do not solve the equation", got)
	}
}
