package main

import (
	"cmp"
	"fmt"
	"io"
	"path/filepath"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// printError prints an error as one line, which wraps at the width of a terminal like the help.
func printError(w io.Writer, err error) {
	text := "extsort: " + errorLine(err)
	if isTerminal(w) {
		text = wrapText(text, cmp.Or(terminalColumns(w), 80))
	}
	fmt.Fprintln(w, text)
}

// wrapText breaks a text at spaces into lines of at most the given number of columns. A longer
// word gets its own line.
func wrapText(text string, columns int) string {
	var lines []string
	line := ""
	for i, word := range strings.Split(text, " ") {
		if i > 0 &&
			utf8.RuneCountInString(line)+1+utf8.RuneCountInString(word) > columns {
			lines = append(lines, line)
			line = word
			continue
		}
		if i > 0 {
			line += " "
		}
		line += word
	}
	return strings.Join(append(lines, line), "\n")
}

// errorLine returns an error as one line. Several errors that were joined are separated by
// semicolons.
func errorLine(err error) string {
	all := separate(err)
	var lines []string
	for _, text := range all[:min(len(all), maxErrors)] {
		lines = append(lines, printable(shortened(text)))
	}
	more := len(all) - len(lines)
	if more > 0 {
		lines = append(lines, fmt.Sprintf("and %d more errors", more))
	}
	return strings.Join(lines, "; ")
}

// A line contains at most maxErrors errors, each shortened to maxErrorRunes characters.
const maxErrors, maxErrorRunes = 8, 500

// separate returns the messages of an error that may consist of several. A line break that does
// not separate errors is part of a file name.
func separate(err error) []string {
	text := err.Error()
	if !isJoined(err) {
		return []string{text}
	}
	var all []string
	for line := range strings.SplitSeq(text, "\n") {
		if line = strings.TrimSpace(line); line != "" {
			all = append(all, line)
		}
	}
	return all
}

// isJoined reports whether an error wraps several.
func isJoined(err error) bool {
	switch e := err.(type) {
	case interface{ Unwrap() []error }:
		all := e.Unwrap()
		return len(all) > 1 || len(all) == 1 && isJoined(all[0])
	case interface{ Unwrap() error }:
		inner := e.Unwrap()
		return inner != nil && isJoined(inner)
	}
	return false
}

// shortened cuts the middle out of a long text. Such a text should not occur, except with a long
// file name.
func shortened(text string) string {
	runes := []rune(text)
	if len(runes) <= maxErrorRunes ||
		strings.Contains(text, string(filepath.Separator)) {
		return text
	}
	half := maxErrorRunes / 2
	return string(runes[:half]) + " … " + string(runes[len(runes)-half:])
}

// printable escapes control characters and invalid UTF-8, for example in file names, so that they
// do not reach a terminal.
func printable(text string) string {
	isPlain := func(r rune) bool {
		return unicode.IsPrint(r) && r != utf8.RuneError
	}
	if !strings.ContainsFunc(text, func(r rune) bool { return !isPlain(r) }) {
		return text
	}
	var b strings.Builder
	for i, r := range text {
		_, size := utf8.DecodeRuneInString(text[i:])
		switch {
		case r == utf8.RuneError && size == 1:
			fmt.Fprintf(&b, "\\x%02x", text[i])
		case isPlain(r):
			b.WriteRune(r)
		default:
			b.WriteString(strings.Trim(strconv.QuoteRune(r), "'"))
		}
	}
	return b.String()
}
