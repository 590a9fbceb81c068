package format

import (
	"bytes"
	"encoding/binary"
	"math"
	"math/big"
	"os"
	"testing"

	"github.com/extsort/extsort/internal/testfiles"
)

func TestForeignName(t *testing.T) {
	for first, want := range map[string]string{
		"\xfd7zXZ\x00 and so on": "compressed with xz",
		"SQLite format 3\x00":    "an SQLite database",
		"\x93NUMPY":              "a NumPy array",
		"01234567":               "",
		"":                       "",
	} {
		if got := ForeignName([]byte(first)); got != want {
			t.Errorf("%q: %q, want %q", first, got, want)
		}
	}
}

func TestReadArray(t *testing.T) {
	file := testfiles.Open(t, "../testdata/particles.npy", os.O_RDONLY)
	a, err := ReadArray("npy", file)
	if err != nil {
		t.Fatal(err)
	}
	info, _ := file.Stat()
	if a.Records != 500 || a.HeaderBytes+500*int64(a.RecordSize) != info.Size() || len(a.Fields) != 4 {
		t.Fatalf("%+v", a)
	}
	if f := a.Fields[2]; f.Name != "mass" || f.Offset != 16 || f.Type.String() != "f64" || f.Why != "" {
		t.Errorf("%+v", f)
	}
	if f := a.Fields[1]; f.Why == "" {
		t.Errorf("an array in a record can be a key: %+v", f)
	}
	if _, err := ReadArray("npy", bytes.NewReader([]byte("no array at all"))); err == nil {
		t.Error("no error of what is no array")
	}
}

// TestNumber checks that the number of a key equals its value, for both directions.
func TestNumber(t *testing.T) {
	values := []float64{0, 1, -1, 127, -128, 255, 1000, -1000, 65535, 1 << 40, -1 << 40, 0.5, -0.25,
		math.Inf(1), math.Inf(-1)}
	for _, name := range append([]string{"u32be", "i64be", "f64be", "time_ns", "time_sbe"}, NumberTypes...) {
		typ, err := ParseType(name)
		if err != nil {
			t.Fatal(err)
		}
		for _, v := range values {
			if rec, ok := encodeNumber(typ, v); ok {
				checkNumber(t, Field{Type: typ}, rec, v)
				checkNumber(t, Field{Type: typ, Desc: true}, rec, v)
			}
		}
	}
	typ := Type{Kind: Float, Size: 8}
	rec := binary.LittleEndian.AppendUint64(nil, math.Float64bits(math.NaN()))
	if x := (Field{Type: typ}).Number(normalized(t, Field{Type: typ}, rec)); !math.IsNaN(x) {
		t.Errorf("a NaN is %v", x)
	}
	for _, typ := range []Type{{Kind: Zoned, Size: 5}, {Kind: Packed, Size: 4}} {
		for _, v := range []int64{0, 7, -12345} {
			rec := make([]byte, typ.Size)
			PutDecimal(rec, typ, v)
			checkNumber(t, Field{Type: typ}, rec, float64(v))
			checkNumber(t, Field{Type: typ, Desc: true}, rec, float64(v))
		}
	}
	checkNumber(t, Field{Type: Type{Kind: Bytes, Size: 2}}, []byte{1, 2}, 0x0102<<48)
	checkNumber(t, Field{Type: Type{Kind: Bytes, Size: 9}}, []byte("\x00\x00\x00\x00\x00\x00\x01\x02zzz")[:9], 0x0102)
}

func checkNumber(t *testing.T, f Field, rec []byte, want float64) {
	t.Helper()
	if got := f.Number(normalized(t, f, rec)); got != want {
		t.Errorf("%v: %v is %v", f, want, got)
	}
}

func normalized(t *testing.T, f Field, rec []byte) []byte {
	k := must(NewKeyer(Layout{RecordSize: f.Type.Size, Key: []Field{f}}))
	return k.Append(nil, rec)
}

// encodeNumber encodes a value in a type. It returns false if the type has no such value.
func encodeNumber(t Type, v float64) ([]byte, bool) {
	var b []byte
	switch {
	case t.Kind == Float && t.Size == 2:
		for bits := range 1 << 16 {
			if half(uint16(bits)) == v {
				b = binary.LittleEndian.AppendUint16(nil, uint16(bits))
			}
		}
	case t.Kind == Brain:
		if bits := math.Float32bits(float32(v)); bits<<16 == 0 {
			b = binary.LittleEndian.AppendUint16(nil, uint16(bits>>16))
		}
	case t.Kind == Float && t.Size == 4:
		b = binary.LittleEndian.AppendUint32(nil, math.Float32bits(float32(v)))
	case t.Kind == Extended:
		exact := new(big.Float).SetFloat64(v)
		low := uint64(0)
		if exact.IsInf() {
			low = 1 << 63
		}
		exponent := 0x7fff
		if !exact.IsInf() {
			mantissa := new(big.Float)
			exponent = exact.MantExp(mantissa)
			low, _ = mantissa.Abs(mantissa).SetMantExp(mantissa, 64).Uint64()
			if exponent += 16382; v == 0 {
				exponent = 0
			}
		}
		if exact.Signbit() {
			exponent |= 0x8000
		}
		b = binary.LittleEndian.AppendUint64(nil, low)
		b = binary.LittleEndian.AppendUint16(b, uint16(exponent))
		b = append(b, "padding"[:t.Size-10]...)
	case t.Kind == Float:
		b = binary.LittleEndian.AppendUint64(nil, math.Float64bits(v))
	default:
		most, least := math.Ldexp(1, 8*t.Size), 0.0
		if t.Kind == Signed {
			most /= 2
			least = -most
		}
		if v != math.Trunc(v) || math.IsInf(v, 0) || v < least || v >= most {
			return nil, false
		}
		b = binary.LittleEndian.AppendUint64(nil, uint64(int64(v)))
		high := uint64(int64(v) >> 63)
		b = binary.LittleEndian.AppendUint64(b, high)[:t.Size]
	}
	if len(b) == 0 {
		return nil, false
	}
	if t.BigEndian {
		for i := range len(b) / 2 {
			b[i], b[len(b)-1-i] = b[len(b)-1-i], b[i]
		}
	}
	return b, true
}

func TestNumberText(t *testing.T) {
	for want, f := range map[string]struct {
		typ string
		x   float64
	}{
		"1000":     {"u64", 1000},
		"1e+20":    {"u64", 1e20},
		"-3":       {"i8", -3},
		"0.333333": {"f64", 1.0 / 3},
		`"abcd"`:   {"bytes9", 0x6162636465666768},
		"0xffff":   {"bytes2", 1 << 64},
	} {
		typ, err := ParseType(f.typ)
		if err != nil {
			t.Fatal(err)
		}
		if got := (Field{Type: typ}).NumberText(f.x); got != want {
			t.Errorf("%v as %s: %s, want %s", f.x, f.typ, got, want)
		}
	}
}
