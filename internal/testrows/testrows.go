// Package testrows reads the rows of tests: tables of inputs and expected outputs in testdata.
package testrows

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// Read returns the fields of each row of a file in testdata. They are separated by " | ". A field in
// double quotes is a Go string. Blank lines and lines that begin with # are left out.
func Read(t testing.TB, name string) (rows [][]string) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		line = strings.TrimSpace(line)
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		fields, err := split(line)
		if err != nil {
			t.Fatalf("%s: %s: %v", name, line, err)
		}
		rows = append(rows, fields)
	}
	return rows
}

// split returns the fields of a row, any of which may be empty.
func split(line string) ([]string, error) {
	fields := strings.Split(strings.ReplaceAll(line+" ", " | ", "  |  "), " | ")
	for i, field := range fields {
		fields[i] = strings.TrimSpace(field)
		if !strings.HasPrefix(fields[i], `"`) {
			continue
		}
		var err error
		if fields[i], err = strconv.Unquote(fields[i]); err != nil {
			return nil, err
		}
	}
	return fields, nil
}
