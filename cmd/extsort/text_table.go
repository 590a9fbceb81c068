package main

import (
	"strings"
	"unicode/utf8"

	"github.com/extsort/extsort/format"
	"github.com/extsort/extsort/format/textform"
)

// A textTable prints records in aligned columns: numbers to the right, text to the left.
type textTable struct {
	encoder      *textform.Encoder
	titles       []string
	widths       []int // in characters
	maxWidth     int   // of the terminal; 0: any number of characters
	shownColumns int   // the number of columns that fit
}

func newTextTable(
	encoder *textform.Encoder, columns []format.Column, room int,
) *textTable {
	t := &textTable{
		encoder:      encoder,
		maxWidth:     room,
		shownColumns: len(columns),
	}
	for _, c := range columns {
		title := printable(c.Name)
		t.titles = append(t.titles, title)
		t.widths = append(t.widths, utf8.RuneCountInString(title))
	}
	return t
}

const (
	columnGap    = 2 // blanks between columns
	leastColumn  = 8 // long text is not cut to fewer characters
	omissionMark = "…"
)

// fitWidths sets the widths of the columns according to some records, and makes the table fit the
// terminal.
func (t *textTable) fitWidths(recs []byte, size int) {
	var cells []string
	for ; len(recs) > 0; recs = recs[size:] {
		cells = t.encoder.Cells(cells[:0], recs[:size])
		for i, cell := range cells {
			t.widths[i] = max(t.widths[i], utf8.RuneCountInString(cell))
		}
	}
	if t.maxWidth == 0 {
		return
	}

	for t.rowWidth() > t.maxWidth {
		widest := -1
		for i, width := range t.widths {
			if !t.encoder.IsNumber(i) && width > leastColumn &&
				(widest < 0 || width > t.widths[widest]) {
				widest = i
			}
		}
		if widest < 0 {
			break
		}
		t.widths[widest]--
	}
	for t.shownColumns > 1 && t.rowWidth() > t.maxWidth {
		t.shownColumns--
	}
}

// rowWidth returns the width of a row.
func (t *textTable) rowWidth() int {
	total := -columnGap
	for _, width := range t.widths[:t.shownColumns] {
		total += columnGap + width
	}
	if t.shownColumns < len(t.widths) {
		total += columnGap + utf8.RuneCountInString(omissionMark)
	}
	return total
}

// appendRows appends the rows of records.
func (t *textTable) appendRows(dst, recs []byte, size int) []byte {
	var cells []string
	for ; len(recs) > 0; recs = recs[size:] {
		cells = t.encoder.Cells(cells[:0], recs[:size])
		dst = t.appendCells(dst, cells)
	}
	return dst
}

func (t *textTable) appendCells(dst []byte, cells []string) []byte {
	start := len(dst)
	for i, cell := range cells[:t.shownColumns] {
		if i > 0 {
			dst = append(dst, "  "...)
		}
		blanks := t.widths[i] - utf8.RuneCountInString(cell)
		if blanks < 0 && t.maxWidth > 0 && !t.encoder.IsNumber(i) {
			runes := []rune(cell)
			cell = string(runes[:max(t.widths[i]-1, 0)]) + omissionMark
			blanks = 0
		}
		padding := strings.Repeat(" ", max(blanks, 0))
		if t.encoder.IsNumber(i) {
			dst = append(dst, padding...)
			dst = append(dst, cell...)
		} else {
			dst = append(dst, cell...)
			dst = append(dst, padding...)
		}
	}
	if t.shownColumns < len(cells) {
		dst = append(dst, "  "+omissionMark...)
	}
	for len(dst) > start && dst[len(dst)-1] == ' ' {
		dst = dst[:len(dst)-1]
	}
	return append(dst, '\n')
}
