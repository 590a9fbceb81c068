package bench

import (
	"math"
	"testing"
)

// TestDataMovement compares the formula with the numbers in Koppelman's document.
func TestDataMovement(t *testing.T) {
	k := tiling{elementBytes: 4, keyBits: 32, digitBits: 4, items: 4, groupSize: 256, groups: 64}
	want := float64((1<<22 + 1<<15 + 1<<16 + 1<<10) * 8)
	if got := k.dataMovement(1 << 20); got != want {
		t.Errorf("2^20 elements: %v, want %v", got, want)
	}
}

// TestDataMovementBestDigit compares the formula's best digit widths with the widths in the
// document: 6.00 to 7.33 bits for tiles of 128 to 1024. If k/h is not rounded up, the best whole
// number must be next to the document's width.
func TestDataMovementBestDigit(t *testing.T) {
	for tile, want := range map[int]float64{1024: 7.33, 512: 7.01, 256: 6.55, 128: 6.00} {
		best, least := 0, 0.0
		for h := 1; h <= 12; h++ {
			k := tiling{elementBytes: 4, keyBits: h * 1000, digitBits: h, items: 1, groupSize: tile, groups: 64}
			if cost := k.dataMovement(1<<20) / float64(h); best == 0 || cost < least {
				best, least = h, cost
			}
		}
		if d := float64(best) - want; d < -0.5 || d > 0.5 {
			t.Errorf("tile %d: best digit %d bits, the document has %.2f", tile, best, want)
		}
	}
}

func TestMovedBytes(t *testing.T) {
	k := tiling{elementBytes: 4, keyBits: 32, digitBits: 8, items: 1, groupSize: 64}
	if got := k.movedBytes(64, 4); got <= 4*64*4*4 {
		t.Errorf("moved %v bytes, less than the elements alone", got)
	}
}

// TestComputation compares the formula with the document's parts for 2^20 elements and its
// example values.
func TestComputation(t *testing.T) {
	k := tiling{elementBytes: 4, keyBits: 32, digitBits: 4, items: 4, groupSize: 256, groups: 64}
	for name, part := range map[string]struct {
		costs costs
		want  float64
	}{
		"sort within block": {costs{sort: 1}, 1 << 20 * 4 * 10},
		"histograms":        {costs{countElement: 1, countBin: 1}, 1<<20 + 1<<10<<4},
		"global histogram":  {costs{histogram: 1}, 64 * (64<<4 + 1<<6)},
		"offsets":           {costs{offset: 1}, 1 << 10 << 6},
		"scatter":           {costs{scatter: 1}, 1 << 20},
	} {
		if got := k.computation(1<<20, part.costs); got != 8*part.want {
			t.Errorf("%s: %v steps, want %v", name, got, 8*part.want)
		}
	}
	wide := k
	wide.digitBits = 8 // "h is irrelevant for computation", as far as the sort within blocks goes
	if a, b := k.computation(1<<20, costs{sort: 1}), wide.computation(1<<20, costs{sort: 1}); a != b {
		t.Errorf("the sort within blocks takes %v steps by 4 bits, %v by 8", a, b)
	}
}

// TestBalancedTile expects 8.0 elements for h = 4. The document has 7.79, because it solves the
// equation with the natural logarithm.
func TestBalancedTile(t *testing.T) {
	k := tiling{digitBits: 4}
	if got := k.balancedTile(costs{sort: 1, offset: 1 / math.Ln2}); math.Abs(got-7.79) > 0.01 {
		t.Errorf("natural logarithm: %.2f elements, want 7.79", got)
	}
	if got := k.balancedTile(unitCosts); math.Abs(got*math.Log2(got)-16) > 1e-3 {
		t.Errorf("%.2f elements do not solve the equation", got)
	}
}
