package main

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"math"
	"testing"
)

func floats(values ...float64) (encoded [][]byte) {
	for _, v := range values {
		encoded = append(encoded, binary.LittleEndian.AppendUint64(nil, math.Float64bits(v)))
	}
	return encoded
}

// TestKeys tests ascending lists of keys.
func TestKeys(t *testing.T) {
	nan, inf := math.NaN(), math.Inf(1)
	for _, c := range []struct {
		name   string
		field  field
		values [][]byte
	}{
		{"f64", field{kind: 'f', size: 8},
			floats(math.Copysign(nan, -1), -inf, -2, -1, -5e-324, math.Copysign(0, -1), 0, 5e-324, 1, inf, nan)},
		{"u16", field{kind: 'u', size: 2}, [][]byte{{0, 0}, {1, 0}, {0xff, 0}, {0, 1}, {0, 0xff}}},
		{"u16be", field{kind: 'u', size: 2, big: true}, [][]byte{{0, 0}, {0, 1}, {0, 0xff}, {1, 0}, {0xff, 0}}},
		{"i16", field{kind: 'i', size: 2}, [][]byte{{0, 0x80}, {0xff, 0xff}, {0, 0}, {1, 0}, {0xff, 0x7f}}},
		{"i8", field{kind: 'i', size: 1}, [][]byte{{0x80}, {0xff}, {0}, {0x7f}}},
		{"bytes2", field{kind: 'b', size: 2}, [][]byte{{0, 9}, {1, 0}, {0x80, 0}, {0xff, 1}}},
		{"i24", field{kind: 'i', size: 3}, [][]byte{{0, 0, 0x80}, {0xff, 0xff, 0xff}, {0, 0, 0}, {1, 0, 0}, {0, 1, 0}}},
		{"f80", field{kind: 'x', size: 10},
			wideFloats("", math.Copysign(nan, -1), -inf, -2, -1, 0, 5e-324, 1, 1e300, inf, nan)},
		{"f80in96", field{kind: 'x', size: 12}, wideFloats("~!", -inf, -2, math.Copysign(0, -1), 0, 3, nan)},
		{"u16:desc", field{kind: 'u', size: 2, desc: true}, [][]byte{{0, 1}, {0xff, 0}, {1, 0}, {0, 0}}},
	} {
		if c.name != c.field.typeName() && c.name != c.field.keyFlag()[2:] {
			t.Errorf("%s is called %s", c.name, c.field.typeName())
		}
		for i := range len(c.values) - 1 {
			if compareKeys([]field{c.field}, c.values[i], c.values[i+1]) >= 0 {
				t.Errorf("%s: %x is not before %x", c.name, c.values[i], c.values[i+1])
			}
		}
	}
}

// wideFloats returns little-endian floats of 80 bits, each followed by some padding.
func wideFloats(padding string, values ...float64) (encoded [][]byte) {
	for _, v := range values {
		exponent, significand := extended(v)
		b := binary.LittleEndian.AppendUint64(nil, significand)
		b = binary.LittleEndian.AppendUint16(b, exponent)
		encoded = append(encoded, append(b, padding...))
	}
	return encoded
}

// TestNumericKeys checks that zeros are equal, and that NaNs come last in both directions.
func TestNumericKeys(t *testing.T) {
	nan, zero := math.NaN(), math.Copysign(0, -1)
	for _, desc := range []bool{false, true} {
		for _, c := range []struct {
			field  field
			values [][]byte
		}{
			{field{kind: 'f', size: 8}, floats(zero, 0, nan, -nan, math.Inf(1))},
			{field{kind: 'x', size: 10}, wideFloats("", zero, 0, nan, math.Copysign(nan, -1), math.Inf(1))},
		} {
			f := c.field
			f.numeric, f.desc = true, desc
			v, fields := c.values, []field{f}
			equal := compareKeys(fields, v[0], v[1]) == 0 && compareKeys(fields, v[2], v[3]) == 0
			if !equal || compareKeys(fields, v[4], v[2]) >= 0 || compareKeys(fields, v[0], v[4]) < 0 == desc {
				t.Errorf("%v: the order is wrong", f)
			}
		}
	}
}

func TestOracle(t *testing.T) {
	o := oracle{2, []field{{kind: 'u', size: 1}}}
	records := []byte{2, 'a', 1, 'b', 2, 'c', 1, 'd'}
	up, down := o.sorted(records), o.reversed().sorted(records)
	if string(up) != "\x01b\x01d\x02a\x02c" || string(down) != "\x02a\x02c\x01b\x01d" {
		t.Errorf("sorted: %q, reversed: %q", up, down)
	}
	if u := o.unique(up); string(u) != "\x01b\x02a" {
		t.Errorf("unique: %q", u)
	}
	if i, j, k := o.disorder(records, false), o.disorder(up, false), o.disorder(up, true); i != 1 || j != -1 || k != 1 {
		t.Errorf("disorder: %d, %d, strictly %d", i, j, k)
	}
}

// TestWideKeys compares fields that overlap beyond the first eight bytes.
func TestWideKeys(t *testing.T) {
	o := oracle{12, []field{{kind: 'b', size: 9}, {offset: 8, kind: 'u', size: 4}}}
	a, b, c := []byte("same key1\x00\x02."), []byte("same key1\x01\x01."), []byte("same key0\x07\x07.")
	if got := o.sorted(bytes.Join([][]byte{a, b, c}, nil)); string(got) != string(c)+string(b)+string(a) {
		t.Errorf("%q", got)
	}
}

// TestNpyHeader compares the header with that of NumPy for three records of an id and a price.
func TestNpyHeader(t *testing.T) {
	want, _ := hex.DecodeString(
		"934e554d5059010076007b276465736372273a205b28276964272c20273c753427292c2028277072696365" +
			"272c20273c663827295d2c2027666f727472616e5f6f72646572273a2046616c73652c20277368617065273a2028332c292c207d" +
			"20202020202020202020202020202020202020202020202020202020202020200a",
	)
	if got := npyHeader("[('id', '<u4'), ('price', '<f8')]", 3); !bytes.Equal(got, want) {
		t.Errorf("%q\nNumPy: %q", got, want)
	}
}

func TestCompress(t *testing.T) {
	data := bytes.Repeat([]byte("records "), 1000)
	for _, kind := range []string{"", "gzip", "zstd", "s2"} {
		for streams := 1; streams <= 2; streams++ {
			got, err := decompress(kind, compress(kind, data, streams))
			if err != nil || !bytes.Equal(got, data) {
				t.Errorf("%q in %d streams: %d bytes, %v", kind, streams, len(got), err)
			}
		}
	}
	if got, err := decompress("brotli", compress("brotli", data, 1)); err != nil || !bytes.Equal(got, data) {
		t.Errorf("brotli: %d bytes, %v", len(got), err)
	}
}
