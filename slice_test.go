package extsort_test

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"sort"
	"strings"
	"testing"

	"github.com/extsort/extsort"
)

// sliceSizes returns sizes on both sides of the size at which SortSlice becomes parallel.
func sliceSizes() []int {
	if testing.Short() {
		return []int{0, 1, 2, 100, 32_768}
	}
	return []int{0, 1, 2, 3, 100, 32_767, 32_768, 100_003}
}

// TestSortSliceNumbers compares SortSlice with sort.SliceStable for all types of numbers, in both
// directions, with and without a key function.
func TestSortSliceNumbers(t *testing.T) {
	t.Parallel()
	testNumbers[int](t)
	testNumbers[int8](t)
	testNumbers[int16](t)
	testNumbers[int32](t)
	testNumbers[int64](t)
	testNumbers[uint](t)
	testNumbers[uint8](t)
	testNumbers[uint16](t)
	testNumbers[uint32](t)
	testNumbers[uint64](t)
	testNumbers[uintptr](t)
	testNumbers[celsius](t)
}

// celsius is a named number type.
type celsius int32

type integer interface {
	~int | ~int8 | ~int16 | ~int32 | ~int64 | ~uint | ~uint8 | ~uint16 | ~uint32 | ~uint64 | ~uintptr
}

func testNumbers[V integer](t *testing.T) {
	t.Helper()
	t.Run(fmt.Sprintf("%T", V(0)), func(t *testing.T) {
		random := rand.New(rand.NewPCG(1, 2))
		for _, n := range sliceSizes() {
			values := make([]V, n)
			for i := range values {
				// Small and equal values occur, too.
				values[i] = V(random.Uint64()) >> (random.UintN(8) * 8 % 64)
			}
			ascending := func(a, b V) bool { return a < b }
			descending := func(a, b V) bool { return a > b }
			identity := extsort.By(func(v V) V { return v })
			checkSlice(t, values, ascending)
			checkSlice(t, values, ascending, identity)
			checkSlice(t, values, descending, identity.Desc())
		}
	})
}

// checkSlice compares SortSlice with sort.SliceStable.
func checkSlice[T comparable](t *testing.T, values []T, less func(a, b T) bool, keys ...extsort.Key[T]) {
	t.Helper()
	want := slices.Clone(values)
	sort.SliceStable(want, func(i, j int) bool { return less(want[i], want[j]) })

	got := slices.Clone(values)
	if err := extsort.SortSlice(t.Context(), got, keys...); err != nil {
		t.Fatalf("%d elements: %v", len(values), err)
	}
	for i := range want {
		if got[i] != want[i] {
			t.Fatalf("%d elements, %d keys: element %d is %v instead of %v", len(values), len(keys), i, got[i], want[i])
		}
	}
}

// TestSortSliceFloats checks that floats, including NaNs and zeros, are in IEEE 754 totalOrder.
func TestSortSliceFloats(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(3, 4))
	for _, n := range sliceSizes() {
		wide := make([]float64, n)
		narrow := make([]float32, n)
		for i := range wide {
			wide[i] = math.Float64frombits(random.Uint64())
			narrow[i] = math.Float32frombits(random.Uint32())
			switch random.IntN(4) {
			case 0:
				special := []float64{math.NaN(), math.Copysign(math.NaN(), -1), math.Inf(1), math.Inf(-1), 0,
					math.Copysign(0, -1), 1, -1}
				wide[i] = special[random.IntN(len(special))]
				narrow[i] = float32(wide[i])
			case 1:
				wide[i] = random.NormFloat64()
				narrow[i] = float32(wide[i])
			}
		}
		checkFloats(t, wide, func(f float64) int64 { return int64(math.Float64bits(f)) }, math.MaxInt64)
		checkFloats(t, narrow, func(f float32) int64 { return int64(int32(math.Float32bits(f))) }, math.MaxInt32)
	}
}

// checkFloats sorts floats by value, by a key and in descending order. The bits of totalOrder
// compare as signed numbers once all but the sign of negative ones are inverted.
func checkFloats[F float32 | float64](t *testing.T, values []F, bits func(F) int64, invert int64) {
	t.Helper()
	rank := func(f F) int64 {
		b := bits(f)
		if b < 0 {
			b ^= invert
		}
		return b
	}
	for name, keys := range map[string][]extsort.Key[F]{
		"value": nil,
		"key":   {extsort.By(func(f F) F { return f })},
		"desc":  {extsort.By(func(f F) F { return f }).Desc()},
	} {
		want := slices.Clone(values)
		sort.SliceStable(want, func(i, j int) bool {
			if name == "desc" {
				i, j = j, i
			}
			return rank(want[i]) < rank(want[j])
		})
		got := slices.Clone(values)
		if err := extsort.SortSlice(t.Context(), got, keys...); err != nil {
			t.Fatal(err)
		}
		for i := range want {
			if bits(got[i]) != bits(want[i]) {
				t.Fatalf("%s, %d elements: element %d is %v (%x) instead of %v (%x)", name, len(values), i, got[i],
					bits(got[i]), want[i], bits(want[i]))
			}
		}
	}
}

// padded has padding after small fields, key fields of all kinds, and a pointer outside the key.
type padded struct {
	flag  bool `extsort:"4"`
	total int64
	small int16  `extsort:"1,desc"`
	name  string `extsort:"5"`
	inner struct {
		mark uint8
		code [3]byte `extsort:"3"`
	}
	ratio float32 `extsort:"2,asc"`
	data  *int
}

func (p padded) less(q padded) bool {
	flag := func(b bool) int {
		if b {
			return 1
		}
		return 0
	}
	return cmp.Or(
		-cmp.Compare(p.small, q.small),
		cmp.Compare(p.ratio, q.ratio),
		bytes.Compare(p.inner.code[:], q.inner.code[:]),
		cmp.Compare(flag(p.flag), flag(q.flag)),
		strings.Compare(p.name, q.name),
	) < 0
}

// TestSortSliceStructs sorts structs with padding, nested fields and pointers, by tags and by
// functions.
func TestSortSliceStructs(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(5, 6))
	for _, n := range sliceSizes() {
		values := make([]padded, n)
		for i := range values {
			v := &values[i]
			v.flag = random.IntN(2) == 0
			v.total = int64(i) // distinguishes equal elements
			v.small = int16(random.IntN(5) - 2)
			v.ratio = float32(random.IntN(5) - 2)
			v.inner.code[random.IntN(3)] = byte(random.IntN(2))
			v.inner.mark = byte(i)
			v.name = randomName(random)
			v.data = new(int)
		}
		checkSlice(t, values, padded.less)
		checkSlice(t, values, padded.less,
			extsort.By(func(v padded) int16 { return v.small }).Desc(),
			extsort.By(func(v padded) float32 { return v.ratio }),
			extsort.By(func(v padded) string { return string(v.inner.code[:]) }),
			extsort.By(func(v padded) uint8 {
				if v.flag {
					return 1
				}
				return 0
			}),
			extsort.By(func(v padded) string { return v.name }).Desc().Desc())
	}
}

// randomName returns a short or long name. Names have long common prefixes and contain zeros, so
// only a comparison of whole strings orders them.
func randomName(random *rand.Rand) string {
	name := strings.Repeat("common prefix ", random.IntN(3))
	for range random.IntN(4) {
		name += string(rune("\x00ab\xff"[random.IntN(4)]))
	}
	return name
}

// TestSortSliceStrings sorts strings by their value, and pointers by a string.
func TestSortSliceStrings(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(7, 8))
	for _, n := range sliceSizes() {
		names := make([]string, n)
		pointers := make([]*padded, n)
		for i := range names {
			names[i] = randomName(random)
			pointers[i] = &padded{name: names[i], total: int64(i)}
		}
		checkSlice(t, names, func(a, b string) bool { return a < b })
		checkSlice(t, pointers, func(a, b *padded) bool { return a.name > b.name },
			extsort.By(func(p *padded) string { return p.name }).Desc())

		same := make([]string, n) // one large group of ties
		for i := range same {
			same[i] = "a prefix of many bytes " + names[i]
		}
		checkSlice(t, same, func(a, b string) bool { return a < b })
	}
}

// TestSortSliceArrays sorts arrays of bytes and booleans by their value.
func TestSortSliceArrays(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(9, 10))
	for _, n := range sliceSizes() {
		arrays := make([][5]byte, n)
		flags := make([]bool, n)
		for i := range arrays {
			arrays[i][random.IntN(5)] = byte(random.Uint32())
			flags[i] = random.IntN(2) == 0
		}
		checkSlice(t, arrays, func(a, b [5]byte) bool { return bytes.Compare(a[:], b[:]) < 0 })
		checkSlice(t, flags, func(a, b bool) bool { return !a && b })
	}
}

// TestSortSliceRefusesKeys lists slices without an order.
func TestSortSliceRefusesKeys(t *testing.T) {
	t.Parallel()
	refuse(t, []struct{ A int }{{1}}, "give fields of")
	refuse(t, []*int{nil}, "elements of type *int have no order")
	refuse(t, [][]byte{nil}, "elements of type []uint8 have no order")
	refuse(t, []struct {
		A *int `extsort:"1"`
	}{{}}, "A of type *int has no order")
	refuse(t, []struct {
		A int `extsort:"0"`
	}{{}}, `want the number of the key field, from 1`)
	refuse(t, []struct {
		A int `extsort:"1,down"`
	}{{}}, `want the number of the key field`)
	refuse(t, []struct {
		A int `extsort:"1"`
		B int `extsort:"1"`
	}{{}}, "have the same tag")
	refuse(t, []int{1}, "key 0 is the zero Key", extsort.Key[int]{})
	refuse(t, []int{1}, "key 0 is the zero Key", extsort.By[int, int](nil))
}

func refuse[T any](t *testing.T, s []T, want string, keys ...extsort.Key[T]) {
	t.Helper()
	err := extsort.SortSlice(t.Context(), s, keys...)
	option, ok := errors.AsType[*extsort.OptionError](err)
	if !ok || option.Option != "keys" || !strings.Contains(err.Error(), want) {
		t.Errorf("%T: the error is %v, want %q", s, err, want)
	}
}

// TestSortSliceFails makes a key function panic and cancels the sort. Both leave the slice
// unchanged.
func TestSortSliceFails(t *testing.T) {
	t.Parallel()
	for _, n := range []int{1000, 200_000} {
		values := make([]int, n)
		for i := range values {
			values[i] = n - i
		}
		before := slices.Clone(values)

		err := extsort.SortSlice(t.Context(), values, extsort.By(func(v int) int {
			if v == n/2 {
				panic("no key")
			}
			return v
		}))
		if panicked, ok := errors.AsType[*extsort.PanicError](err); !ok || panicked.Value != "no key" ||
			panicked.Function != "a key function of SortSlice" {
			t.Errorf("%d elements: a panic is %v", n, err)
		}
		if !slices.Equal(values, before) {
			t.Errorf("%d elements: the slice has changed after a panic", n)
		}

		ctx, cancel := context.WithCancelCause(t.Context())
		calls := 0
		enough := errors.New("enough")
		cancel(enough)
		err = extsort.SortSlice(ctx, values, extsort.By(func(v int) int {
			calls++
			return v
		}))
		if !errors.Is(err, enough) || calls > 0 || !slices.Equal(values, before) {
			t.Errorf("%d elements: a cancelled sort calls its key %d times and returns %v", n, calls, err)
		}
	}
}

// TestSortBytesKeepsOtherBytes sorts a part of an array into a result that is longer than the part.
func TestSortBytesKeepsOtherBytes(t *testing.T) {
	const part = 6
	array := []byte("banana and other bytes of the caller")
	whole := bytes.Clone(array)
	counted, _, err := extsort.SortBytes(t.Context(), array[:part], extsort.Job{
		Record: extsort.Record{Type: extsort.U8},
		Select: extsort.Counted(extsort.KeepFirst),
	})
	if err != nil || len(counted) != 3*9 || !bytes.Equal(array[part:], whole[part:]) {
		t.Errorf("%d bytes, then %q, %v", len(counted), array[part:], err)
	}
}
