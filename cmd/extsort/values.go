package main

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/pflag"

	"github.com/extsort/extsort"
	"github.com/extsort/extsort/format"
)

// value is a flag whose text is turned into a T by parse as soon as it is met, so that a mistake is reported
// with the flag it belongs to. It implements pflag.Value.
type value[T any] struct {
	to    *T
	kind  string // what the help calls the value
	text  string
	once  bool     // a second, different value is a contradiction
	words []string // the values that there are; none: any that parse takes
	parse func(string) (T, error)
}

func (v *value[T]) Set(s string) error {
	if v.once && v.text != "" && v.text != s {
		return fmt.Errorf("given twice, as %q and %q", v.text, s)
	}
	parsed, err := v.parse(s)
	if err != nil {
		return err
	}
	*v.to, v.text = parsed, s
	return nil
}

func (v *value[T]) String() string { return v.text }
func (v *value[T]) Type() string   { return v.kind }

// choices are the values that there are, for the help and for completion.
func (v *value[T]) choices() []string { return v.words }

// single is a text that may be given only once.
func single(to *string, kind string) pflag.Value {
	return &value[string]{to: to, kind: kind, once: true, parse: notEmpty}
}

// size is a number of bytes (or of records) read by parse.
func size(to *int64, kind string, parse func(string) (int64, error)) pflag.Value {
	return &value[int64]{to: to, kind: kind, parse: func(s string) (int64, error) {
		n, err := parse(s)
		if err == nil && n < 1 {
			err = fmt.Errorf("%q: must be at least 1", s)
		}
		return n, err
	}}
}

// many is a text that may be given again and again.
func many(to *[]string, kind string) pflag.Value {
	return &value[[]string]{to: to, kind: kind, parse: func(s string) ([]string, error) {
		text, err := notEmpty(s)
		return append(*to, text), err
	}}
}

func notEmpty(s string) (string, error) {
	if s == "" {
		return "", errors.New("the value is empty")
	}
	return s, nil
}

// parseCount reads a number of records: plain, or with a suffix as sizes have it.
func parseCount(s string) (int64, error) {
	n, err := format.ParseSize(s)
	if plain, notPlain := strconv.ParseFloat(s, 64); err != nil || notPlain == nil && plain != math.Trunc(plain) {
		return 0, fmt.Errorf("%q: want a number of records, plain or with K M G T (powers of 1024)", s)
	}
	return n, nil
}

// parseMemory reads a memory limit, and says at once that one is too small.
func parseMemory(s string) (int64, error) {
	n, err := extsort.ParseMemory(s)
	if err == nil && n < extsort.MinMemory {
		err = fmt.Errorf("%q: at least %s are needed", s, humanBytes(extsort.MinMemory))
	}
	return n, err
}

// number is a whole number that is at least least.
func number(to *int, kind string, least int) pflag.Value {
	return &value[int]{to: to, kind: kind, parse: func(s string) (int, error) {
		n, err := strconv.Atoi(s)
		if err != nil || n < least {
			return 0, fmt.Errorf("%q: want a whole number, at least %d", s, least)
		}
		return n, nil
	}}
}

// oneOf is one of a few words.
func oneOf[T ~string](to *T, kind string, words ...string) pflag.Value {
	return &value[T]{to: to, kind: kind, words: words, text: string(*to), parse: func(s string) (T, error) {
		return T(s), checkWord(s, words)
	}}
}

func checkWord(s string, words []string) error {
	if !slices.Contains(words, s) {
		return fmt.Errorf("%q: use %s", s, inWords(words))
	}
	return nil
}

// inWords lists words as a sentence does: a, b or c.
func inWords(words []string) string {
	last := len(words) - 1
	if last < 1 {
		return strings.Join(words, "")
	}
	return strings.Join(words[:last], ", ") + " or " + words[last]
}
