package textform

import (
	"bytes"
	"encoding/binary"
	"math"
	"math/big"
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"

	"github.com/extsort/extsort/format"
)

// TestDigits compares conversions of numbers with those of the standard library.
func TestDigits(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	numbers := []uint64{0, math.MaxUint64, 1 << 63, 1<<63 - 1}
	for power := uint64(1); power <= tenTo19/10; power *= 10 {
		numbers = append(numbers, power-1, power, power+1, 10*power-1, 10*power, 10*power+1)
	}
	for range 10_000 {
		numbers = append(numbers, r.Uint64()>>r.IntN(64))
	}
	padding := strings.Repeat(":", scanBytes)
	for _, n := range numbers {
		text := strconv.FormatUint(n, 10)
		if got := appendUint([]byte("a"), n); string(got) != "a"+text {
			t.Fatalf("%d is written as %s", n, got[1:])
		}
		if got := appendInt(nil, int64(n)); string(got) != strconv.FormatInt(int64(n), 10) {
			t.Fatalf("%d is written as %s", int64(n), got)
		}
		if got, length := scanUint([]byte(text + padding)); got != n || length != len(text) {
			t.Fatalf("%d is read as %d from %d characters", n, got, length)
		}
	}
	for other := range 256 { // any character ends a number
		isDigit := other >= '0' && other <= '9'
		for length := range scanBytes {
			text := strings.Repeat("1", length) + string([]byte{byte(other)}) + padding
			_, got := scanUint([]byte(text))
			want := length
			if n, _ := new(big.Int).SetString("0"+text[:length], 10); isDigit || !n.IsUint64() {
				continue
			}
			if got != want {
				t.Fatalf("%q: %d digits, want %d", text, got, want)
			}
		}
	}
}

// TestSimpleLines reads each line within other lines, which may be decoded without looking for its
// end first, and alone. The results must be equal.
func TestSimpleLines(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 8))
	cells := strings.Split("0|1|-1|-0|+5| 7|7 |\t8|255|256|-128|-129|32768|4294967296|9223372036854775807|"+
		"9223372036854775808|-9223372036854775808|-9223372036854775809|18446744073709551615|"+
		"18446744073709551616|00000000000000000001|000000000000000000000000000000001|1e3|1.5|0x1f|0x|-|"+
		"1234567890123456789012345|12a|a|\"1\"|\"a,b\"|a\"\"b|\r|1\r|\r\r|\"\r\n1\"|NaN|2026-11-28|é||,|\x00", "|")
	ending := strings.Repeat("1,1\n", scanBytes)
	for _, name := range typeNames() {
		typ := mustType(t, name)
		one := []format.Column{{Name: "a", Type: typ}}
		two := append(one, format.Column{Name: "b", Offset: typ.Size, Type: typ})
		for _, columns := range [][]format.Column{one, two} {
			for _, form := range []Form{CSV, TSV} {
				d := NewDecoder(form, len(columns)*typ.Size, columns)
				for _, first := range cells {
					line := first
					if len(columns) > 1 {
						line += string(form.separator()) + cells[r.IntN(len(cells))]
					}
					line += "\n"
					alone, lines, bad := d.Append(nil, []byte(line), 1)
					within, _, err := d.Append(nil, []byte(line+ending), 1)
					if bad != nil {
						if err == nil || err.Error() != bad.Error() {
							t.Fatalf("%s, %s: %q alone: %v; before others: %v", name, form, line, bad, err)
						}
						continue
					}
					if lines == 0 || !bytes.HasPrefix(within, alone) {
						t.Fatalf("%s, %s: %q is %x alone, and %x before others", name, form, line, alone, within)
					}
				}
			}
		}
	}
}

// BenchmarkText measures how fast one worker converts records to lines of CSV, and back.
func BenchmarkText(b *testing.B) {
	r := rand.New(rand.NewPCG(9, 10))
	for _, name := range []string{"u64", "i32", "f64", "time_ms", "bytes20", "u128"} {
		typ, err := format.ParseType(name)
		if err != nil {
			b.Fatal(err)
		}
		recs := make([]byte, 10_000*typ.Size)
		for i := range recs {
			recs[i] = byte(r.Uint32())
			if name == "time_ms" && i%8 >= 5 {
				recs[i] = 0
			}
		}
		if name == "f64" {
			for i := 0; i < len(recs); i += typ.Size {
				binary.LittleEndian.PutUint64(recs[i:], math.Float64bits(r.NormFloat64()))
			}
		}
		columns := []format.Column{{Name: "x", Type: typ}}
		encoder := NewEncoder(CSV, typ.Size, columns)
		lines := encoder.Append(nil, recs)
		var buffer []byte
		b.Run("print/"+name, func(b *testing.B) {
			b.SetBytes(int64(len(recs)))
			for b.Loop() {
				buffer = encoder.Append(buffer[:0], recs)
			}
		})
		decoder := NewDecoder(CSV, typ.Size, columns)
		b.Run("parse/"+name, func(b *testing.B) {
			b.SetBytes(int64(len(lines)))
			for b.Loop() {
				if buffer, _, err = decoder.Append(buffer[:0], lines, 1); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
