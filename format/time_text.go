package format

import (
	"math"
	"strconv"
	"time"
)

// unitsPerSecond returns the number of units of a time per second.
func (f Form) unitsPerSecond() int64 {
	switch f {
	case FormMillis:
		return 1e3
	case FormMicros:
		return 1e6
	case FormNanos:
		return 1e9
	}
	return 1
}

// The seconds of the years 0 to 9999, for which RFC 3339 has a notation.
const (
	firstSecond = -62167219200
	lastSecond  = 253402300799
)

// AppendTime appends a time since 1970 in UTC, in the notation of RFC 3339 with all digits of its
// unit: 2026-11-27T12:45:00.250Z. The least number is NumPy's NaT. A time outside of the years 0 to
// 9999 is appended as a number.
func AppendTime(dst []byte, value int64, form Form) []byte {
	if value == math.MinInt64 {
		return append(dst, "NaT"...)
	}
	units := form.unitsPerSecond()
	seconds := value / units
	fraction := value % units
	if fraction < 0 {
		seconds--
		fraction += units
	}
	if seconds < firstSecond || seconds > lastSecond {
		return strconv.AppendInt(dst, value, 10)
	}

	dst = appendDate(dst, seconds)
	if units > 1 {
		dst = append(dst, '.')
		for unit := units / 10; unit > 0; unit /= 10 {
			dst = append(dst, '0'+byte(fraction/unit%10))
		}
	}
	return append(dst, 'Z')
}

// appendDate appends a number of seconds as 2026-11-27T12:45:00.
func appendDate(dst []byte, seconds int64) []byte {
	date := time.Unix(seconds, 0).UTC()
	return date.AppendFormat(dst, "2006-01-02T15:04:05")
}

// ParseTime parses the results of AppendTime, all other times in the notation of RFC 3339 that are
// a whole number of units, and dates such as 2026-11-27.
func ParseTime(text string, form Form) (value int64, ok bool) {
	if text == "NaT" {
		return math.MinInt64, true
	}
	if value, err := strconv.ParseInt(text, 10, 64); err == nil {
		return value, true
	}
	date, err := time.Parse(time.RFC3339Nano, text)
	if err != nil {
		date, err = time.Parse(time.DateOnly, text)
	}
	units := form.unitsPerSecond()
	unit := int64(time.Second) / units
	seconds := date.Unix()
	nanoseconds := int64(date.Nanosecond())
	if err != nil || nanoseconds%unit != 0 {
		return 0, false
	}

	fraction := nanoseconds / unit
	if seconds < 0 { // so that the least time does not overflow
		seconds++
		fraction -= units
	}
	value = seconds*units + fraction
	return value, (value-fraction)/units == seconds && value != math.MinInt64
}
