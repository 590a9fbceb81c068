package format

import (
	"encoding/binary"
	"math"
	"strings"
	"testing"
)

// TestKeyText shows keys of every kind as people read them, in both directions.
func TestKeyText(t *testing.T) {
	le := binary.LittleEndian
	f32 := func(bits uint32) []byte { return le.AppendUint32(nil, bits) }
	f64 := func(v float64) []byte { return le.AppendUint64(nil, math.Float64bits(v)) }
	long := []byte(strings.Repeat("x", 40))
	for _, c := range []struct {
		layout string
		rec    []byte
		want   string
	}{
		{"1 0:u8", []byte{200}, "200"},
		{"1 0:i8", []byte{200}, "-56"},
		{"4 0:u32", le.AppendUint32(nil, 7), "7"},
		{"4 0:u32be", []byte{0, 0, 1, 0}, "256"},
		{"8 0:i64", le.AppendUint64(nil, 1<<63), "-9223372036854775808"},
		{"16 0:u128", []byte(strings.Repeat("\xff", 16)), "340282366920938463463374607431768211455"},
		{"16 0:i128be", []byte(strings.Repeat("\xff", 16)), "-1"},
		{"4 0:f32", f32(math.Float32bits(0.1)), "0.1"},
		{"8 0:f64", f64(-2.5e300), "-2.5e+300"},
		{"8 0:f64", f64(math.Copysign(0, -1)), "-0"},
		{"8 0:f64", f64(math.Inf(-1)), "-Inf"},
		{"4 0:f32", f32(0xffc00001), "NaN(0xffc00001)"},
		{"4 0:bytes4", []byte("a\"b "), `"a\"b "`},
		{"4 0:bytes4", []byte("ab\n\x00"), "0x61620a00"},
		{"40 0:bytes40", long, `"` + string(long[:32]) + `"…`},
		{"40 0:bytes40", make([]byte, 40), "0x" + strings.Repeat("00", 32) + "…"},
		{"2 0:f16", []byte{0x66, 0x2e}, "0.099976"}, {"2 0:f16be", []byte{0x7b, 0xff}, "65504"},
		{"2 0:f16", []byte{0, 0x80}, "-0"}, {"2 0:f16", []byte{1, 0xfe}, "NaN(0xfe01)"},
		{"2 0:bf16", []byte{0xcd, 0x3d}, "0.1001"}, {"2 0:bf16be", []byte{0xff, 0x80}, "-Inf"},
		{"10 0:f80", []byte("\x00\x00\x00\x00\x00\x00\x00\xc0\x00\xc0"), "-3"},
		{"10 0:f80", []byte("\xcd\xcc\xcc\xcc\xcc\xcc\xcc\xcc\xfb\x3f"), "0.1"},
		{"16 0:f80in128be", []byte("------\x7f\xfe\xff\xff\xff\xff\xff\xff\xff\xff"), "1.189731495357231765e+4932"},
		{"12 0:f80in96", []byte("\x01\x00\x00\x00\x00\x00\x00\x00\x00\x00--"), "4e-4951"},
		{"12 0:f80in96", []byte("\x00\x00\x00\x00\x00\x00\x00\x80\xff\xff--"), "-Inf"},
		{"10 0:f80be", []byte("\x80\x00\x00\x00\x00\x00\x00\x00\x00\x00"), "-0"},
		{"10 0:f80be", []byte("\x7f\xff\xc0\x00\x00\x00\x00\x00\x00\x01"), "NaN(0x7fffc000000000000001)"},
		{"10 0:f80be", []byte("\x40\x00\x40\x00\x00\x00\x00\x00\x00\x00"), "invalid(0x40004000000000000000)"},
		{"3 0:i24", []byte("\xff\xff\x7f"), "8388607"}, {"5 0:i40be", []byte("\xff\xff\xff\xff\xfe"), "-2"},
		{"6 0:i48", []byte("\x00\x00\x00\x00\x00\x80"), "-140737488355328"},
		{"12 0:ucs3", []byte("\xfc\x00\x00\x00z\x00\x00\x00\x00\x00\x00\x00"), `"üz"`},
		{"8 0:ucs2be", []byte("\x00\x01\xf6\x00\x00\x00\x00x"), `"😀x"`},
		{"160 0:ucs40be", []byte(strings.Repeat("\x00\x00\x00x", 40)), `"` + string(long[:32]) + `"…`},
		{"7 5:u16be 0:bytes2", []byte("hi...\x01\x02"), `(258, "hi")`},
	} {
		for _, desc := range []bool{false, true} {
			k := keyer(t, c.layout)
			if desc {
				k = must(NewKeyer(k.Layout().Reverse()))
			}
			if got := k.Layout().KeyText(k.Append(nil, c.rec)); got != c.want {
				t.Errorf("%v: the key is %s, want %s", k.Layout(), got, c.want)
			}
		}
	}
}

// TestKeyTextsShowTheDifference finds the field in which keys differ, and shows of long bytes where they do.
func TestKeyTextsShowTheDifference(t *testing.T) {
	x := strings.Repeat("x", 99)
	for _, c := range []struct {
		layout, a, b, textA, textB string
		differs                    int
	}{
		{"2 0:u8 1:u8", "\x01\x02", "\x01\x03", "(1, 2)", "(1, 3)", 1},
		{"2 0:u8 1:u8", "\x02\x02", "\x01\x03", "(2, 2)", "(1, 3)", 0},
		{"1 0:u8", "\x02", "\x02", "2", "2", -1},
		{"100 0:bytes100", x + "a", x + "b", `…"` + x[:31] + `a"`, `…"` + x[:31] + `b"`, 0},
		{"100 0:bytes100", x[:60] + "a" + x[:39], x[:60] + "\x00" + x[:39],
			`…"` + x[:16] + "a" + x[:15] + `"…`, "0x…" + strings.Repeat("78", 16) + "00" + strings.Repeat("78", 15) + "…", 0},
	} {
		k := keyer(t, c.layout)
		a, b, differs := k.Layout().KeyTexts(k.Append(nil, []byte(c.a)), k.Append(nil, []byte(c.b)))
		if a != c.textA || b != c.textB || differs != c.differs {
			t.Errorf("%s: %s and %s, which differ in field %d; want %s, %s, %d",
				c.layout, a, b, differs, c.textA, c.textB, c.differs)
		}
	}
}
