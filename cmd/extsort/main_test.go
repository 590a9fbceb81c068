package main

import (
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"testing"
)

// TestErrorLine checks that an error is one line of limited length without control characters.
func TestErrorLine(t *testing.T) {
	named := &fs.PathError{Op: "open", Path: "a\nb\x1b[31m\xff", Err: fs.ErrNotExist}
	var many []error
	for i := range 1000 {
		many = append(many, fmt.Errorf("key %d is wrong", i))
	}
	for want, err := range map[string]error{
		`open a\nb\x1b[31m\xff: file does not exist`: named,
		"one; two (both)":   fmt.Errorf("%w (both)", errors.Join(errors.New("one"), errors.New("two"))),
		"ümläut, µs … stay": errors.New("ümläut, µs … stay"),
		`no\u202ebidi`:      errors.New("no\u202ebidi"),
	} {
		if got := errorLine(err); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
	line := errorLine(errors.Join(many...))
	if !strings.HasSuffix(line, "key 7 is wrong; and 992 more errors") || len(line) > 300 {
		t.Errorf("1000 errors make %d bytes: %q", len(line), line)
	}
	if line := errorLine(errors.New(strings.Repeat("x", 100_000))); len(line) > 600 {
		t.Errorf("a line of %d bytes", len(line))
	}
}
