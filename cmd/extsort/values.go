package main

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"math/big"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/dustin/go-humanize"
	"github.com/dustin/go-humanize/english"
	"github.com/spf13/pflag"

	"github.com/extsort/extsort/format"
	"github.com/extsort/extsort/internal/human"
	"github.com/extsort/extsort/internal/option"
	"github.com/extsort/extsort/internal/session"
)

// A value is a flag value that is converted to a T during parsing, so that an error message names
// the flag. It implements pflag.Value.
type value[T any] struct {
	target   *T
	kind     string // name of the value in the help
	text     string
	onlyOnce bool     // a second, different value is an error
	allowed  []string // possible values; empty: any that parse accepts
	parse    func(string) (T, error)
}

func (v *value[T]) Set(s string) error {
	if v.onlyOnce && v.text != "" && v.text != s {
		return fmt.Errorf("given twice, as %q and %q", v.text, s)
	}
	parsed, err := v.parse(s)
	if err != nil {
		return err
	}
	*v.target, v.text = parsed, s
	return nil
}

func (v *value[T]) String() string { return v.text }
func (v *value[T]) Type() string   { return v.kind }

// choices returns the possible values, for the help and for completion.
func (v *value[T]) choices() []string { return v.allowed }

// choices returns the possible values of a flag, or nil if it accepts other values, too.
func choices(f *pflag.Flag) []string {
	v, ok := f.Value.(interface{ choices() []string })
	if ok {
		return v.choices()
	}
	return nil
}

// parsed returns a value that parse converts.
func parsed[T any](
	to *T, kind string, parse func(string) (T, error),
) pflag.Value {
	return &value[T]{
		target: to,
		kind:   kind,
		parse:  parse,
	}
}

// text returns a value that is any non-empty text and may be given only once.
func text(to *string, kind string) pflag.Value {
	return &value[string]{
		target:   to,
		kind:     kind,
		onlyOnce: true,
		parse:    notEmpty,
	}
}

// textList returns a value that is a list of texts. Each use of the flag adds one text.
func textList(to *[]string, kind string) pflag.Value {
	return parsed(to, kind, func(s string) ([]string, error) {
		text, err := notEmpty(s)
		return append(*to, text), err
	})
}

func notEmpty(s string) (string, error) {
	if s == "" {
		return "", errors.New("the value is empty")
	}
	return s, nil
}

// listOf returns a value that is a comma-separated list of words, each converted by parse.
func listOf[T any](
	to *[]T, kind string, parse func(string) (T, error),
) pflag.Value {
	return parsed(to, kind, func(s string) ([]T, error) {
		var list []T
		for word := range strings.SplitSeq(s, ",") {
			item, err := parse(strings.TrimSpace(word))
			if err != nil {
				return nil, err
			}
			list = append(list, item)
		}
		return list, nil
	})
}

// amount returns a value that is a number of bytes or records, at least 1, converted by parse.
func amount(
	to *int64, kind string, parse func(string) (int64, error),
) pflag.Value {
	return parsed(to, kind, func(s string) (int64, error) {
		n, err := parse(s)
		if err == nil && n < 1 {
			err = fmt.Errorf("%q: must be at least 1", s)
		}
		return n, err
	})
}

// shorthand matches a number in a notation other than plain digits, with an optional suffix.
var shorthand = lazyRegexp(
	`^(?:2\^([0-9]{1,2})|([0-9]+(?:_[0-9]+)*(?:\.[0-9]+)?(?:[eE][0-9]{1,2})?))(.*)$`,
)

// expandShorthand writes 2^20, 1e6 and 10_000_000 with digits only. It keeps a suffix, and
// returns other texts unchanged.
func expandShorthand(s string) string {
	parts := shorthand().FindStringSubmatch(strings.TrimSpace(s))
	if parts == nil {
		return s
	}
	if exponent, err := strconv.Atoi(parts[1]); err == nil && exponent < 63 {
		return strconv.FormatInt(1<<exponent, 10) + parts[3]
	}
	digits := strings.ReplaceAll(parts[2], "_", "")
	n, ok := new(big.Rat).SetString(digits)
	if ok && n.IsInt() {
		digits = n.Num().String()
	} else if ok {
		exact := n.FloatString(len(digits)) // there are at most this many digits after the point
		digits = strings.TrimRight(exact, "0")
	}
	return digits + parts[3]
}

// parseSize parses a whole number of bytes, with binary suffixes.
func parseSize(s string) (int64, error) {
	return parsePlain(s, format.ParseSize)
}

// parseByteLimit is parseSize for a limit or a rate, which is rounded down to whole bytes.
func parseByteLimit(s string) (int64, error) {
	return parsePlain(s, format.ParseLimit)
}

// parsePlain expands shorthand in s and then calls parse.
func parsePlain(s string, parse func(string) (int64, error)) (int64, error) {
	n, err := parse(expandShorthand(s))
	if err == nil {
		return n, nil
	}
	_, asGiven := parse(s)
	if asGiven != nil {
		return 0, asGiven // this error shows the text that the user wrote
	}
	return 0, err
}

// parseCount parses a number of records: k M G are powers of 1000, Ki Mi Gi powers of 1024.
func parseCount(s string) (int64, error) {
	text := expandShorthand(s)
	digits := strings.TrimRight(text, "kKmMgGtTpPeEi ")
	unit, badUnit := humanize.ParseBytes("1" + text[len(digits):])
	count, ok := new(big.Rat).SetString(digits)
	if ok {
		count.Mul(count, new(big.Rat).SetUint64(unit))
	}
	if !ok || badUnit != nil || strings.Trim(digits, "0123456789.") != "" ||
		!count.IsInt() ||
		!count.Num().IsInt64() {
		return 0, fmt.Errorf(
			"%q: want a number, optionally with k M G (thousands) or Ki Mi Gi (powers of 1024), "+
				"as 1e6 or as 2^24",
			s,
		)
	}
	return count.Num().Int64(), nil
}

// parseLimit parses the number of records to write, which may be 0.
func parseLimit(s string) (int64, error) {
	n, err := parseCount(s)
	if n == 0 && err == nil {
		n = session.NoRecords
	}
	return n, err
}

func parsePart(s string) (session.Part, error) {
	k, n, _ := strings.Cut(s, "/")
	part := session.Part{}
	bad := [2]error{}
	part.K, bad[0] = strconv.ParseInt(k, 10, 64)
	part.N, bad[1] = strconv.ParseInt(n, 10, 64)
	if cmp.Or(bad[0], bad[1], part.Validate()) != nil || part.N == 0 {
		return part, fmt.Errorf(
			"%q: want K/N, the K-th of N parts, with K from 0 to N-1, such as 0/4",
			s,
		)
	}
	return part, nil
}

// parseSplit parses the number of files of a split output or, with a suffix, the bytes of each
// file.
func parseSplit(opt *session.Options) func(string) (string, error) {
	return func(s string) (string, error) {
		files, notFiles := strconv.ParseUint(expandShorthand(s), 10, 64)
		if notFiles != nil {
			bytes, err := parseSize(s)
			if err == nil && bytes == 0 { // which is no split
				err = splitError(s)
			}
			opt.SplitBytes = bytes
			return s, err
		}
		if files == 0 || files > session.MaxSplitFiles {
			return s, splitError(s)
		}
		opt.SplitFiles = int(files)
		return s, nil
	}
}

func splitError(s string) error {
	return fmt.Errorf(
		"%q: want 1 to %s files, or a size with a unit, such as 64M or 100B",
		s,
		humanize.Comma(session.MaxSplitFiles),
	)
}

// byteCount returns a value that is the size of a record in bytes.
func byteCount(to *int) pflag.Value {
	return parsed(to, "BYTES", func(s string) (int, error) {
		n, err := parseSize(s)
		if err == nil && (n < 1 || n > math.MaxInt32) {
			err = fmt.Errorf(
				"%q: must be from 1 to %d", s, format.MaxRecordSize,
			)
		}
		return int(n), err
	})
}

// parseMemory parses a memory limit and rejects one that is too small.
func parseMemory(s string) (int64, error) {
	n, err := parsePlain(s, session.ParseMemory)
	if err == nil && n < session.MinMemory {
		err = fmt.Errorf(
			"%q is too little: at least %s is needed",
			s,
			human.Bytes(session.MinMemory),
		)
	}
	return n, err
}

// parseTime parses a time span, which must be positive.
func parseTime(s string) (time.Duration, error) {
	d, err := time.ParseDuration(s)
	if err != nil || d <= 0 {
		err = fmt.Errorf("%q: want a time such as 30s or 5m", s)
	}
	return d, err
}

func parseSeed(s string) (uint64, error) {
	n, err := strconv.ParseUint(s, 0, 64)
	if err != nil {
		err = fmt.Errorf("%q: want a whole number from 0 to 2^64 - 1", s)
	}
	return n, err
}

// wholeNumber returns a value that is a whole number, least or more.
func wholeNumber(to *int, kind string, least int) pflag.Value {
	return parsed(to, kind, func(s string) (int, error) {
		n, err := strconv.Atoi(s)
		if err != nil || n < least {
			err = fmt.Errorf("%q: want a whole number, at least %d", s, least)
		}
		return n, err
	})
}

// workerCount returns a value that is a number of workers on this machine.
func workerCount(to *int) pflag.Value {
	return parsed(to, "N", func(s string) (int, error) {
		n, err := strconv.Atoi(s)
		if err != nil {
			return n, fmt.Errorf("%q: want a whole number", s)
		}
		return n, option.CheckWorkers(n)
	})
}

// oneOf returns a value that is one of the words.
func oneOf[T ~string](to *T, kind string, words ...string) pflag.Value {
	return &value[T]{target: to, kind: kind, allowed: words, text: string(
		*to,
	), parse: func(s string) (T, error) {
		return T(s), checkWord(s, words)
	}}
}

func parseStats(s string) (string, error) {
	name, toFile := strings.CutPrefix(s, "json:")
	if toFile && name != "" {
		return s, nil
	}
	return s, checkWord(s, []string{"text", "json", "json:FILE"})
}

func checkWord(s string, words []string) error {
	if !slices.Contains(words, s) {
		return fmt.Errorf("%q: use %s", s, inWords(words))
	}
	return nil
}

// inWords joins words for use in a sentence: a, b or c.
func inWords(words []string) string {
	return english.WordSeries(words, "or")
}

// lazyRegexp returns a function that compiles a regular expression on its first call. Most runs
// need none of them.
func lazyRegexp(expression string) func() *regexp.Regexp {
	return sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(expression) })
}
