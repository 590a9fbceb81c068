package format

import (
	"fmt"
	"slices"
	"strings"

	"github.com/dustin/go-humanize/english"

	"github.com/extsort/extsort/internal/option"
)

// KeyFunctions are the functions of computed keys, such as hilbert(lon,lat). Package computed
// computes them.
var KeyFunctions = []string{"hilbert", "morton", "bit_reverse", "xxh64"}

// ParseCall divides a key such as hilbert(lon,lat):desc into the name of the function and its
// arguments. ok is false if the key does not call one of the KeyFunctions.
func ParseCall(key string) (function, arguments string, ok bool) {
	function, arguments, ok = CutCall(key)
	return function, arguments, ok && slices.Contains(KeyFunctions, function)
}

// CutCall divides a key that has the form of a call. The function need not exist.
func CutCall(key string) (function, arguments string, ok bool) {
	key = strings.TrimSuffix(strings.TrimSuffix(key, ":asc"), ":desc")
	call, ok := strings.CutSuffix(key, ")")
	if !ok {
		return "", "", false
	}
	return strings.Cut(call, "(")
}

// callError returns the error for a key that is not a field but has the form of a call. It returns
// err for other keys.
func callError(key string, err error) error {
	_, _, isCall := CutCall(key)
	_, _, isKnown := ParseCall(key)
	switch {
	case isKnown:
		return fmt.Errorf("key %q: only sorts, checks and plans compute keys: sort with %v NAME, and use that field here",
			key, option.KeepKey)
	case isCall:
		return fmt.Errorf("key %q: there is no such field or function: the functions are %s",
			key, english.WordSeries(KeyFunctions, "and"))
	}
	return err
}
