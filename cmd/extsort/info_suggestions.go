package main

import (
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"math"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/extsort/extsort/internal/info"
)

// A clock is a unit in which programs count the time since 1970.
type clock struct {
	name      string
	perSecond int64
}

var clocks = []clock{
	{"seconds", 1},
	{"milliseconds", 1e3},
	{"microseconds", 1e6},
	{"nanoseconds", 1e9},
}

// The search for times covers the years between these. A random 8-byte number is unlikely to be in
// this range in any unit.
var (
	firstTime = time.Date(1990, 1, 1, 0, 0, 0, 0, time.UTC)
	lastTime  = time.Date(2100, 1, 1, 0, 0, 0, 0, time.UTC)
)

// date returns the time of a number, in UTC.
func (c clock) date(number int64) time.Time {
	seconds := number / c.perSecond
	rest := number % c.perSecond
	return time.Unix(seconds, rest*(int64(time.Second)/c.perSecond)).UTC()
}

// clockOf returns a clock for which the numbers are ascending times and not all equal. ok reports
// whether such a clock exists.
func clockOf(numbers []int64) (c clock, ok bool) {
	if len(numbers) < 2 || !slices.IsSorted(numbers) ||
		numbers[0] == numbers[len(numbers)-1] {
		return clock{}, false
	}
	for _, c := range clocks {
		first := c.date(numbers[0])
		last := c.date(numbers[len(numbers)-1])
		if !first.Before(firstTime) && last.Before(lastTime) {
			return c, true
		}
	}
	return clock{}, false
}

// keyGuess is a likely key for records of unknown layout, derived from the shown records.
type keyGuess struct {
	key    string // OFFSET:TYPE
	reason string // the reason, as shown to the user; may be ""
}

// timeTypes are the types that a time may have. Databases and networks use big-endian ones.
var timeTypes = []struct {
	name  string
	order binary.ByteOrder
}{{"u64", binary.LittleEndian}, {"u64be", binary.BigEndian}}

// guessKey returns the first field of the records that contains ascending times, or else their
// first number.
func guessKey(shown []info.Record, size int) keyGuess {
	for offset := 0; offset+8 <= size; offset += 4 {
		for _, t := range timeTypes {
			numbers := numbersAt(shown, offset, t.order)
			if c, ok := clockOf(numbers); ok {
				key := fmt.Sprintf("%d:%s", offset, t.name)
				first := dateText(c, numbers[0])
				last := dateText(c, numbers[len(numbers)-1])
				return keyGuess{key, fmt.Sprintf(
					"%s looks like a time in %s: %s to %s",
					key,
					c.name,
					first,
					last,
				)}
			}
		}
	}
	for _, bytes := range []int{8, 4, 2} {
		if size%bytes == 0 {
			return keyGuess{key: fmt.Sprintf("0:u%d", 8*bytes)}
		}
	}
	return keyGuess{key: fmt.Sprintf("0:bytes%d", min(size, 8))}
}

// numbersAt returns the 8 bytes at offset of each shown record as numbers. It returns nil if a
// record is too short or if one of the numbers cannot be a time.
func numbersAt(
	shown []info.Record, offset int, order binary.ByteOrder,
) (numbers []int64) {
	for _, record := range shown {
		if len(record.Parts) != 1 {
			return nil
		}
		b, err := hex.DecodeString(record.Parts[0].Hex)
		if err != nil || offset+8 > len(b) {
			return nil
		}
		number := order.Uint64(b[offset:])
		if number > math.MaxInt64 {
			return nil
		}
		numbers = append(numbers, int64(number))
	}
	return numbers
}

func dateText(c clock, number int64) string {
	return c.date(number).Format("2006-01-02 15:04:05.999999999 UTC")
}

// addDates adds dates to the values of the fields that contain ascending times.
func addDates(shown []info.Record) {
	if len(shown) == 0 {
		return
	}
	for i := range shown[0].Parts {
		c, ok := clockOf(valuesOf(shown, i))
		if ok {
			for _, record := range shown {
				// valuesOf has already parsed it.
				number, _ := strconv.ParseInt(record.Parts[i].Value, 10, 64)
				record.Parts[i].Value += "  " + dateText(c, number)
			}
		}
	}
}

// valuesOf returns the values of an 8-byte field, or nil if they are not all integers.
func valuesOf(shown []info.Record, part int) (numbers []int64) {
	for _, record := range shown {
		if part >= len(record.Parts) || record.Parts[part].Field == "" ||
			record.Parts[part].Size != 8 {
			return nil
		}
		number, err := strconv.ParseInt(record.Parts[part].Value, 10, 64)
		if err != nil {
			return nil
		}
		numbers = append(numbers, number)
	}
	return numbers
}

// nextRows returns rows with a guessed key and the command to try next, if the file suggests one.
func nextRows(r *info.Report) []row {
	switch {
	case r.Problem != "" || r.File == "standard input":
		return nil
	case r.Container == "text":
		return []row{{"next", shellLine(
			append([]string{"sort"}, operand(r.File)...)...,
		)}}
	case len(r.Members) > 0:
		return nextOfMembers(r)
	case r.Container == "raw" && len(r.RecordSizes) > 0:
		return nextOfSizes(r)
	case r.DType != "":
		return []row{{"next", sortCommand(r.File, fieldFlags(r))}}
	}
	return nil
}

func nextOfMembers(r *info.Report) []row {
	i := slices.IndexFunc(r.Members, func(m info.Member) bool {
		return m.Problem == "" && len(m.Shape) == 1
	})
	if i < 0 || r.Members[i].Name == "" {
		return nil
	}
	words := []string{"extsort", "info", "--member", r.Members[i].Name}
	return []row{{"next", shellLine(append(words, operand(r.File)...)...)}}
}

// nextOfSizes suggests a sort with the likeliest record size, if that divides the size of the
// data.
func nextOfSizes(r *info.Report) []row {
	likely := r.RecordSizes[0]
	if likely.LeftOver != 0 && likely.Header == 0 {
		return nil
	}
	guess := guessKey(r.Shown, likely.RecordSize)
	flags := []string{"-R", strconv.Itoa(likely.RecordSize), "-k", guess.key}
	if likely.Header > 0 {
		flags = append(
			flags, "--skip-bytes", strconv.FormatInt(likely.Header, 10),
		)
	}
	return []row{{"guess", guess.reason}, {"next", sortCommand(r.File, flags)}}
}

// fieldFlags chooses the first field or column of an array that has several.
func fieldFlags(r *info.Report) []string {
	if r.Columns > 1 {
		return []string{"-k", "0"}
	}
	i := slices.IndexFunc(r.Fields, func(f info.Field) bool {
		return f.Type != "" && f.Name != ""
	})
	if i < 0 {
		return nil
	}
	return []string{"-k", r.Fields[i].Name}
}

// sortCommand returns a shell command that sorts a file into a new one in the same directory.
func sortCommand(file string, flags []string) string {
	suffix := filepath.Ext(file)
	base := strings.TrimSuffix(file, suffix)
	words := append([]string{"extsort"}, flags...)
	words = append(words, "-o", base+"-sorted"+suffix)
	return shellLine(append(words, operand(file)...)...)
}

// operand returns the words that name a file. They start with -- if the name looks like a flag.
func operand(file string) []string {
	if strings.HasPrefix(file, "-") {
		return []string{"--", file}
	}
	return []string{file}
}
