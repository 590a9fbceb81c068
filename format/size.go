package format

import (
	"fmt"
	"math/big"
	"strings"

	"github.com/dustin/go-humanize"
)

// ParseSize parses a number of bytes: without a unit, with K M G T P E for powers of 1024, or
// with an explicit unit such as KiB = 1024 or KB = 1000. A fraction such as 1.5K must be a whole
// number of bytes.
func ParseSize(s string) (int64, error) {
	bytes, _, err := parseSize(s)
	if err == nil && !bytes.IsInt() {
		return 0, fmt.Errorf(
			"size %q: it is %s bytes, not a whole number of bytes", s, decimal(bytes),
		)
	}
	return wholePart(bytes), err
}

// ParseLimit is ParseSize for a limit, which need not be exact: it rounds 1.1G, which is not a
// whole number of bytes, down. A fraction of a byte without a unit, such as 1.9, is still an
// error, and so is less than one byte, because a limit of 0 often means that there is none.
func ParseLimit(s string) (int64, error) {
	bytes, unit, err := parseSize(s)
	if err == nil && unit == 1 {
		return ParseSize(s)
	}
	limit := wholePart(bytes)
	if err == nil && limit == 0 && bytes.Sign() > 0 {
		return 0, fmt.Errorf("size %q: it is less than one byte", s)
	}
	return limit, err
}

// parseSize returns the exact number of bytes and the unit of s. The number is nil if err is not
// nil.
func parseSize(s string) (bytes *big.Rat, unit uint64, err error) {
	text := strings.TrimSpace(s)
	digits := text[:len(text)-len(strings.TrimLeft(text, "0123456789."))]
	suffix := text[len(digits):]
	if len(suffix) == 1 && strings.ContainsAny(suffix, "kmgtpeKMGTPE") {
		suffix += "iB" // to humanize, K alone is 1000
	}

	unit, badUnit := humanize.ParseBytes("1" + suffix)
	bytes, ok := new(big.Rat).SetString(digits)
	ok = ok && !strings.Contains(suffix, ",") // humanize ignores commas
	if ok {
		bytes.Mul(bytes, new(big.Rat).SetUint64(unit))
	}
	if !ok || badUnit != nil ||
		!new(big.Int).Quo(bytes.Num(), bytes.Denom()).IsInt64() {
		return nil, 0, fmt.Errorf(
			"size %q: want bytes, or a number with K M G T (powers of 1024), KiB MiB … or KB MB …, "+
				"such as 512M",
			s,
		)
	}
	return bytes, unit, nil
}

// wholePart rounds r towards 0. For nil it returns 0.
func wholePart(r *big.Rat) int64 {
	if r == nil {
		return 0
	}
	return new(big.Int).Quo(r.Num(), r.Denom()).Int64()
}

// decimal formats a number with at most three decimal places, without trailing zeros.
func decimal(r *big.Rat) string {
	return strings.TrimRight(r.FloatString(3), "0")
}
