package sorttest

import (
	"slices"
	"testing"
)

func testCrossing(t *testing.T) *Crossing {
	t.Helper()
	axes := []Axis{
		{"a", []string{"1", "2", "3"}}, {"b", []string{"x", "y"}}, {"c", []string{"p", "q", "r", "s"}}, {"d", []string{"0"}},
	}
	c, err := NewCrossing(axes, []Contradiction{{"a=2,3", "c=q,r"}, {"b=y", "c=s"}, {"b=y", "elsewhere=1"}})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// TestPairwise checks that the combinations contain every pair that can be combined, and no other.
func TestPairwise(t *testing.T) {
	c := testCrossing(t)
	rows := c.Pairwise()
	covered := map[pair]bool{}
	for _, row := range rows {
		for a := range c.Axes {
			for b := a + 1; b < len(c.Axes); b++ {
				x := slices.Index(c.Axes[a].Values, row[c.Axes[a].Name])
				y := slices.Index(c.Axes[b].Values, row[c.Axes[b].Name])
				p := pair{choice{a, x}, choice{b, y}}
				if c.refused[p] {
					t.Errorf("%v contains a contradiction", row)
				}
				covered[p] = true
			}
		}
	}
	if want := len(c.pairs()); len(covered) != want || len(rows) >= len(c.All()) {
		t.Errorf("%d combinations have %d pairs, there are %d", len(rows), len(covered), want)
	}
}

// TestProduct counts all combinations, and the values that take turns.
func TestProduct(t *testing.T) {
	c := testCrossing(t)
	if n := len(c.All()); n != 3*2*4-2*2*2-3 {
		t.Errorf("there are %d combinations", n)
	}
	seen := map[string]bool{}
	rows := c.Product("c")
	for _, row := range rows {
		seen[row["a"]] = true
	}
	if len(rows) != 4 || len(seen) < 2 {
		t.Errorf("the product of one axis has %d combinations: %v", len(rows), rows)
	}
}

// TestContradicting checks that each contradiction has a combination of its own.
func TestContradicting(t *testing.T) {
	c := testCrossing(t)
	if rows := c.Contradicting(); len(rows) != 5 || rows[0]["a"] != "2" || rows[0]["c"] != "q" || rows[0]["b"] != "x" {
		t.Errorf("the contradictions are %v", rows)
	}
	if _, err := NewCrossing(c.Axes, []Contradiction{{"a=4", "b=x"}}); err == nil {
		t.Error("a value that does not exist is accepted")
	}
}
