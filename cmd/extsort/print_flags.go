package main

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/extsort/extsort/format/textform"
)

// textFlags describes how records are written as lines of text, or how lines are read as records.
type textFlags struct {
	form    textform.Form
	header  string // "", yes or no
	columns []string
	head    recordLimit
	tail    recordLimit
	span    *recordRange
	sample  recordLimit
	seed    uint64
	find    findFlags
}

// A recordLimit is a number of records, or notGiven.
type recordLimit int64

// notGiven is the value of a flag that the command line does not contain.
const notGiven recordLimit = -1

func (l recordLimit) isGiven() bool { return l != notGiven }

// tableForm is a form of lines for people. extsort parse cannot read it.
const tableForm textform.Form = "table"

func textForms() []string {
	forms := []string{string(tableForm)}
	for _, form := range textform.Forms {
		forms = append(forms, string(form))
	}
	return forms
}

func printFormFlag(g group, v *flagValues) {
	v.text.form = tableForm
	g.add(
		oneOf(&v.text.form, "FORM", textForms()...), "as", "form of the lines",
	).
		hints("csv", "json", "to", "output-format")
}

func headerFlag(g group, v *flagValues) {
	g.add(oneOf(&v.text.header, "WHEN", "yes", "no"), "header",
		"whether the first line contains the names of the columns (csv and tsv; print: also table); otherwise yes for "+
			"print, and for parse if the line contains only names of fields").
		hints("titles", "no-header")
}

func columnsFlag(g group, v *flagValues) {
	g.add(listOf(&v.text.columns, "NAMES", notEmpty), "columns",
		"the columns to print, separated by commas, in this order; otherwise all").
		hints("select", "cut").notWith("--as=hex")
}

// A recordRange is a range of records by position, from 0. end may be toEnd.
type recordRange struct{ first, end int64 }

// toEnd is the end of a range that extends to the end of the input.
const toEnd = -1

// parseRange parses A:B. Either may be omitted.
func parseRange(s string) (*recordRange, error) {
	from, to, ok := strings.Cut(s, ":")
	r := &recordRange{end: toEnd}
	var bad [2]error
	if from != "" {
		r.first, bad[0] = parseCount(from)
	}
	if to != "" {
		r.end, bad[1] = parseCount(to)
	}
	if !ok || cmp.Or(bad[0], bad[1]) != nil || r.first < 0 ||
		to != "" && r.end < r.first {
		return nil, fmt.Errorf(
			"%q: want A:B, the records from A to B-1, counted from 0, such as 10:20, 10: or :20",
			s,
		)
	}
	return r, nil
}

// parseRecords parses a number of records, which may be 0.
func parseRecords(s string) (recordLimit, error) {
	n, err := parseCount(s)
	if err == nil && n < 0 {
		err = fmt.Errorf("%q: must not be negative", s)
	}
	return recordLimit(n), err
}

func selectionFlags(g group, v *flagValues) {
	f := &v.text
	f.head = notGiven
	f.tail = notGiven
	f.sample = notGiven
	g.add(
		parsed(&f.head, "N", parseRecords),
		"head",
		"print only the first N records; otherwise all",
	).
		hints("limit", "first", "lines").notWith(
		"--tail", "--range", "--sample",
	)
	g.add(
		parsed(&f.tail, "N", parseRecords),
		"tail",
		"print only the last N records; otherwise all",
	).
		hints("last").notWith("--range", "--sample")
	g.add(parsed(&f.span, "A:B", parseRange), "range",
		"print only the records A to B-1, counted from 0; otherwise all").
		hints("slice", "offset").notWith("--sample")
	g.add(parsed(&f.sample, "N", parseRecords), "sample",
		"print N records chosen at random, in input order; otherwise all").
		hints("random")
	g.add(parsed(&f.seed, "N", parseSeed), "seed",
		"seed of the random choice: the same seed chooses the same records; otherwise seed 0").
		needs("--sample")
}
