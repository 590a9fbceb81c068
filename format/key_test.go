package format

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"math"
	"math/big"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/extsort/extsort/internal/testrows"
)

// layout parses "SIZE field field …".
func layout(t testing.TB, s string) Layout {
	t.Helper()
	words := strings.Fields(s)
	var l Layout
	if _, err := fmt.Sscan(words[0], &l.RecordSize); err != nil {
		t.Fatal(err)
	}
	for _, w := range words[1:] {
		f, err := ParseField(w)
		if err != nil {
			t.Fatal(err)
		}
		l.Key = append(l.Key, f)
	}
	return l
}

func keyer(t testing.TB, s string) *Keyer {
	t.Helper()
	k := must(NewKeyer(layout(t, s)))
	return k
}

// layouts has every number type in both byte orders and directions at aligned and odd offsets, bytesN around
// the sizes of machine words, and composed, overlapping and huge keys.
func layouts() []string {
	var all []string
	for _, name := range slices.Concat(NumberTypes, []string{"ucs1", "ucs2", "ucs5"}) {
		for _, suffix := range []string{"", "be", ":desc", "be:desc"} {
			t, _ := ParseType(strings.TrimSuffix(name+suffix, ":desc"))
			all = append(all, fmt.Sprintf("%d 0:%s%s", t.Size, name, suffix), fmt.Sprintf("%d 3:%s%s", t.Size+5, name, suffix))
		}
	}
	for _, name := range slices.Concat(TimeTypes(), []string{
		"ebcdic7", "zoned1", "zoned2", "zoned15", "zoned16", "zoned31",
		"packed1", "packed4", "packed8", "packed9", "packed16",
	}) {
		t, _ := ParseType(name)
		all = append(all, fmt.Sprintf("%d 0:%s", t.Size, name), fmt.Sprintf("%d 3:%s:desc", t.Size+5, name))
	}
	for n := 1; n <= 17; n++ {
		all = append(all, fmt.Sprintf("%d 0:bytes%d", n, n), fmt.Sprintf("%d 0:bytes%d:desc", n, n),
			fmt.Sprintf("%d 2:bytes%d", n+3, n))
	}
	return append(all,
		"100 0:bytes10", "7 3:u16be:desc 0:i8", "12 0:f32 4:u64", "12 8:u32:desc 0:f64",
		"9 0:u8 1:u8 2:u8 3:u8 4:u8 5:u8 6:u8 7:u8 8:u8",
		"10 0:u16 1:u16be:desc 2:i32", "40 0:u128be 5:i128:desc 30:bytes3", "6 0:bytes5 1:bytes5:desc",
		"300 1:bytes290 0:i8:desc",
		"20 0:u8 1:i8 2:u8 3:i8 4:u8 5:u8 6:u8 7:u8 8:u8 9:u8 10:f32 14:u16 12:i16be")
}

// interesting are the bytes of numbers at which an order may break: both zeros, infinities, NaNs, extremes.
func interesting() [][]byte {
	var all [][]byte
	for _, bits := range []uint64{0, 1, 1 << 63, 1<<63 - 1, math.MaxUint64, math.Float64bits(math.Inf(1)),
		math.Float64bits(math.Inf(-1)),
		math.Float64bits(1), math.Float64bits(-1), 0x7ff8000000000001, 0xfff8000000000001, 0x7fc00000, 0xffc00000, 0x7f800000,
		0xff800000, 0x80000000} {
		all = append(all, binary.LittleEndian.AppendUint64(nil, bits), binary.BigEndian.AppendUint64(nil, bits))
	}
	return all
}

// records returns n records. Many of them share ranges of bytes, so that keys tie early and late.
func records(rng *rand.Rand, n, size int) []byte {
	recs := make([]byte, n*size)
	special := interesting()
	for i := range n {
		rec := recs[i*size : (i+1)*size]
		for j := range rec {
			rec[j] = byte(rng.Uint32())
		}
		if i > 0 && rng.IntN(2) == 0 {
			copy(rec, recs[rng.IntN(i)*size:][:rng.IntN(size+1)])
		}
		if rng.IntN(3) == 0 {
			at := rng.IntN(size)
			copy(rec[at:], special[rng.IntN(len(special))])
		}
		if rng.IntN(4) == 0 {
			copy(rec, special[rng.IntN(len(special))])
		}
	}
	return recs
}

// decimalValue reads the digits of a decimal as hexadecimal ones, because invalid digits are ordered after 9.
func decimalValue(kind Kind, b []byte) *big.Int {
	text := fmt.Sprintf("%x", b)
	sign := text[len(text)-1]
	digits := text[:len(text)-1]
	if kind == Zoned {
		sign = text[len(text)-2]
		digits = ""
		for i := 1; i < len(text); i += 2 {
			digits += text[i : i+1]
		}
	}
	value, _ := new(big.Int).SetString(digits, 16)
	if strings.Contains("1579bd", string(sign)) {
		value.Neg(value)
	}
	return value
}

// compareField orders by the meaning of the type: numbers as big.Int, floats by the definition of totalOrder.
func compareField(f Field, a, b []byte) int {
	a, b = slices.Clone(a[f.Offset:f.Offset+f.Type.Size]), slices.Clone(b[f.Offset:f.Offset+f.Type.Size])
	c := 0
	if f.Type.Kind == UCS {
		c = slices.Compare(codePoints(f.Type, a), codePoints(f.Type, b))
	} else if f.Type.littleEndian() {
		slices.Reverse(a)
		slices.Reverse(b)
	}
	switch f.Type.Kind {
	case Bytes:
		c = bytes.Compare(a, b)
	case Unsigned:
		c = new(big.Int).SetBytes(a).Cmp(new(big.Int).SetBytes(b))
	case Signed:
		c = signedInt(a).Cmp(signedInt(b))
	case Float:
		c = totalOrder(a, b)
	case Brain: // an f32 whose other half is 0
		c = totalOrder(append(a, 0, 0), append(b, 0, 0))
	case Extended:
		padding := len(a) - 10
		c = signAndMagnitude(a[padding:], b[padding:])
	case Zoned, Packed:
		c = decimalValue(f.Type.Kind, a).Cmp(decimalValue(f.Type.Kind, b))
	}
	if f.Desc {
		return -c
	}
	return c
}

func codePoints(t Type, b []byte) (all []uint32) {
	for ; len(b) > 0; b = b[4:] {
		if t.BigEndian {
			all = append(all, binary.BigEndian.Uint32(b))
		} else {
			all = append(all, binary.LittleEndian.Uint32(b))
		}
	}
	return all
}

func signedInt(b []byte) *big.Int {
	v := new(big.Int).SetBytes(b)
	if b[0]&0x80 != 0 {
		v.Sub(v, new(big.Int).Lsh(big.NewInt(1), uint(8*len(b))))
	}
	return v
}

// half is a binary16 float by its definition, in f32's terms: the exponent is 112 less, the fraction 13 bits shorter.
func half(b uint16) float64 {
	sign, exponent, fraction := uint32(b>>15), uint32(b>>10&31), uint32(b&1023)
	switch exponent {
	case 0:
		return (1 - 2*float64(sign)) * float64(fraction) / (1 << 24)
	case 31:
		exponent = 255 - 112
	}
	return float64(math.Float32frombits(sign<<31 | (exponent+112)<<23 | fraction<<13))
}

// TestHalfFloats knows some, and that the distance to the next one is as the exponent says.
func TestHalfFloats(t *testing.T) {
	for bits, want := range map[uint16]float64{0: 0, 1: 1.0 / (1 << 24), 0x400: 1.0 / (1 << 14), 0x3c00: 1, 0xc000: -2,
		0x3555: 0.333251953125, 0x7bff: 65504, 0x7c00: math.Inf(1), 0xfc00: math.Inf(-1)} {
		if got := halfValue(bits); got != want {
			t.Errorf("%04x is %v, want %v", bits, got, want)
		}
	}
	for bits := range uint16(0x7bff) {
		step := math.Ldexp(1, max(int(bits>>10), 1)-25)
		if halfValue(bits+1)-halfValue(bits) != step || halfValue(bits|0x8000) != -halfValue(bits) {
			t.Fatalf("%04x is %v", bits, halfValue(bits))
		}
	}
	if !math.IsNaN(halfValue(0x7c01)) || !math.IsNaN(halfValue(0xffff)) || !math.Signbit(halfValue(0x8000)) {
		t.Error("NaNs or -0 are wrong")
	}
}

// TestNaNsAtOneEnd checks for all 2-byte floats, and for NaT, that NaNs are in the requested
// position and that IsNaN finds them.
func TestNaNsAtOneEnd(t *testing.T) {
	type value struct {
		rec []byte
		nan bool
	}
	halves := func(nan func(bits uint16) bool) (all []value) {
		for bits := range 1 << 16 {
			all = append(all, value{binary.LittleEndian.AppendUint16(nil, uint16(bits)), nan(uint16(bits))})
		}
		return all
	}
	var times []value
	for _, v := range []uint64{1 << 63, 1<<63 + 1, 0, 1, math.MaxUint64, 1<<63 - 1} {
		times = append(times, value{binary.LittleEndian.AppendUint64(nil, v), v == 1<<63})
	}
	for name, c := range map[string]struct {
		field  Field
		values []value
	}{
		"f16":  {Field{Type: Type{Kind: Float, Size: 2}}, halves(func(b uint16) bool { return b&0x7fff > 0x7c00 })},
		"bf16": {Field{Type: Type{Kind: Brain, Size: 2}}, halves(func(b uint16) bool { return b&0x7fff > 0x7f80 })},
		"NaT":  {Field{Type: Type{Kind: Signed, Size: 8}, NaT: true}, times},
	} {
		for _, order := range []NaNOrder{NaNFirst, NaNLast, NaNTotal} {
			for _, desc := range []bool{false, true} {
				f := c.field
				f.NaN, f.Desc = order, desc
				all := slices.Clone(c.values)
				k := must(NewKeyer(Layout{RecordSize: f.Type.Size, Key: []Field{f}}))
				slices.SortFunc(all, func(a, b value) int { return k.Compare(a.rec, b.rec) })
				for i, v := range all {
					if f.IsNaN(k.Append(nil, v.rec)) != v.nan {
						t.Fatalf("%s %v: IsNaN of %x is wrong", name, f, v.rec)
					}
					bulk := make([]uint64, 1)
					if k.Prefixes(bulk, v.rec); bulk[0] != k.Prefix(v.rec) {
						t.Fatalf("%s %v: the key of %x is %x, in bulk %x", name, f, v.rec, k.Prefix(v.rec), bulk)
					}
					back := make([]byte, len(v.rec))
					if k.Records(back, bulk); !bytes.Equal(back, v.rec) {
						t.Fatalf("%s %v: %x comes back as %x", name, f, v.rec, back)
					}
					if i > 0 && order != NaNTotal && v.nan != all[i-1].nan && v.nan != (order == NaNLast) {
						t.Fatalf("%s %v: NaNs are not at one end: %x", name, f, v.rec)
					}
				}
			}
		}
	}
}

// totalOrder is IEEE 754-2019, 5.10, clause by clause.
func totalOrder(a, b []byte) int {
	value := func(b []byte) float64 {
		switch len(b) {
		case 2:
			return half(binary.BigEndian.Uint16(b))
		case 4:
			return float64(math.Float32frombits(binary.BigEndian.Uint32(b)))
		}
		return math.Float64frombits(binary.BigEndian.Uint64(b))
	}
	x, y := value(a), value(b)
	negative := a[0]&0x80 != 0
	if x < y {
		return -1
	}
	if x > y {
		return 1
	}
	if negative != (b[0]&0x80 != 0) {
		if negative {
			return -1
		}
		return 1
	}
	// Of the same sign and unordered or equal: a NaN is farther from zero than a number, and NaNs go by payload.
	c := bytes.Compare(a, b)
	if negative {
		return -c
	}
	return c
}

// signAndMagnitude orders numbers that are a sign and a magnitude, as floats of one format are.
func signAndMagnitude(a, b []byte) int {
	number := func(b []byte) *big.Int {
		v := new(big.Int).SetBytes(b)
		bits := uint(8 * len(b))
		if negative := v.Bit(int(bits - 1)); negative != 0 {
			v.SetBit(v, int(bits-1), 0)
			return v.Not(v) // -0 is below 0
		}
		return v
	}
	return number(a).Cmp(number(b))
}

func compareRecords(l Layout, a, b []byte) int {
	for _, f := range l.Key {
		if c := compareField(f, a, b); c != 0 {
			return c
		}
	}
	return 0
}

func TestNormalizedOrderMatchesType(t *testing.T) {
	for _, s := range layouts() {
		k := keyer(t, s)
		rng := rand.New(rand.NewPCG(1, 2))
		size := k.Layout().RecordSize
		recs := records(rng, 200, size)
		for i := range 2000 {
			a, b := recs[rng.IntN(200)*size:][:size], recs[i%200*size:][:size]
			want := compareRecords(k.Layout(), a, b)
			if got := bytes.Compare(k.Append(nil, a), k.Append(nil, b)); got != want {
				t.Fatalf("%s: keys of %x and %x compare as %d, want %d", s, a, b, got, want)
			}
			if got := k.Compare(a, b); got != want {
				t.Fatalf("%s: Compare(%x, %x) = %d, want %d", s, a, b, got, want)
			}
		}
	}
}

// windowOf cuts a window out of the whole key, as Window is defined.
func windowOf(key []byte, from, n int) uint64 {
	padded := append(slices.Clone(key), make([]byte, 200+from/8)...)
	v := new(big.Int).SetBytes(padded)
	v.Rsh(v, uint(8*len(padded)-from-n))
	return v.And(v, new(big.Int).SetUint64(lowBits(n))).Uint64()
}

func TestBitRanges(t *testing.T) {
	for _, s := range layouts() {
		k := keyer(t, s)
		rng := rand.New(rand.NewPCG(3, 4))
		size := k.Layout().RecordSize
		const n = 40
		recs := records(rng, n, size)
		words := make([]uint64, n)
		for range 60 {
			from, width := rng.IntN(8*k.KeySize()+20), rng.IntN(65)
			k.BitRanges(words, recs, from, width)
			for i := range n {
				rec := recs[i*size:][:size]
				want := windowOf(k.Append(nil, rec), from, width)
				if got := k.BitRange(rec, from, width); got != want {
					t.Fatalf("%s: Window(%x, %d, %d) = %x, want %x", s, rec, from, width, got, want)
				}
				if words[i] != want {
					t.Fatalf("%s: BitRanges(%x, %d, %d) = %x, want %x", s, rec, from, width, words[i], want)
				}
			}
		}
	}
}

func TestPrefixesAndRecordsAreInverse(t *testing.T) {
	for _, s := range layouts() {
		k := keyer(t, s)
		size := k.Layout().RecordSize
		for _, n := range []int{0, 1, blockKeys - 1, blockKeys, blockKeys + 1} {
			recs := records(rand.New(rand.NewPCG(5, uint64(n))), n, size)
			keys := make([]uint64, n)
			k.Prefixes(keys, recs)
			for i, key := range keys {
				rec := recs[i*size:][:size]
				if want := windowOf(k.Append(nil, rec), 0, k.PrefixBits()); key != want || k.Prefix(rec) != want ||
					PrefixOf(k.Append(nil, rec)) != want {
					t.Fatalf("%s: Prefixes %x, Prefix %x, want %x of record %x", s, key, k.Prefix(rec), want, rec)
				}
			}
			checkInverse(t, k, recs, keys)
		}
	}
}

func checkInverse(t *testing.T, k *Keyer, recs []byte, keys []uint64) {
	t.Helper()
	if !k.Layout().IsBare() || k.KeySize() > 8 {
		return
	}
	got := make([]byte, len(recs))
	if k.Records(got, keys); !bytes.Equal(got, recs) {
		t.Fatalf("%v: Records does not undo Prefixes", k.Layout())
	}
	if k.KeySize() > 4 {
		return
	}
	keys32 := make([]uint32, len(keys))
	k.Prefixes32(keys32, recs)
	for i, key := range keys {
		if uint64(keys32[i]) != key {
			t.Fatalf("%v: Prefixes32[%d] = %x, want %x", k.Layout(), i, keys32[i], key)
		}
	}
	clear(got)
	if k.Records32(got, keys32); !bytes.Equal(got, recs) {
		t.Fatalf("%v: Records32 does not undo Prefixes32", k.Layout())
	}
}

func TestIdentityRequiresNativeIntegers(t *testing.T) {
	for _, s := range layouts() {
		k := keyer(t, s)
		if !k.Identity() {
			continue
		}
		for _, rec := range interesting() {
			rec = append(rec, rec...)[:k.Layout().RecordSize]
			var native uint64
			switch len(rec) {
			case 1:
				native = uint64(rec[0])
			case 2:
				native = uint64(binary.NativeEndian.Uint16(rec))
			case 4:
				native = uint64(binary.NativeEndian.Uint32(rec))
			default:
				native = binary.NativeEndian.Uint64(rec)
			}
			if k.Prefix(rec) != native {
				t.Fatalf("%s claims Identity, but the key of %x is %x", s, rec, k.Prefix(rec))
			}
		}
	}
	if !hostBigEndian && !keyer(t, "8 0:u64").Identity() || keyer(t, "8 0:i64").Identity() ||
		keyer(t, "9 0:u64").Identity() {
		t.Fatal("Identity must hold for bare u64 and not for i64 or records with a payload")
	}
}

// Golden keys: the format of the normalized key is relied upon by spill files and kernels.
func TestGoldenKeys(t *testing.T) {
	for _, row := range testrows.Read(t, "golden_keys.txt") {
		rec, err := hex.DecodeString(row[1])
		if err != nil {
			t.Fatal(err)
		}
		if got := fmt.Sprintf("%x", keyer(t, row[0]).Append(nil, rec)); got != row[2] {
			t.Errorf("%s: key of %s is %s, want %s", row[0], row[1], got, row[2])
		}
	}
}

func TestCompareOfHugeKeysDoesNotAllocate(t *testing.T) {
	k := keyer(t, "65540 4:bytes65528 0:f64:desc")
	a := make([]byte, 65540)
	b := slices.Clone(a)
	b[3] = 1
	words := make([]uint64, 1)
	allocs := testing.AllocsPerRun(10, func() {
		k.Compare(a, b)
		k.BitRange(a, 8*65528-3, 64)
		k.BitRanges(words, a, 77, 64)
	})
	if allocs != 0 {
		t.Fatalf("%v allocations", allocs)
	}
}

func FuzzCompare(f *testing.F) {
	all := layouts()
	f.Add(uint16(0), []byte("abcdefghijklmnop"), uint16(0), uint8(64))
	f.Fuzz(func(t *testing.T, which uint16, data []byte, from uint16, n uint8) {
		k := keyer(t, all[int(which)%len(all)])
		size := k.Layout().RecordSize
		if len(data) < 2*size {
			return
		}
		a, b := data[:size], data[size:2*size]
		keyA, keyB := k.Append(nil, a), k.Append(nil, b)
		want := compareRecords(k.Layout(), a, b)
		if got := k.Compare(a, b); got != want || bytes.Compare(keyA, keyB) != want {
			t.Fatalf("%v: %x and %x compare as %d, keys as %d, want %d", k.Layout(), a, b, got, bytes.Compare(keyA, keyB), want)
		}
		if got, want := k.BitRange(a, int(from), int(n)%65), windowOf(keyA, int(from), int(n)%65); got != want {
			t.Fatalf("%v: Window(%x, %d, %d) = %x, want %x", k.Layout(), a, from, n, got, want)
		}
	})
}

func BenchmarkPrefixes(b *testing.B) {
	for _, s := range []string{"8 0:u64", "8 0:i64", "8 0:f64", "8 0:u64be", "4 0:u32", "100 0:bytes10", "12 0:f32 4:u64",
		"16 8:u64", "5 0:bytes5", "7 3:u16be:desc 0:i8"} {
		k := keyer(b, s)
		n := 1 << 20
		recs := make([]byte, n*k.Layout().RecordSize)
		keys := make([]uint64, n)
		b.Run("layout="+strings.ReplaceAll(s, " ", "_")+"/n=1Mi", func(b *testing.B) {
			b.SetBytes(int64(len(recs)))
			for b.Loop() {
				k.Prefixes(keys, recs)
			}
			b.ReportMetric(float64(n)*float64(b.N)/b.Elapsed().Seconds()/1e6, "Mkeys/s")
		})
	}
}

func BenchmarkCompare(b *testing.B) {
	for _, s := range []string{"8 0:u64", "100 0:bytes10", "12 0:f32 4:u64", "16 0:u128"} {
		k := keyer(b, s)
		recs := records(rand.New(rand.NewPCG(1, 1)), 1025, k.Layout().RecordSize)
		size := k.Layout().RecordSize
		b.Run("layout="+strings.ReplaceAll(s, " ", "_"), func(b *testing.B) {
			for i := 0; b.Loop(); i++ {
				at := i % 1024 * size
				k.Compare(recs[at:at+size], recs[at+size:at+2*size])
			}
		})
	}
}

func TestKeyerRefusesUnknownTypes(t *testing.T) {
	for _, typ := range []Type{
		{},
		{Kind: Brain, Size: 4},
		{Kind: Float, Size: 1},
		{Kind: Extended, Size: 8},
		{Kind: UCS, Size: 6},
		{Kind: Unsigned, Size: 7},
		{Kind: Unsigned, Size: 1, BigEndian: true},
		{Kind: Bytes, Size: 4, BigEndian: true},
		{Kind: Bytes, Size: -1},
		{Kind: 99, Size: 8},
	} {
		_, err := NewKeyer(Layout{RecordSize: 32, Key: []Field{{Type: typ}}})
		if err == nil || !strings.Contains(err.Error(), "unknown type") {
			t.Errorf("%+v: %v", typ, err)
		}
	}
}
