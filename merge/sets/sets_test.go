package sets_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"slices"
	"testing"
	"testing/iotest"

	"github.com/extsort/extsort/device/devicetest"
	"github.com/extsort/extsort/format"
	"github.com/extsort/extsort/format/formattest"
	"github.com/extsort/extsort/merge"
	"github.com/extsort/extsort/merge/sets"
)

// table is a sorted input of a test.
type table struct {
	keyer *format.Keyer
	recs  [][]byte
}

func (t *table) bytes() []byte { return slices.Concat(t.recs...) }

// keyTypes are keys of up to 8 bytes, and of more.
var keyTypes = []string{"u8", "u16", "i32", "f64", "u64", "u128", "bytes11"}

// randomTable returns sorted records of a random layout whose keys have few values.
func randomTable(t *testing.T, random *rand.Rand, keyType string, desc bool, n, values int) *table {
	t.Helper()
	return randomRecords(random, randomLayout(t, random, keyType, desc), n, values)
}

// randomLayout returns a layout with one key at a random offset, which may be big-endian, or a layout
// whose records are little-endian keys.
func randomLayout(t *testing.T, random *rand.Rand, keyType string, desc bool) *format.Keyer {
	t.Helper()
	typ := formattest.Bare(t, keyType).Key[0].Type
	typ.BigEndian = typ.Size > 1 && typ.Kind != format.Bytes && random.IntN(2) == 0
	if random.IntN(4) == 0 {
		typ.BigEndian = false
		return formattest.KeyerOf(t, format.Layout{RecordSize: typ.Size, Key: []format.Field{{Type: typ, Desc: desc}}})
	}
	offset := random.IntN(4)
	layout := format.Layout{
		RecordSize: offset + typ.Size + 1 + random.IntN(5),
		Key:        []format.Field{{Offset: offset, Type: typ, Desc: desc}},
	}
	return formattest.KeyerOf(t, layout)
}

func randomRecords(random *rand.Rand, keyer *format.Keyer, n, values int) *table {
	layout := keyer.Layout()
	offset, typ := layout.Key[0].Offset, layout.Key[0].Type
	all := &table{keyer: keyer}
	for range n {
		rec := formattest.Bytes(random, layout.RecordSize) // distinguishes records with equal keys
		key := rec[offset : offset+typ.Size]
		clear(key)
		low := 0
		if typ.BigEndian || typ.Kind == format.Bytes {
			low = len(key) - 1
		}
		key[low] = byte(random.IntN(values))
		all.recs = append(all.recs, rec)
	}
	slices.SortStableFunc(all.recs, keyer.Compare)
	return all
}

// groups returns the records of each key, and the keys in order.
func (t *table) groups() (map[string][][]byte, []string) {
	groups := map[string][][]byte{}
	var keys []string
	for _, rec := range t.recs {
		key := string(t.keyer.Append(nil, rec))
		if groups[key] == nil {
			keys = append(keys, key)
		}
		groups[key] = append(groups[key], rec)
	}
	return groups, keys
}

// reference is a simple set operation in memory.
func reference(operation sets.Operation, all bool, tables []*table) []byte {
	var groups []map[string][][]byte
	var keys []string
	for _, t := range tables {
		g, k := t.groups()
		groups = append(groups, g)
		keys = append(keys, k...)
	}
	slices.Sort(keys)
	var out [][]byte
	for _, key := range slices.Compact(keys) {
		fewest, others := len(groups[0][key]), 0
		var first [][]byte
		for i, g := range groups {
			fewest = min(fewest, len(g[key]))
			if i > 0 {
				others += len(g[key])
			}
			if len(first) == 0 {
				first = g[key]
			}
			if operation == sets.Union && all {
				out = append(out, g[key]...)
			}
		}
		ofA := groups[0][key]
		switch {
		case operation == sets.Union && !all:
			out = append(out, first...)
		case operation == sets.Intersect && all:
			out = append(out, ofA[:fewest]...)
		case operation == sets.Intersect && fewest > 0:
			out = append(out, ofA...)
		case operation == sets.Subtract && all:
			out = append(out, ofA[min(others, len(ofA)):]...)
		case operation == sets.Subtract && others == 0:
			out = append(out, ofA...)
		}
	}
	return slices.Concat(out...)
}

// inputs returns the inputs of an operation. Either all have random access, or some of them return
// fewer bytes than requested.
func inputs(tables []*table, random *rand.Rand) (all []sets.Input) {
	hasRandomAccess := random.IntN(2) == 0
	for _, t := range tables {
		recs := t.bytes()
		in := sets.Input{Records: bytes.NewReader(recs), Keyer: t.keyer, Read: func([]byte) {}}
		switch {
		case hasRandomAccess:
			in.At = at(recs, t.keyer)
		case random.IntN(3) == 0:
			in.Records = iotest.HalfReader(in.Records)
		}
		all = append(all, in)
	}
	return all
}

// at returns random access to records.
func at(recs []byte, k *format.Keyer) *merge.Sorted {
	size := int64(k.Layout().RecordSize)
	return &merge.Sorted{Records: int64(len(recs)) / size, ReadRecords: func(p []byte, first int64) error {
		if copy(p, recs[first*size:]) < len(p) {
			return io.ErrUnexpectedEOF
		}
		return nil
	}}
}

// TestRun compares all operations with a simple reference: random layouts, types and directions,
// one to four inputs, duplicates, empty inputs, one key, and blocks of a few records.
func TestRun(t *testing.T) {
	random := rand.New(rand.NewPCG(5, 2))
	rounds := 3000
	if testing.Short() {
		rounds = 600
	}
	for round := range rounds {
		keyType := keyTypes[random.IntN(len(keyTypes))]
		desc := random.IntN(2) == 0
		values := 1 + random.IntN(40)
		operation := sets.Operation(random.IntN(3))
		all := random.IntN(2) == 0
		var tables []*table
		for range 1 + random.IntN(4) {
			keyer := randomLayout(t, random, keyType, desc)
			if operation == sets.Union && len(tables) > 0 {
				keyer = tables[0].keyer
			}
			tables = append(tables, randomRecords(random, keyer, random.IntN(60), values))
		}
		if operation != sets.Union && len(tables) == 1 {
			continue
		}

		out := &devicetest.Collector{Size: tables[0].keyer.Layout().RecordSize}
		_, err := sets.Run(t.Context(), sets.Options{
			Operation:    operation,
			All:          all,
			Inputs:       inputs(tables, random),
			Outputs:      sets.Outputs{Result: out},
			Workers:      1 + random.IntN(3),
			BlockRecords: 1 + random.IntN(20),
		})
		if err != nil {
			t.Fatal(err)
		}
		if got, want := out.Written(t), reference(operation, all, tables); !bytes.Equal(got, want) {
			t.Fatalf("round %d: operation %d, all %v, %d inputs of %s: %d bytes differ from %d", round, operation, all,
				len(tables), keyType, len(got), len(want))
		}
	}
}

// TestCompare compares the counts and outputs of comparisons with intersections and differences.
func TestCompare(t *testing.T) {
	random := rand.New(rand.NewPCG(6, 3))
	for round := range 500 {
		keyType := keyTypes[random.IntN(len(keyTypes))]
		values := 1 + random.IntN(40)
		a := randomTable(t, random, keyType, false, random.IntN(60), values)
		b := randomTable(t, random, keyType, false, random.IntN(60), values)
		onlyA := &devicetest.Collector{Size: a.keyer.Layout().RecordSize}
		onlyB := &devicetest.Collector{Size: b.keyer.Layout().RecordSize}
		both := &devicetest.Collector{Size: a.keyer.Layout().RecordSize}
		counts, err := sets.Run(t.Context(), sets.Options{
			Operation:    sets.Compare,
			Inputs:       inputs([]*table{a, b}, random),
			Outputs:      sets.Outputs{OnlyA: onlyA, OnlyB: onlyB, Both: both},
			Workers:      1 + random.IntN(3),
			BlockRecords: 1 + random.IntN(20),
		})
		if err != nil {
			t.Fatal(err)
		}

		var want sets.Counts
		inA, keysA := a.groups()
		inB, keysB := b.groups()
		for _, key := range keysA {
			if n := len(inB[key]); n > 0 {
				want.KeysBoth++
				want.RecordsBoth += int64(len(inA[key]))
				want.OtherBoth += int64(n)
			} else {
				want.KeysA++
				want.RecordsA += int64(len(inA[key]))
			}
		}
		for _, key := range keysB {
			if len(inA[key]) == 0 {
				want.KeysB++
				want.RecordsB += int64(len(inB[key]))
			}
		}
		if counts != want {
			t.Fatalf("round %d: the counts are %+v, want %+v", round, counts, want)
		}
		for name, c := range map[string][2][]byte{
			"only A": {onlyA.Written(t), reference(sets.Subtract, false, []*table{a, b})},
			"only B": {onlyB.Written(t), reference(sets.Subtract, false, []*table{b, a})},
			"both":   {both.Written(t), reference(sets.Intersect, false, []*table{a, b})},
		} {
			if !bytes.Equal(c[0], c[1]) {
				t.Fatalf("round %d: %s has %d bytes, want %d", round, name, len(c[0]), len(c[1]))
			}
		}
	}
}

// TestDisorderAnywhere runs all operations on inputs with random access that are not sorted. The
// searches for the ends of spans then lead anywhere, but each operation must find the disorder.
func TestDisorderAnywhere(t *testing.T) {
	random := rand.New(rand.NewPCG(9, 6))
	keyer := formattest.KeyerOf(t, formattest.Bare(t, "u8"))
	for round := range 2000 {
		var tables [2][]byte
		isSorted := true
		for i := range tables {
			tables[i] = make([]byte, random.IntN(40))
			for j := range tables[i] {
				tables[i][j] = byte(random.IntN(1 + round%30))
			}
			if random.IntN(3) > 0 {
				slices.Sort(tables[i])
				if n := len(tables[i]); n > 0 && random.IntN(2) == 0 {
					tables[i][random.IntN(n)] = byte(random.IntN(30))
				}
			}
			isSorted = isSorted && slices.IsSorted(tables[i])
		}
		out := &devicetest.Collector{Size: 1}
		opt := sets.Options{
			Operation:    sets.Operation(random.IntN(5)),
			All:          random.IntN(2) == 0,
			Outputs:      sets.Outputs{Result: out},
			Workers:      1 + random.IntN(3),
			BlockRecords: 1 + random.IntN(8),
		}
		if opt.Operation == sets.Join {
			whole := sets.Shape{Copies: []sets.Copy{{Size: 1}}}
			opt.Join = &sets.JoinOptions{Row: sets.Row{Size: 1, Both: whole}, GroupBytes: 1 << 20}
		}
		for _, recs := range tables {
			in := sets.Input{At: at(recs, keyer), Keyer: keyer, Read: func([]byte) {}}
			opt.Inputs = append(opt.Inputs, in)
		}
		_, err := sets.Run(t.Context(), opt)
		_, isDisorder := errors.AsType[*merge.DisorderError](err)
		if isDisorder == isSorted || err != nil && !isDisorder {
			t.Fatalf("round %d: %v: the error is %v", round, tables, err)
		}
	}
}

// TestDisorder puts a record out of order at each position, including the start of a block.
func TestDisorder(t *testing.T) {
	keyer := formattest.KeyerOf(t, formattest.Bare(t, "u8"))
	for at := 1; at < 20; at++ {
		recs := bytes.Repeat([]byte{5}, 20)
		recs[at] = 4
		good := sets.Input{Records: bytes.NewReader([]byte{1, 9}), Keyer: keyer, Read: func([]byte) {}}
		bad := sets.Input{Records: bytes.NewReader(recs), Keyer: keyer, Read: func([]byte) {}}
		_, err := sets.Run(t.Context(), sets.Options{
			Operation:    sets.Intersect,
			Inputs:       []sets.Input{good, bad},
			Outputs:      sets.Outputs{Result: &devicetest.Collector{Size: 1}},
			BlockRecords: 5,
		})
		disorder, ok := errors.AsType[*merge.DisorderError](err)
		if !ok || disorder.Input != 1 ||
			disorder.Record != int64(at) || disorder.Key[0] != 4 || disorder.Before[0] != 5 {
			t.Errorf("record %d: the error is %v", at, err)
		}
	}
}

// TestFailures checks that errors of inputs and outputs end an operation.
func TestFailures(t *testing.T) {
	random := rand.New(rand.NewPCG(7, 4))
	a := randomTable(t, random, "u16", false, 100, 10)
	failed := errors.New("no more")
	broken := sets.Input{
		Records: io.MultiReader(bytes.NewReader(a.bytes()), iotest.ErrReader(failed)),
		Keyer:   a.keyer,
		Read:    func([]byte) {},
	}
	opt := sets.Options{
		Inputs:       []sets.Input{inputs([]*table{a}, random)[0], broken},
		Outputs:      sets.Outputs{Result: &devicetest.Collector{Size: a.keyer.Layout().RecordSize}},
		BlockRecords: 5,
	}
	if _, err := sets.Run(t.Context(), opt); !errors.Is(err, failed) {
		t.Errorf("the error of an input is %v", err)
	}

	unreadable := broken
	unreadable.At = &merge.Sorted{Records: 100, ReadRecords: func([]byte, int64) error { return failed }}
	opt.Inputs = []sets.Input{unreadable, unreadable}
	if _, err := sets.Run(t.Context(), opt); !errors.Is(err, failed) {
		t.Errorf("the error of an input with random access is %v", err)
	}

	opt.Inputs = inputs([]*table{a, a}, random)
	opt.Outputs.Result = full{failed}
	if _, err := sets.Run(t.Context(), opt); !errors.Is(err, failed) {
		t.Errorf("the error of an output is %v", err)
	}

	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(failed)
	opt.Inputs = inputs([]*table{a, a}, random)
	if _, err := sets.Run(ctx, opt); !errors.Is(err, failed) {
		t.Errorf("the error of a cancelled operation is %v", err)
	}
}

// full is an output whose writes fail.
type full struct{ err error }

func (f full) WriteBlock(context.Context, int64, []byte) error { return f.err }

// TestComparable lists layouts whose keys can be compared, and others.
func TestComparable(t *testing.T) {
	a := formattest.Fields(t, 16, "0:u64")
	for spec, want := range map[string]bool{
		"8:u64": true, "3:u64be": true, "0:i64": false, "0:u64:desc": false, "0:u32": false,
	} {
		b := formattest.Fields(t, 24, spec)
		if got := sets.Comparable(a, b); got != want {
			t.Errorf("%s: %v", spec, got)
		}
	}
}

// BenchmarkRun intersects and unites random numbers.
func BenchmarkRun(b *testing.B) {
	keyer := formattest.KeyerOf(b, formattest.Bare(b, "u64"))
	const n = 1 << 20
	data := make([][]byte, 2)
	random := rand.New(rand.NewPCG(8, 5))
	for i := range data {
		numbers := make([]uint64, n)
		for j := range numbers {
			numbers[j] = random.Uint64()
		}
		slices.Sort(numbers)
		data[i] = make([]byte, n*8)
		keyer.Records(data[i], numbers)
	}
	for _, c := range []struct {
		operation       sets.Operation
		hasRandomAccess bool
	}{
		{sets.Union, false}, {sets.Intersect, false}, {sets.Subtract, false}, {sets.Compare, false}, {sets.Join, false},
		{sets.Union, true}, {sets.Intersect, true}, {sets.Subtract, true}, {sets.Compare, true}, {sets.Join, true},
	} {
		operation := c.operation
		b.Run(fmt.Sprintf("%d/random=%v", operation, c.hasRandomAccess), func(b *testing.B) {
			b.SetBytes(2 * n * 8)
			for b.Loop() {
				opt := sets.Options{
					Operation:    operation,
					Outputs:      sets.Outputs{Result: full{}},
					Workers:      2,
					BlockRecords: 32 << 10,
				}
				if operation == sets.Join {
					whole := sets.Shape{Copies: []sets.Copy{{Size: 8}}}
					opt.Join = &sets.JoinOptions{Row: sets.Row{Size: 8, Both: whole}}
				}
				for _, recs := range data {
					in := sets.Input{Records: bytes.NewReader(recs), Keyer: keyer, Read: func([]byte) {}}
					if c.hasRandomAccess {
						in.At = at(recs, keyer)
					}
					opt.Inputs = append(opt.Inputs, in)
				}
				if _, err := sets.Run(b.Context(), opt); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
