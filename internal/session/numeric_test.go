package session

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/extsort/extsort/chunker/plan"
	"github.com/extsort/extsort/format"
)

// numericCase is a kind of record with a float and an index, which shows whether equal keys keep
// their order.
type numericCase struct {
	spec  format.Spec
	size  int
	write func(rec []byte, v float64, index int)
	read  func(rec []byte) float64
	desc  bool
}

var numericCases = map[string]numericCase{
	// A bare float can store an index only in the payload of a NaN and the sign of a zero.
	"f64": {
		spec: format.Spec{Type: "f64"}, size: 8,
		write: func(rec []byte, v float64, _ int) { binary.LittleEndian.PutUint64(rec, math.Float64bits(v)) },
		read:  func(rec []byte) float64 { return math.Float64frombits(binary.LittleEndian.Uint64(rec)) },
	},
	"f32be in 9 bytes": {
		spec: format.Spec{RecordSize: 9, Keys: []string{"4:f32be:desc"}}, size: 9, desc: true,
		write: func(rec []byte, v float64, index int) {
			binary.BigEndian.PutUint32(rec[4:], math.Float32bits(float32(v)))
			binary.LittleEndian.PutUint32(rec, uint32(index))
		},
		read: func(rec []byte) float64 { return float64(math.Float32frombits(binary.BigEndian.Uint32(rec[4:]))) },
	},
	"padded f80": { // the index is in the padding
		spec: format.Spec{Type: "f80in128"}, size: 16,
		write: func(rec []byte, v float64, index int) {
			low, high := x87(v)
			binary.LittleEndian.PutUint64(rec, low)
			binary.LittleEndian.PutUint64(rec[8:], uint64(high)|uint64(index)<<16)
		},
		read: func(rec []byte) float64 {
			return fromX87(binary.LittleEndian.Uint64(rec), binary.LittleEndian.Uint16(rec[8:]))
		},
	},
}

// Decimals have several codes for the same value. The index selects one of them, which shows
// whether the sort is stable.
func init() {
	numericCases["packed4"] = numericCase{
		spec: format.Spec{Type: "packed4"}, size: 4,
		write: func(rec []byte, v float64, index int) { writeDecimal(rec, "%07d", true, v, index) },
		read:  func(rec []byte) float64 { return readDecimal(fmt.Sprintf("%x", rec)) },
	}
	numericCases["zoned20 in 23 bytes"] = numericCase{
		spec: format.Spec{RecordSize: 23, Keys: []string{"3:zoned20:desc"}}, size: 23, desc: true,
		write: func(rec []byte, v float64, index int) { writeDecimal(rec[3:], "%020d", false, v, index) },
		read: func(rec []byte) float64 {
			text := ""
			for _, c := range rec[3:] {
				text += fmt.Sprintf("%x", c&15)
			}
			return readDecimal(text + fmt.Sprintf("%x", rec[22]>>4))
		},
	}
}

// writeDecimal writes a whole number near v as a decimal with the number of digits in form.
func writeDecimal(rec []byte, form string, packed bool, v float64, index int) {
	number := int64(0)
	if math.Abs(v) < 1e15 {
		number = int64(v) % 10_000_000
	}
	signs := "acef"
	if math.Signbit(v) {
		signs = "bd"
	}
	digits := fmt.Sprintf(form, max(number, -number)) + signs[index%len(signs):][:1]
	if !packed {
		zoned := ""
		for _, digit := range digits[:len(digits)-2] {
			zoned += "f" + string(digit)
		}
		digits = zoned + digits[len(digits)-1:] + digits[len(digits)-2:len(digits)-1]
	}
	if _, err := hex.Decode(rec, []byte(digits)); err != nil {
		panic(err)
	}
}

// readDecimal returns the value of digits that end in a sign.
func readDecimal(text string) float64 {
	value, err := strconv.ParseFloat(text[:len(text)-1], 64)
	if err != nil {
		panic(err)
	}
	if strings.Contains("bd", text[len(text)-1:]) {
		return -value
	}
	return value
}

// x87 converts a float to the 80-bit format of x86.
func x87(v float64) (significand uint64, exponent uint16) {
	if math.Signbit(v) {
		exponent = 0x8000
	}
	b := math.Float64bits(v)
	switch {
	case v == 0:
		return 0, exponent
	case math.IsInf(v, 0) || math.IsNaN(v):
		return 1<<63 | b<<11, exponent | 0x7fff
	}
	fraction, power := math.Frexp(math.Abs(v))
	return uint64(math.Ldexp(fraction, 64)), exponent | uint16(power+16382)
}

func fromX87(significand uint64, exponent uint16) float64 {
	v := math.Ldexp(float64(significand>>11), int(exponent&0x7fff)-16383-52)
	switch {
	case exponent&0x7fff == 0x7fff && significand == 1<<63:
		v = math.Inf(1)
	case exponent&0x7fff == 0x7fff:
		v = math.NaN()
	}
	return math.Copysign(v, 1-2*float64(exponent>>15))
}

// compare returns a comparison in numeric order: equal numbers compare as equal, and so do all
// NaNs. NaNs are at one end in both directions.
func (c numericCase) compare(opt Options) func(a, b []byte) int {
	return func(a, b []byte) int {
		x, y := c.read(a), c.read(b)
		if math.IsNaN(x) || math.IsNaN(y) {
			last := cmp.Compare(asInt(math.IsNaN(x)), asInt(math.IsNaN(y)))
			if opt.Record.NaN == "first" {
				return -last
			}
			return last
		}
		order := 0
		if x < y {
			order = -1
		} else if x > y {
			order = 1
		}
		if opt.Reverse != c.desc {
			return -order
		}
		return order
	}
}

func asInt(b bool) int {
	if b {
		return 1
	}
	return 0
}

// records returns records with either many distinct values, or a few, including many zeros and
// NaNs.
func (c numericCase) records(n int, r *rand.Rand) (recs [][]byte) {
	few := r.IntN(2) == 0
	for i := range n {
		v := someFloat(r)
		switch {
		case few && r.IntN(3) == 0:
			v = math.Copysign(0, r.Float64()-0.5)
		case few:
			v = math.Round(v)
		}
		rec := make([]byte, c.size)
		c.write(rec, v, i)
		recs = append(recs, rec)
	}
	return recs
}

// TestSortNumeric compares numeric sorts of every strategy with a stable sort by numeric value,
// including sorts that select unique records, counts, or duplicates. It then checks and merges the
// result.
func TestSortNumeric(t *testing.T) {
	t.Parallel()
	r := seeded(t)
	for name, c := range numericCases {
		for _, n := range []int{0, 1, 2, 2500} {
			for range effort(12) {
				opt := Options{Record: c.spec, Reverse: r.IntN(2) == 0}
				opt.Record.Float = "numeric"
				opt.Record.NaN = []string{"", "first", "last"}[r.IntN(3)]
				switch r.IntN(5) {
				case 0:
					opt.Unique = true
				case 1:
					opt.Unique, opt.Count = true, true
				case 2:
					opt.Duplicates = true
				}
				recs := c.records(n, r)
				want := c.expected(opt, recs)
				sorting := withInputs(t, variant(opt, c.size, r), bytes.Join(recs, nil), c.size, r)
				got, _, err := sortToBytes(t, sorting)
				if err != nil || !bytes.Equal(got, want) {
					t.Fatalf("%s, %+v: %s: the output is wrong (%v)", name, opt.Record, describe(sorting), err)
				}
				if !opt.Count {
					c.checkAgain(t, opt, got)
				}
			}
		}
	}
}

// expected returns the expected output of a sort.
func (c numericCase) expected(opt Options, recs [][]byte) (out []byte) {
	compare := c.compare(opt)
	sorted := slices.Clone(recs)
	slices.SortStableFunc(sorted, compare)
	if !opt.Unique && !opt.Duplicates {
		return bytes.Join(sorted, nil)
	}
	for len(sorted) > 0 {
		n := 1
		for n < len(sorted) && compare(sorted[0], sorted[n]) == 0 {
			n++
		}
		if opt.Unique || n > 1 {
			out = append(out, sorted[0]...)
		}
		if opt.Count {
			out = binary.LittleEndian.AppendUint64(out, uint64(n))
		}
		sorted = sorted[n:]
	}
	return out
}

// checkAgain checks sorted records and merges their halves.
func (c numericCase) checkAgain(t *testing.T, opt Options, sorted []byte) {
	t.Helper()
	half := len(sorted) / c.size / 2 * c.size
	opt.Inputs = []string{writeFile(t, sorted)}
	opt.Unique = opt.Unique || opt.Duplicates
	opt.Duplicates = false
	if _, err := Check(t.Context(), checkOptions(opt)); err != nil {
		t.Fatal(err)
	}
	opt.Inputs = []string{writeFile(t, sorted[:half]), writeFile(t, sorted[half:])}
	if merged, err := mergeToBytes(t, mergeOptions(opt)); err != nil || !bytes.Equal(merged, sorted) {
		t.Fatalf("a merge of the halves gives something else: %v", err)
	}
}

// TestNumericSortsAreOthers checks that a checkpoint of a sort in total order does not continue
// with a numeric sort.
func TestNumericSortsAreOthers(t *testing.T) {
	opt := Options{Record: format.Spec{Type: "f64"}, Output: t.TempDir() + "/out"}
	keyer, err := format.NewKeyer(format.Bare(format.Type{Kind: format.Float, Size: 8}))
	if err != nil {
		t.Fatal(err)
	}
	ids := map[string]bool{}
	for _, float := range []string{"", "total", "numeric"} {
		opt.Record.Float = float
		ids[fmt.Sprint(opt.identity(&plan.Facts{Keyer: keyer}, nil))] = true
	}
	if len(ids) != 2 {
		t.Errorf("three sorts, of which two are the same, have %d identities", len(ids))
	}
}
