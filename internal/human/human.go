// Package human formats sizes, rates and times for people: 1 MiB, 250 MiB/s, 2.5 s, about 30 min.
// All text for users goes through it. JSON contains the exact numbers.
package human

import (
	"fmt"
	"math"
	"strconv"
	"strings"
)

// Bytes returns a size in powers of 1024, with a digit after the point if it is below 10 and not
// whole: 512 B, 7.6 MiB, 1 GiB. A negative size is 0 B.
func Bytes(n int64) string {
	const units = "KMGTPE"
	if n < 1024 {
		return fmt.Sprintf("%d B", max(n, 0))
	}
	value := float64(n) / 1024
	unit := 0
	for math.Round(value) >= 1024 && unit < len(units)-1 {
		value /= 1024
		unit++
	}
	return fmt.Sprintf("%s %ciB", digits(value), units[unit])
}

// digits returns a number with one digit after the point if it is below 10 and not whole, and
// otherwise rounded.
func digits(value float64) string {
	if value < 9.95 {
		return strings.TrimSuffix(strconv.FormatFloat(value, 'f', 1, 64), ".0")
	}
	return strconv.FormatFloat(value, 'f', 0, 64)
}

// Rate returns the rate of n bytes in the given seconds, or a dash if one of them is 0.
func Rate(n int64, seconds float64) string {
	if seconds <= 0 || n <= 0 {
		return "-"
	}
	return PerSecond(float64(n) / seconds)
}

// PerSecond returns a rate in bytes per second, such as 1.9 GiB/s, and a dash for less than one
// byte.
func PerSecond(rate float64) string {
	if rate < 1 {
		return "-"
	}
	return Bytes(int64(rate)) + "/s"
}

// Time returns a measured time: 85 µs, 12 ms, 2.5 s, 45 s, 29 min 44 s, 2 h 5 min, 3 days 4 h.
func Time(seconds float64) string {
	whole := int64(math.Round(seconds))
	switch {
	case seconds <= 0:
		return "0 s"
	case seconds < 0.0009995:
		return fmt.Sprintf("%.0f µs", seconds*1e6)
	case seconds < 0.9995:
		return fmt.Sprintf("%.0f ms", seconds*1e3)
	case seconds < 9.95:
		return fmt.Sprintf("%.1f s", seconds)
	case whole < 120:
		return fmt.Sprintf("%d s", whole)
	case whole < 2*3600:
		return twoUnits(whole, 60, "min", "s")
	}
	minutes := int64(math.Round(seconds / 60))
	if minutes < 48*60 {
		return twoUnits(minutes, 60, "h", "min")
	}
	return twoUnits(int64(math.Round(seconds/3600)), 24, "days", "h")
}

// twoUnits formats an amount of the small unit in both units. One large unit consists of ratio
// small ones. It omits a small unit of 0.
func twoUnits(amount, ratio int64, large, small string) string {
	text := fmt.Sprintf("%d %s", amount/ratio, large)
	if rest := amount % ratio; rest > 0 {
		text += fmt.Sprintf(" %d %s", rest, small)
	}
	return text
}

// Estimate formats a predicted time in one unit, with as few digits as a prediction deserves: 12
// ms, 2.5 s, 30 min, 2.5 h, 3 days.
func Estimate(seconds float64) string {
	minutes := math.Round(seconds / 60)
	hours := seconds / 3600
	switch {
	case math.Round(seconds) < 120:
		return Time(seconds)
	case minutes < 120:
		return fmt.Sprintf("%.0f min", minutes)
	case hours < 47.5:
		return digits(hours) + " h"
	}
	return digits(hours/24) + " days"
}

// About returns a predicted time for a sentence: about 30 min, less than a second.
func About(seconds float64) string {
	if seconds < 0.9995 {
		return "less than a second"
	}
	return "about " + Estimate(seconds)
}
