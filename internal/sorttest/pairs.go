package sorttest

import (
	"fmt"
	"slices"
	"strings"
)

// An Axis is a setting with its values. The first value must be compatible with all values of the
// other axes.
type Axis struct {
	Name   string
	Values []string
}

// A Contradiction names values of two axes that can't be combined, each as "axis=value,value".
type Contradiction struct{ A, B string }

// choice is one value of one axis. Both fields are indexes.
type choice struct{ axis, value int }

// pair is two choices. The axis of a is before the axis of b.
type pair struct{ a, b choice }

// Crossing combines the values of several axes.
type Crossing struct {
	Axes    []Axis
	refused map[pair]bool
}

// NewCrossing returns the crossing of axes without the combinations that contain a contradiction.
// Contradictions of missing axes have no effect.
func NewCrossing(axes []Axis, contradictions []Contradiction) (*Crossing, error) {
	c := &Crossing{Axes: axes, refused: map[pair]bool{}}
	for _, rule := range contradictions {
		first, err := c.choices(rule.A)
		if err != nil {
			return nil, err
		}
		second, err := c.choices(rule.B)
		if err != nil {
			return nil, err
		}
		for _, a := range first {
			for _, b := range second {
				c.refused[ordered(a, b)] = true
			}
		}
	}
	return c, nil
}

// choices returns the choices that "axis=value,value" names.
func (c *Crossing) choices(text string) (all []choice, err error) {
	name, values, _ := strings.Cut(text, "=")
	at := slices.IndexFunc(c.Axes, func(a Axis) bool { return a.Name == name })
	if at < 0 {
		return nil, nil
	}
	for value := range strings.SplitSeq(values, ",") {
		i := slices.Index(c.Axes[at].Values, value)
		if i < 0 {
			return nil, fmt.Errorf("%s has no value %q", name, value)
		}
		all = append(all, choice{at, i})
	}
	return all, nil
}

func ordered(a, b choice) pair {
	if a.axis > b.axis {
		a, b = b, a
	}
	return pair{a, b}
}

// pairs returns all pairs of values that can be combined.
func (c *Crossing) pairs() (all []pair) {
	for a := range c.Axes {
		for b := a + 1; b < len(c.Axes); b++ {
			all = append(all, c.pairsOf(a, b)...)
		}
	}
	return all
}

func (c *Crossing) pairsOf(a, b int) (all []pair) {
	for i := range c.Axes[a].Values {
		for j := range c.Axes[b].Values {
			p := pair{choice{a, i}, choice{b, j}}
			if !c.refused[p] {
				all = append(all, p)
			}
		}
	}
	return all
}

// Pairwise returns a small number of combinations that contain every pair of values that can be
// combined. It works greedily: each combination starts with the first pair that is still missing.
// On every other axis, it takes the value that adds the most new pairs.
func (c *Crossing) Pairwise() (rows []map[string]string) {
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
		for at := range c.Axes {
			if row[at] < 0 {
				row[at] = c.best(row, at, missing)
			}
		}
		for a := range row {
			for b := a + 1; b < len(row); b++ {
				delete(missing, pair{choice{a, row[a]}, choice{b, row[b]}})
			}
		}
		rows = append(rows, c.named(row))
	}
	return rows
}

// rowOf returns a row with two values; -1 marks the others.
func (c *Crossing) rowOf(p pair) []int {
	row := slices.Repeat([]int{-1}, len(c.Axes))
	row[p.a.axis] = p.a.value
	row[p.b.axis] = p.b.value
	return row
}

// best returns the value of an axis that adds the most new pairs to a row, among all values that
// agree with the row.
func (c *Crossing) best(row []int, at int, missing map[pair]bool) (best int) {
	most := -1
	for value := range c.Axes[at].Values {
		if !c.agrees(row, choice{at, value}) {
			continue
		}
		added := 0
		for other, chosen := range row {
			if chosen >= 0 && missing[ordered(choice{at, value}, choice{other, chosen})] {
				added++
			}
		}
		if added > most {
			best = value
			most = added
		}
	}
	return best
}

// Product returns all combinations of the values of some axes. The values of the other axes take
// turns.
func (c *Crossing) Product(names ...string) (rows []map[string]string) {
	var combine func(row []int, names []string)
	combine = func(row []int, names []string) {
		if len(names) == 0 {
			rows = append(rows, c.filled(row, len(rows)))
			return
		}
		at := slices.IndexFunc(c.Axes, func(a Axis) bool { return a.Name == names[0] })
		for value := range c.Axes[at].Values {
			if !c.agrees(row, choice{at, value}) {
				continue
			}
			row[at] = value
			combine(row, names[1:])
			row[at] = -1
		}
	}
	combine(slices.Repeat([]int{-1}, len(c.Axes)), names)
	return rows
}

// All returns all combinations of all values.
func (c *Crossing) All() []map[string]string {
	var names []string
	for _, a := range c.Axes {
		names = append(names, a.Name)
	}
	return c.Product(names...)
}

// filled fills in the missing values of a row, and returns the row as settings. The values take
// turns as number increases.
func (c *Crossing) filled(row []int, number int) map[string]string {
	row = slices.Clone(row)
	for at := range row {
		if row[at] < 0 {
			row[at] = c.turn(row, at, number)
		}
	}
	return c.named(row)
}

// turn returns a value of an axis that agrees with a row. If there are several, they take turns as
// number increases.
func (c *Crossing) turn(row []int, at, number int) int {
	n := len(c.Axes[at].Values)
	for i := range n {
		value := (number + number/(n+at) + i) % n
		if c.agrees(row, choice{at, value}) {
			return value
		}
	}
	return 0
}

// agrees reports whether a choice can be combined with the choices of a row.
func (c *Crossing) agrees(row []int, s choice) bool {
	for other, chosen := range row {
		if chosen >= 0 && c.refused[ordered(s, choice{other, chosen})] {
			return false
		}
	}
	return true
}

func (c *Crossing) named(row []int) map[string]string {
	named := map[string]string{}
	for at, value := range row {
		named[c.Axes[at].Name] = c.Axes[at].Values[max(value, 0)]
	}
	return named
}

// Contradicting returns a combination for each refused pair. On all other axes, it has the first
// value.
func (c *Crossing) Contradicting() (rows []map[string]string) {
	for a := range c.Axes {
		for b := a + 1; b < len(c.Axes); b++ {
			for i := range c.Axes[a].Values {
				for j := range c.Axes[b].Values {
					p := pair{choice{a, i}, choice{b, j}}
					if c.refused[p] {
						rows = append(rows, c.named(c.rowOf(p)))
					}
				}
			}
		}
	}
	return rows
}
