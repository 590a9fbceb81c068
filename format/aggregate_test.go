package format

import (
	"encoding/binary"
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/extsort/extsort/internal/testrows"
)

// counts is the column of counts after a record.
var counts = []Column{{Name: "count", Type: Type{Kind: Unsigned, Size: 8}}}

// aggregation returns the Aggregation of records of 32 bytes with the key 0:u32.
func aggregation(t *testing.T, a Aggregates, keepLast bool) *Aggregation {
	t.Helper()
	spec := Spec{RecordSize: 32, Keys: []string{"0:u32"}}
	header, err := spec.NewHeader()
	if err != nil {
		t.Fatal(err)
	}
	keyer := must(NewKeyer(header.Layout()))
	g, err := NewAggregation(a, header, keyer, keepLast)
	if err != nil {
		t.Fatal(err)
	}
	return g
}

// folded combines records whose bytes from 8 on are the given values.
func folded(t *testing.T, g *Aggregation, values ...[]byte) ([]byte, error) {
	t.Helper()
	fold := g.NewFold()
	for _, v := range values {
		rec := make([]byte, 32)
		copy(rec[8:], v)
		fold.Add(rec)
	}
	return fold.AppendResult(nil)
}

// TestSumBoundaries adds the integers at the ends of every type, and checks which totals fit.
func TestSumBoundaries(t *testing.T) {
	for _, name := range NumberTypes {
		for _, suffix := range []string{"", "be"} {
			typ, err := ParseType(name + suffix)
			if err != nil || !typ.isInteger() || suffix != "" && typ.Size == 1 {
				continue
			}
			checkSumBoundaries(t, typ)
		}
	}
}

func checkSumBoundaries(t *testing.T, typ Type) {
	t.Helper()
	number := func(fill, top byte) []byte { // a value with the given most significant byte
		b := make([]byte, typ.Size)
		for i := range b {
			b[i] = fill
		}
		b[typ.Place(0)] = top
		return b
	}
	one := number(0, 0)
	one[typ.Place(typ.Size-1)] = 1
	zero := number(0, 0)
	minusOne := number(0xff, 0xff)
	greatest := number(0xff, 0xff)
	least := zero
	if typ.Kind == Signed {
		greatest = number(0xff, 0x7f)
		least = number(0, 0x80)
	}

	g := aggregation(t, Aggregates{Sum: []string{"8:" + typ.String()}}, false)
	check := func(want []byte, values ...[]byte) {
		t.Helper()
		got, err := folded(t, g, values...)
		if (err == nil) != (want != nil) {
			t.Errorf("%v: the sum of %x: %v", typ, values, err)
		}
		if want != nil && string(got[8:8+typ.Size]) != string(want) {
			t.Errorf("%v: the sum of %x is %x, want %x", typ, values, got[8:8+typ.Size], want)
		}
	}
	check(greatest, greatest)
	check(greatest, greatest, zero)
	check(nil, greatest, one)
	check(nil, greatest, greatest)
	check(least, least, zero)
	if typ.Kind == Signed {
		check(nil, least, minusOne)
		check(minusOne, least, greatest)
		check(greatest, greatest, one, minusOne) // only the total has to fit
		check(least, minusOne, least, one)
	}
}

// TestOverflowNamesTheKey checks the message for a sum that does not fit.
func TestOverflowNamesTheKey(t *testing.T) {
	for _, c := range []struct {
		sum, want string
	}{
		{"8:u8", "Options.Sum 8:u8: key 0 has the total 510, which does not fit u8: " +
			"Options.Sum NAME=8:u8:u64 appends a wider sum"},
		{"n=8:u8", "Options.Sum n=8:u8: key 0 has the total 510, which does not fit u8: " +
			"Options.Sum n=8:u8:u64 appends a wider sum"},
		{"8:u64", "Options.Sum 8:u64: key 0 has the total 36,893,488,147,419,103,230, which does not fit u64: " +
			"Options.Sum NAME=8:u64:u128 appends a wider sum"},
		{"8:i128", ""},
	} {
		g := aggregation(t, Aggregates{Sum: []string{c.sum}}, false)
		most := []byte(strings.Repeat("\xff", 16))
		_, err := folded(t, g, most, most)
		if c.want == "" && err != nil || c.want != "" && (err == nil || err.Error() != c.want) {
			t.Errorf("%s: %v, want %q", c.sum, err, c.want)
		}
	}
}

// TestWideSum adds narrow values to an appended sum of another type.
func TestWideSum(t *testing.T) {
	a := Aggregates{Sum: []string{"total=8:u16be:i64", "half=10:f16:f64", "brain=12:bf16:f32be"}, Count: true}
	g := aggregation(t, a, true)
	v := []byte{0xff, 0xff, 0x00, 0x3c, 0x80, 0xbf} // 65535, 1, -1
	got, err := folded(t, g, v, v, v)
	if err != nil || len(got) != 32+8+8+4+8 || g.Size() != len(got) {
		t.Fatalf("%d bytes, %v", len(got), err)
	}
	total := binary.LittleEndian.Uint64(got[32:])
	half := math.Float64frombits(binary.LittleEndian.Uint64(got[40:]))
	brain := math.Float32frombits(binary.BigEndian.Uint32(got[48:]))
	count := binary.LittleEndian.Uint64(got[52:])
	if total != 3*65535 || half != 3 || brain != -3 || count != 3 {
		t.Errorf("%d, %v, %v, %d", total, half, brain, count)
	}
	if g.InAnyGrouping() {
		t.Error("sums of floats may not be combined in any grouping")
	}
}

// TestHalfFloatValues compares values of binary16 with those of the keys.
func TestHalfFloatValues(t *testing.T) {
	typ, _ := ParseType("f16")
	keyer := must(NewKeyer(Bare(typ)))
	for b := range 1 << 16 {
		rec := binary.LittleEndian.AppendUint16(nil, uint16(b))
		_, want := typ.float(keyer.Append(nil, rec))
		got := halfFloat(uint16(b))
		if got != want && !(math.IsNaN(got) && math.IsNaN(want)) ||
			math.Signbit(got) != math.Signbit(want) && !math.IsNaN(got) {
			t.Fatalf("%#x is %v, want %v", b, got, want)
		}
	}
}

// TestAggregateErrors checks the messages for wrong descriptions.
func TestAggregateErrors(t *testing.T) {
	header, err := Spec{Fields: "key=u32 n=u16 x=f32 name=bytes6 small=f16", Keys: []string{"key"}}.NewHeader()
	if err != nil {
		t.Fatal(err)
	}
	keyer := must(NewKeyer(header.Layout()))
	for _, row := range testrows.Read(t, "aggregate_faults.txt") {
		a, want := fromWords[Aggregates](t, row[0]), row[1]
		_, err := NewAggregation(a, header, keyer, false)
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%+v: %v, want %q", a, err, want)
		}
	}
	if _, err := NewAggregation(Aggregates{Sum: []string{"k=key:u64"}, Min: []string{"low=n"}, Max: []string{"n"}},
		header, keyer, false); err != nil {
		t.Error(err)
	}
}

// combinedNpy returns the header of an array whose records are combined by a.
func combinedNpy(t *testing.T, descr string, keys []string, a Aggregates) (*Header, *Aggregation, error) {
	t.Helper()
	h, err := Spec{Format: "npy", Keys: keys}.ReadHeader(strings.NewReader(npyFile(1, npyText(descr))), "a.npy")
	if err != nil {
		t.Fatal(err)
	}
	keyer := must(NewKeyer(h.Layout()))
	g, err := NewAggregation(a, h, keyer, false)
	return h, g, err
}

const mixedDtype = "[('id', '<u4'), ('pos', '<i2', (2,)), ('z', '>c8'), ('ok', '|b1'), ('when', '<M8[D]'), " +
	"('raw', '|V3'), ('', '|V2'), ('in', [('x', '<f4'), ('y', '<f4')], 3)]"

// TestAggregateUnorderedNpy checks that values without an order are neither compared nor added.
func TestAggregateUnorderedNpy(t *testing.T) {
	for _, row := range testrows.Read(t, "aggregate_npy_faults.txt") {
		a, want := fromWords[Aggregates](t, row[0]), row[1]
		_, _, err := combinedNpy(t, mixedDtype, []string{"id"}, a)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v: %v, want %q", a, err, want)
		}
	}
	if _, _, err := combinedNpy(t, "'<c8'", []string{"0:f32"}, Aggregates{Max: []string{"most=value"}}); err == nil ||
		!strings.Contains(err.Error(), "has no order here") {
		t.Errorf("an array of complex numbers: %v", err)
	}
}

// TestAggregateNpyDtypes checks that appended results have the dtypes of their fields, and that a
// field without an order has its own bytes only.
func TestAggregateNpyDtypes(t *testing.T) {
	a := Aggregates{
		Sum:   []string{"oks=ok:u64"},
		Min:   []string{"a=ok", "b=when"},
		First: []string{"c=pos", "d=z", "e=raw", "f=in"},
		Last:  []string{"g=ok"},
	}
	h, g, err := combinedNpy(t, mixedDtype, []string{"id"}, a)
	if err != nil {
		t.Fatal(err)
	}
	longer, err := h.WithAppended(g.Appended())
	if err != nil {
		t.Fatal(err)
	}
	want := strings.TrimSuffix(mixedDtype, "]") + ", ('oks', '<u8'), ('a', '|b1'), ('b', '<M8[D]'), " +
		"('c', '<i2', (2,)), ('d', '>c8'), ('e', '|V3'), ('f', [('x', '<f4'), ('y', '<f4')], 3), ('g', '|b1')]"
	if longer.dtype != want {
		t.Errorf("dtype %s, want %s", longer.dtype, want)
	}
	read, err := Spec{Format: "npy", Keys: []string{"id"}}.ReadHeader(strings.NewReader(string(longer.Encode(1))), "b.npy")
	if err != nil || read.Layout().RecordSize != g.Size() {
		t.Errorf("reads back as %+v, %v, want %d bytes", read, err, g.Size())
	}
	if size := h.Layout().RecordSize + 8 + 1 + 8 + 4 + 8 + 3 + 24 + 1; g.Size() != size {
		t.Errorf("a result has %d bytes, want %d", g.Size(), size)
	}

	rows, g, err := combinedNpy(t, "'<c16'", []string{"0:f64"}, Aggregates{Last: []string{"z=value"}})
	if err != nil {
		t.Fatal(err)
	}
	longer, err = rows.WithAppended(g.Appended())
	if err != nil || longer.dtype != "[('value', '<c16'), ('z', '<c16')]" {
		t.Errorf("complex numbers: %v, %v", longer, err)
	}
}

// TestAggregationsAreDescribedByPlaces checks that a checkpoint can tell two fields with the same
// name apart, and which results can take the place of records in runs.
func TestAggregationsAreDescribedByPlaces(t *testing.T) {
	for _, row := range testrows.Read(t, "aggregate_places.txt") {
		aggregates, want := fromWords[Aggregates](t, row[0]), row[1]
		g := aggregation(t, aggregates, false)
		if got := g.String(); got != want {
			t.Errorf("%+v: %q, want %q", aggregates, got, want)
		}
		if got := g.CombinesRuns(); fmt.Sprint(got) != row[2] {
			t.Errorf("%+v: CombinesRuns is %t", aggregates, got)
		}
	}
}

// TestSumsOfDurations checks that NaT is contagious in sums of timedelta64, as in NumPy, and that no
// other total has its bits.
func TestSumsOfDurations(t *testing.T) {
	const nat = math.MinInt64
	for _, c := range []struct {
		values []int64
		want   int64
		err    string
	}{
		{values: []int64{1, 2}, want: 3},
		{values: []int64{nat}, want: nat},
		{values: []int64{1, nat, 5}, want: nat},
		{values: []int64{nat, nat}, want: nat},
		{values: []int64{math.MaxInt64, 1, -1}, want: math.MaxInt64},
		{values: []int64{math.MaxInt64, 1, nat}, want: nat},
		{values: []int64{-math.MaxInt64, -1}, err: "has the total -9,223,372,036,854,775,808, which does not fit i64"},
		{values: []int64{math.MaxInt64, 1}, err: "has the total 9,223,372,036,854,775,808, which does not fit i64"},
	} {
		_, g, err := combinedNpy(t, "[('id', '<u4'), ('d', '<m8[s]')]", []string{"id"}, Aggregates{Sum: []string{"d"}})
		if err != nil {
			t.Fatal(err)
		}
		fold := g.NewFold()
		joined := g.NewFold()
		for i, v := range c.values {
			rec := binary.LittleEndian.AppendUint64(make([]byte, 4), uint64(v))
			fold.Add(rec)
			one := g.NewFold()
			one.Add(rec)
			if i == 0 {
				joined = one
			} else {
				joined.Join(one)
			}
		}
		for _, f := range []*Fold{fold, joined} {
			got, err := f.AppendResult(nil)
			isExpected := err == nil && c.err == "" && int64(binary.LittleEndian.Uint64(got[4:])) == c.want
			if c.err != "" {
				isExpected = err != nil && strings.HasSuffix(err.Error(), c.err)
			}
			if !isExpected {
				t.Errorf("%d: %x, %v, want %d, %q", c.values, got, err, c.want, c.err)
			}
		}
	}
}

// TestAppendsEarly checks for which results a record can be followed by the results of itself alone,
// and compares the results of combining such records with those of the records.
func TestAppendsEarly(t *testing.T) {
	for _, c := range []struct {
		all  Aggregates
		want bool
	}{
		{Aggregates{Count: true}, true},
		{Aggregates{Sum: []string{"a=8:u32:u64", "b=9:i16be:i128be", "c=8:u8:i16", "d=12:u64:i128"}, Count: true}, true},
		{Aggregates{Sum: []string{"16:i128"}, Min: []string{"a=12:f32"}, Max: []string{"b=9:i8"}, Count: true}, true},
		{Aggregates{First: []string{"a=9:u64"}, Last: []string{"8:u8", "b=8:u16"}}, true},
		{Aggregates{Sum: []string{"8:u32"}}, false}, // nothing is appended
		{Aggregates{Sum: []string{"a=8:u64:u8"}}, false},
		{Aggregates{Sum: []string{"a=8:u8:i8"}}, false},
		{Aggregates{Sum: []string{"a=8:i8:u64"}}, false},
		{Aggregates{Sum: []string{"a=8:f32:f64"}, Count: true}, false},
	} {
		for _, keepLast := range []bool{false, true} {
			g := aggregation(t, c.all, keepLast)
			if g.AppendsEarly() != c.want {
				t.Errorf("%+v: %v", c.all, !c.want)
			}
			if c.want {
				checkAppendEarly(t, g)
			}
		}
	}
}

// checkAppendEarly combines records, and records to which results were appended, one after the other
// and in two halves.
func checkAppendEarly(t *testing.T, g *Aggregation) {
	t.Helper()
	longer, appendTo, err := g.AppendEarly()
	if err != nil || !longer.CombinesRuns() {
		t.Fatalf("%v: %v", g, err)
	}
	const n = 6
	recs := make([]byte, 32*n)
	for i := range recs {
		if i%32 >= 4 { // after the key
			recs[i] = byte(i * i * 37)
		}
	}
	long := make([]byte, longer.Size()*n)
	appendTo(long, recs)

	fold := g.NewFold()
	fold.Add(recs)
	want, err := fold.AppendResult(nil)
	if err != nil {
		t.Fatal(err)
	}
	first, second := longer.NewFold(), longer.NewFold()
	first.Add(long[:2*longer.Size()])
	second.Add(long[2*longer.Size():])
	first.Join(second)
	got, err := first.AppendResult(nil)
	if err != nil || string(got) != string(want) {
		t.Errorf("%v: %x, %v, want %x", g, got, err, want)
	}
}
