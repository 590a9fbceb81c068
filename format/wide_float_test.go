package format

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math"
	"math/big"
	"math/rand/v2"
	"slices"
	"testing"
)

// extended encodes the bits of an Extended as a type stores them, with nonzero padding.
func extended(t Type, high uint16, low uint64) []byte {
	b := append(binary.LittleEndian.AppendUint64(nil, low), byte(high), byte(high>>8))
	b = append(b, bytes.Repeat([]byte{0xa5}, t.Size-extendedBytes)...)
	if t.BigEndian {
		slices.Reverse(b)
	}
	return b
}

// TestExtendedFloatsAreInOrder compares floats with their numerical order. A processor can
// produce them, because each is a float64 or a neighbor of one.
func TestExtendedFloatsAreInOrder(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 5))
	for _, name := range []string{"f80", "f80in96", "f80in128", "f80be", "f80in96be", "f80in128be"} {
		typ := must(ParseType(name))
		k := must(NewKeyer(Bare(typ)))
		var recs [][]byte
		var values []*big.Float
		for range 2000 {
			v := math.Float64frombits(r.Uint64() &^ (uint64(r.IntN(2)) << 62))
			if math.IsNaN(v) {
				v = math.Inf(1)
			}
			high, low := wideBits(v)
			if math.IsInf(v, 0) {
				high, low = high&0x8000|0x7fff, 1<<63
			} else if low > 0 {
				low |= r.Uint64N(1 << r.IntN(12)) // more bits than a float64 has
			}
			exact, _ := wideValue(high, low)
			recs, values = append(recs, extended(typ, high, low)), append(values, exact)
		}
		for i := range recs {
			j := r.IntN(len(recs))
			want := values[i].Cmp(values[j])
			if got := k.Compare(recs[i], recs[j]); got != want && values[i].Sign() != 0 {
				t.Fatalf("%s: %v and %v compare as %d", name, values[i], values[j], got)
			}
			if _, x := wideValue(wideBits(1 / float64(i+1))); x != 1/float64(i+1) {
				t.Fatalf("1/%d comes back as %v", i+1, x)
			}
		}
	}
	for _, v := range []float64{math.SmallestNonzeroFloat64, -math.MaxFloat64, 0x1p-1050, 3} {
		if _, got := wideValue(wideBits(v)); got != v {
			t.Errorf("%v is %v", v, got)
		}
	}
}

// TestInvalidExtendedFloats checks their positions in the order, which the comment
// of wideFloat describes.
func TestInvalidExtendedFloats(t *testing.T) {
	type bits struct {
		high uint16
		low  uint64
	}
	rising := []bits{
		{0xffff, 1<<63 | 1}, {0xffff, 1 << 63}, {0xffff, 1}, {0xfffe, math.MaxUint64}, {0x8001, 1 << 63},
		{0x8000, 1 << 63}, {0x8000, 1}, {0x8000, 0},
		// Zero, subnormals, pseudo-denormals.
		{0, 0}, {0, 1}, {0, 1<<63 - 1}, {0, 1 << 63}, {0, math.MaxUint64},
		// Unnormals before numbers.
		{1, 0}, {1, 1<<63 - 1}, {1, 1 << 63}, {0x3fff, 1}, {0x3fff, 1 << 63},
		// Pseudo-infinity, pseudo-NaN, Inf.
		{0x7ffe, math.MaxUint64}, {0x7fff, 0}, {0x7fff, 1}, {0x7fff, 1 << 63},
		{0x7fff, 1<<63 | 1}, {0x7fff, math.MaxUint64}, // NaNs
	}
	for _, name := range []string{"f80", "f80in128be"} {
		typ := must(ParseType(name))
		k := must(NewKeyer(Bare(typ)))
		for i := range rising[1:] {
			a := extended(typ, rising[i].high, rising[i].low)
			b := extended(typ, rising[i+1].high, rising[i+1].low)
			if k.Compare(a, b) >= 0 || bytes.Compare(k.Append(nil, a), k.Append(nil, b)) >= 0 {
				t.Errorf("%s: %x is not before %x", name, rising[i], rising[i+1])
			}
		}
	}
}

// TestPaddingIsNotCompared checks that floats with different padding are equal, and therefore not bare.
func TestPaddingIsNotCompared(t *testing.T) {
	for _, name := range []string{"f80in96", "f80in128", "f80in96be", "f80in128be"} {
		typ := must(ParseType(name))
		k := must(NewKeyer(Bare(typ)))
		a := extended(typ, 0x3fff, 1<<63)
		b := slices.Clone(a)
		for i := range b {
			if b[i] == 0xa5 {
				b[i] = byte(i)
			}
		}
		if bytes.Equal(a, b) || k.Compare(a, b) != 0 || !bytes.Equal(k.Append(nil, a), k.Append(nil, b)) {
			t.Errorf("%s: %x and %x differ", name, a, b)
		}
		if l := k.Layout(); l.IsBare() || k.KeySize() != 10 || l.KeySize() != 10 || l.String() != "bare "+name {
			t.Errorf("%v: bare %v, key of %d bytes", l, l.IsBare(), k.KeySize())
		}
	}
}

// A special is a float with its class: floats of the same class are numerically equal. All NaNs
// are in one class.
type special struct {
	rec   []byte
	class float64
}

// specialFloats returns floats of a type, including all kinds of NaNs, in any order.
func specialFloats(typ Type) (all []special) {
	put := func(v uint64, class float64) {
		b := binary.LittleEndian.AppendUint64(nil, v)[:typ.Size]
		if typ.BigEndian {
			slices.Reverse(b)
		}
		all = append(all, special{b, class})
	}
	switch {
	case typ.Size == 2:
		for v := range 1 << 16 {
			value := half(uint16(v))
			if typ.Kind == Brain {
				value = float64(math.Float32frombits(uint32(v) << 16))
			}
			put(uint64(v), value)
		}
	case typ.Size == 4:
		for _, v := range []uint32{0, 1 << 31, 1, 1<<31 | 1, 0x7f800000, 0xff800000, 0x7f800001, 0xff800001, 0x7fffffff,
			0xffffffff, 0x7fc00000, 0xffc00000, 0x3f800000, 0x3f800001, 0xbf800000, 0x7f7fffff, 0xff7fffff} {
			put(uint64(v), float64(math.Float32frombits(v)))
		}
	case typ.Size == 8:
		for _, v := range []uint64{0, 1 << 63, 1, 1<<63 | 1, 0x7ff0 << 48, 0xfff0 << 48, 0x7ff0<<48 | 1, 0xfff0<<48 | 1,
			math.MaxUint64, math.MaxUint64 >> 1, 0x7ff8 << 48, 0xfff8 << 48, 0x3ff0 << 48, 0xbff0 << 48, 0x7fef<<48 | 1} {
			put(v, math.Float64frombits(v))
		}
	default:
		for i, high := range []uint16{0, 0x3fff, 0x7ffe, 0x7fff} {
			for j, low := range []uint64{1 << 63, 1<<63 | 1, math.MaxUint64, 0} {
				if (high == 0) != (low == 0) {
					continue
				}
				class := float64(10*i + j)
				if high == 0 {
					class = 0
				} else if high == 0x7fff && low > 1<<63 {
					class = math.NaN()
				}
				all = append(all, special{extended(typ, high, low), class}, special{extended(typ, high|0x8000, low), -class})
			}
		}
	}
	return all
}

// TestNumericFloats checks that numeric floats have equal keys if and only if they are equal
// numbers or NaNs, that NaNs are at one end, that all forms of a key agree, and that the text of a
// key shows no more than the key contains.
func TestNumericFloats(t *testing.T) {
	for _, name := range []string{"f16", "bf16be", "f32", "f32be", "f64", "f64be", "f80", "f80in96be", "f80in128"} {
		for variant := range 6 {
			f := Field{Type: must(ParseType(name)), Numeric: true, Desc: variant%2 == 1, NaN: NaNOrder(variant / 2)}
			k := must(NewKeyer(Layout{RecordSize: f.Type.Size, Key: []Field{f}}))
			if l := k.Layout(); l.IsBare() || !l.MovesNaNs() {
				t.Fatalf("%v is bare, or sorted by any device", f)
			}
			all := specialFloats(f.Type)
			slices.SortStableFunc(all, func(a, b special) int { return k.Compare(a.rec, b.rec) })
			checkNumeric(t, k, all)
		}
	}
}

// checkNumeric checks floats that k has sorted.
func checkNumeric(t *testing.T, k *Keyer, all []special) {
	t.Helper()
	f := k.Layout().Key[0]
	what := fmt.Sprint(f, " NaN ", f.NaN)
	prefixes := make([]uint64, 1)
	for i, v := range all {
		key := k.Append(nil, v.rec)
		k.BitRanges(prefixes, v.rec, 0, k.PrefixBits())
		if PrefixOf(key) != k.Prefix(v.rec) || prefixes[0] != k.Prefix(v.rec) || f.IsNaN(key) != math.IsNaN(v.class) {
			t.Fatalf("%s: the key of %x is %x, its prefix %x, in bulk %x", what, v.rec, key, k.Prefix(v.rec), prefixes)
		}
		if text := k.Layout().KeyText(key); math.IsNaN(v.class) && text != "NaN" || v.class == 0 && text != "0" {
			t.Fatalf("%s: the key of %x is %s", what, v.rec, text)
		}
		if i == 0 {
			continue
		}
		before := all[i-1]
		same := before.class == v.class || math.IsNaN(before.class) && math.IsNaN(v.class)
		equal := bytes.Equal(key, k.Append(nil, before.rec))
		rises := before.class < v.class
		if f.Desc {
			rises = before.class > v.class
		}
		if math.IsNaN(before.class) != math.IsNaN(v.class) {
			rises = math.IsNaN(v.class) == (f.NaN != NaNFirst)
		}
		if same != equal || equal != (k.Compare(before.rec, v.rec) == 0) || !same && !rises {
			t.Fatalf("%s: %x (%v) and %x (%v): equal %v", what, before.rec, before.class, v.rec, v.class, equal)
		}
	}
}

// TestPackNumericFloats packs records sorted by keys from which the records cannot be rebuilt.
func TestPackNumericFloats(t *testing.T) {
	for _, name := range []string{"f32be", "f64", "f80", "f80in96be", "f80in128"} {
		f := Field{Type: must(ParseType(name)), Numeric: true}
		l := Layout{RecordSize: f.Type.Size, Key: []Field{f}}
		k, p := must(NewKeyer(l)), NewPacker(l)
		if p == nil {
			t.Skip("nothing is packed on this machine")
		}
		all := slices.Repeat(specialFloats(f.Type), 20)
		slices.SortStableFunc(all, func(a, b special) int { return k.Compare(a.rec, b.rec) })
		var recs []byte
		for _, v := range all {
			recs = append(recs, v.rec...)
		}
		packed := p.Pack(make([]byte, MaxCompressed(len(recs), Delta)), recs)
		got := make([]byte, len(recs))
		packed = append(packed, make([]byte, packPadding)...)
		if err := p.Unpack(got, packed[:len(packed)-packPadding]); err != nil || !bytes.Equal(got, recs) {
			t.Errorf("%s: records do not come back: %v", name, err)
		}
	}
}
