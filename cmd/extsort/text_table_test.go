package main

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/extsort/extsort/format"
	"github.com/extsort/extsort/format/textform"
)

// TestTableFitsTheTerminal prints tables of several widths. Long text is cut first; then columns
// are left out.
func TestTableFitsTheTerminal(t *testing.T) {
	columns, err := format.ParseFields("id=u64 name=bytes30 hash=bytes20 value=f64 note=bytes10")
	if err != nil {
		t.Fatal(err)
	}
	const size = 8 + 30 + 20 + 8 + 10
	recs := make([]byte, 5*size)
	for i := range recs {
		recs[i] = byte(i * 7)
	}
	copy(recs[8:], "a name that is rather long, é\x00")
	for _, room := range []int{20, 40, 60, 80, 120, 300} {
		table := newTextTable(textform.NewEncoder(tableForm, size, columns), columns, room)
		table.fitWidths(recs, size)
		lines := table.appendCells(nil, table.titles)
		lines = table.appendRows(lines, recs, size)
		for line := range strings.Lines(string(lines)) {
			if n := utf8.RuneCountInString(strings.TrimSuffix(line, "\n")); n > max(room, 24) {
				t.Errorf("%d columns: %d in %q", room, n, line)
			}
		}
		if isWhole := !strings.Contains(string(lines), omissionMark); isWhole != (room == 300) {
			t.Errorf("%d columns: whole is %v\n%s", room, isWhole, lines)
		}
	}
}
