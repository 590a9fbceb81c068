package conventions

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/extsort/extsort/internal/testfiles"
)

// maxColumns is the maximum length of a line; a tab is one column.
const maxColumns = 120

const columnsFile = "columns.txt"

// TestColumns counts longer lines. testdata/columns.txt contains the maximum number of them in
// each directory, including the directories below that it does not list. The numbers may only
// shrink.
func TestColumns(t *testing.T) {
	allowed := map[string]int{}
	for _, row := range table(t, columnsFile) {
		n, err := strconv.Atoi(row[0])
		if err != nil || len(row) != 2 {
			t.Fatalf("%s: %q", columnsFile, row)
		}
		allowed[row[1]] = n
	}
	long, first := map[string]int{}, map[string]string{}
	for _, f := range goFiles(t) {
		group := groupOf(f.folder, allowed)
		for i, line := range strings.Split(f.text, "\n") {
			if utf8.RuneCountInString(line) > maxColumns {
				if long[group]++; first[group] == "" {
					first[group] = fmt.Sprintf("%s/%s:%d", f.folder, f.name, i+1)
				}
			}
		}
	}
	for group, n := range long {
		if n > allowed[group] {
			t.Errorf("%s: %d lines of more than %d columns, %d are allowed; the first is %s",
				group, n, maxColumns, allowed[group], first[group])
		}
	}
	if updating(t) {
		writeColumns(t, long, allowed)
	}
}

// groupOf returns the nearest listed directory that contains a directory.
func groupOf(folder string, named map[string]int) string {
	for group := folder; group != "."; {
		if _, ok := named[group]; ok {
			return group
		}
		cut := strings.LastIndexByte(group, '/')
		if cut < 0 {
			break
		}
		group = group[:cut]
	}
	return folder
}

// writeColumns reduces the numbers in the file.
func writeColumns(t *testing.T, long, allowed map[string]int) {
	t.Helper()
	text := "# Lines of more than 120 columns that stand, by folder and those below it that have no line of their own.\n" +
		"# They only shrink: go test ./internal/conventions -run Columns -update\n"
	for _, group := range slices.Sorted(maps.Keys(allowed)) {
		if n := min(long[group], allowed[group]); n > 0 {
			text += fmt.Sprintf("%d %s\n", n, group)
		}
	}
	testfiles.Write(t, "testdata/"+columnsFile, []byte(text))
}
