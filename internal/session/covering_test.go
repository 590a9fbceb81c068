package session

import (
	"slices"
	"strings"
	"testing"
)

// axis is an option with its values, of which the first goes with all values of the others.
type axis struct {
	name   string
	values []string
}

// contradiction is values of two options that do not go together, each as "option=value|value".
type contradiction struct{ a, b string }

// setting is one value of one axis, by their numbers.
type setting struct{ axis, value int }

// pair is two settings, that of the first axis first.
type pair struct{ a, b setting }

// crossing makes rows of values, one of each axis, in which every pair of values occurs that goes together.
type crossing struct {
	axes    []axis
	refused map[pair]bool
}

func newCrossing(t *testing.T, axes []axis, contradictions []contradiction) *crossing {
	t.Helper()
	c := &crossing{axes: axes, refused: map[pair]bool{}}
	for _, rule := range contradictions {
		for _, a := range c.settings(t, rule.a) {
			for _, b := range c.settings(t, rule.b) {
				c.refused[ordered(a, b)] = true
			}
		}
	}
	return c
}

// settings are those that a side of a contradiction names.
func (c *crossing) settings(t *testing.T, side string) (all []setting) {
	t.Helper()
	name, values, _ := strings.Cut(side, "=")
	at := slices.IndexFunc(c.axes, func(a axis) bool { return a.name == name })
	for value := range strings.SplitSeq(values, "|") {
		s := setting{at, slices.Index(c.axes[at].values, value)}
		if s.value <= 0 {
			t.Fatalf("%s: there is no value %q, or it goes with everything", name, value)
		}
		all = append(all, s)
	}
	return all
}

func ordered(a, b setting) pair {
	if a.axis > b.axis {
		a, b = b, a
	}
	return pair{a, b}
}

// pairs are all pairs of values that go together, in a fixed order.
func (c *crossing) pairs() (all []pair) {
	for a := range c.axes {
		for b := a + 1; b < len(c.axes); b++ {
			for i := range c.axes[a].values {
				for j := range c.axes[b].values {
					if p := (pair{setting{a, i}, setting{b, j}}); !c.refused[p] {
						all = append(all, p)
					}
				}
			}
		}
	}
	return all
}

// cover makes rows greedily: each begins with the first pair that no row has, and takes of every other axis the value
// that makes the most new pairs.
func (c *crossing) cover() (rows []map[string]string) {
	all := c.pairs()
	missing := map[pair]bool{}
	for _, p := range all {
		missing[p] = true
	}
	for _, p := range all {
		if !missing[p] {
			continue
		}
		row := c.rowOf(p)
		for at := range c.axes {
			if row[at] < 0 {
				row[at] = c.best(row, at, missing)
			}
		}
		for a := range row {
			for b := a + 1; b < len(row); b++ {
				delete(missing, pair{setting{a, row[a]}, setting{b, row[b]}})
			}
		}
		rows = append(rows, c.named(row))
	}
	return rows
}

// rowOf is a row with two values; -1 stands for the others.
func (c *crossing) rowOf(p pair) []int {
	row := slices.Repeat([]int{-1}, len(c.axes))
	row[p.a.axis], row[p.b.axis] = p.a.value, p.b.value
	return row
}

// best is the value of an axis that goes with those of a row and makes the most new pairs.
func (c *crossing) best(row []int, at int, missing map[pair]bool) (best int) {
	most := -1
	for value := range c.axes[at].values {
		if !c.agrees(row, setting{at, value}) {
			continue
		}
		news := 0
		for other, chosen := range row {
			if chosen >= 0 && missing[ordered(setting{at, value}, setting{other, chosen})] {
				news++
			}
		}
		if news > most {
			best, most = value, news
		}
	}
	return best
}

// product makes rows of all combinations of some axes that go together. The values of the other axes take turns.
func (c *crossing) product(names ...string) (rows []map[string]string) {
	var combine func(row []int, names []string)
	combine = func(row []int, names []string) {
		if len(names) == 0 {
			row = slices.Clone(row)
			for at := range row {
				if row[at] < 0 {
					row[at] = c.turn(row, at, len(rows))
				}
			}
			rows = append(rows, c.named(row))
			return
		}
		at := slices.IndexFunc(c.axes, func(a axis) bool { return a.name == names[0] })
		for value := range c.axes[at].values {
			if c.agrees(row, setting{at, value}) {
				row[at] = value
				combine(row, names[1:])
				row[at] = -1
			}
		}
	}
	combine(slices.Repeat([]int{-1}, len(c.axes)), names)
	return rows
}

// turn is a value of an axis that goes with those of a row: another one for each number, if there are several.
func (c *crossing) turn(row []int, at, number int) int {
	n := len(c.axes[at].values)
	for i := range n {
		if value := (number + number/(n+at) + i) % n; c.agrees(row, setting{at, value}) {
			return value
		}
	}
	return 0
}

// agrees reports whether a setting goes with those of a row.
func (c *crossing) agrees(row []int, s setting) bool {
	for other, chosen := range row {
		if chosen >= 0 && c.refused[ordered(s, setting{other, chosen})] {
			return false
		}
	}
	return true
}

func (c *crossing) named(row []int) map[string]string {
	named := map[string]string{}
	for at, value := range row {
		named[c.axes[at].name] = c.axes[at].values[max(value, 0)]
	}
	return named
}

// contradicting makes a row of each pair that does not go together; its other values are the first of their axes.
func (c *crossing) contradicting() (rows []map[string]string) {
	for p := range c.refused {
		rows = append(rows, c.named(c.rowOf(p)))
	}
	return rows
}

// TestCrossing counts the pairs of values that the rows cover: all that can be combined, and no others.
func TestCrossing(t *testing.T) {
	c := newCrossing(t, axes, contradictions)
	covered := map[[4]string]bool{}
	rows := c.cover()
	for _, row := range rows {
		for a := range c.axes {
			for b := a + 1; b < len(c.axes); b++ {
				x, y := c.axes[a], c.axes[b]
				covered[[4]string{x.name, row[x.name], y.name, row[y.name]}] = true
				i, j := slices.Index(x.values, row[x.name]), slices.Index(y.values, row[y.name])
				if c.refused[pair{setting{a, i}, setting{b, j}}] {
					t.Errorf("%v has a contradiction", row)
				}
			}
		}
	}
	if due := len(c.pairs()); len(covered) != due {
		t.Errorf("%d rows have %d pairs of %d", len(rows), len(covered), due)
	}
}
