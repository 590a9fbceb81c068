package bench

import (
	"fmt"
	"io"
	"math/bits"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// A Table consists of rows of text.
type Table struct {
	Title string
	Head  []string
	Rows  [][]string
	Notes []string
}

// Write writes the table with right-aligned columns.
func (t Table) Write(w io.Writer) error {
	var b strings.Builder
	fmt.Fprintln(&b, t.Title)
	widths := make([]int, len(t.Head))
	lines := append([][]string{t.Head}, t.Rows...)
	for _, cells := range lines {
		for i, cell := range cells {
			widths[i] = max(widths[i], utf8.RuneCountInString(cell))
		}
	}
	for _, cells := range lines {
		for i, cell := range cells {
			b.WriteString(
				strings.Repeat(" ", 2+widths[i]-utf8.RuneCountInString(cell)),
			)
			b.WriteString(cell)
		}
		b.WriteString("\n")
	}
	for _, note := range t.Notes {
		fmt.Fprintln(&b, note)
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// pivot returns a table of results in Mkeys/s, with one row for each size and one column for each
// label.
func pivot(title string, results []Result) Table {
	type place struct {
		n     int64
		label string
	}
	var labels []string
	cells := map[place]Result{}
	for _, r := range results {
		if !slices.Contains(labels, r.Label) {
			labels = append(labels, r.Label)
		}
		cells[place{r.Records, r.Label}] = r
	}
	t := Table{Title: title, Head: append([]string{"log2 n"}, labels...)}
	for _, n := range sizesOf(results) {
		row := []string{log2(n)}
		for _, label := range labels {
			row = append(row, resultText(cells[place{n, label}]))
		}
		t.Rows = append(t.Rows, row)
	}
	t.Notes = wrongResults(results)
	return t
}

// wrongResults returns one line for each wrong result.
func wrongResults(results []Result) []string {
	var lines []string
	for _, r := range results {
		if r.Error != "" {
			lines = append(
				lines,
				fmt.Sprintf(
					"%s, %s, %s, n = 2^%s: %s",
					r.Label,
					r.Key,
					r.Dist,
					log2(r.Records),
					r.Error,
				),
			)
		}
	}
	return lines
}

// resultText returns the text of a result.
func resultText(r Result) string {
	switch {
	case r.Error != "":
		return "FAILED"
	case r.Rate == 0:
		return "-"
	}
	return mkeys(r.Rate)
}

// mkeys returns millions of keys per second, with at least three digits.
func mkeys(rate float64) string {
	m := rate / 1e6
	switch {
	case m < 9.995:
		return strconv.FormatFloat(m, 'f', 2, 64)
	case m < 999.95:
		return strconv.FormatFloat(m, 'f', 1, 64)
	}
	return strconv.FormatFloat(m, 'f', 0, 64)
}

// log2 returns the logarithm of n; between two powers of two, it interpolates linearly.
func log2(n int64) string {
	whole := bits.Len64(uint64(n)) - 1
	if n == 1<<whole {
		return strconv.Itoa(whole)
	}
	return fmt.Sprintf("%d+%d", whole, n-1<<whole)
}

// groupResults splits the results wherever the kind of key or the distribution changes.
func groupResults(results []Result) [][]Result {
	var list [][]Result
	at := map[series]int{}
	for _, r := range results {
		s := series{key: r.Key, dist: r.Dist}
		i, ok := at[s]
		if !ok {
			i = len(list)
			at[s], list = i, append(list, nil)
		}
		list[i] = append(list[i], r)
	}
	return list
}

// filterResults returns the results for which pass returns true.
func filterResults(results []Result, pass func(Result) bool) []Result {
	return slices.DeleteFunc(slices.Clone(results), func(r Result) bool {
		return !pass(r)
	})
}
