package tally

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/extsort/extsort/format"
	"github.com/extsort/extsort/format/formattest"
)

// fill divides the records among tables, in random blocks, and joins the tables.
func fill(t *testing.T, r *rand.Rand, opt Options, recs []byte) (*Table, error) {
	t.Helper()
	size := opt.Keyer.Layout().RecordSize
	tables := make([]*Table, 1+r.IntN(3))
	for i := range tables {
		var err error
		if tables[i], err = New(opt); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			if err := tables[i].Close(); err != nil {
				t.Error(err)
			}
		})
	}
	for at := 0; at < len(recs); {
		n := min((1+r.IntN(2000))*size, len(recs)-at)
		if err := tables[r.IntN(len(tables))].Add(int64(at/size), recs[at:at+n]); err != nil {
			return nil, err
		}
		at += n
	}
	for _, other := range tables[1:] {
		if err := tables[0].Join(other); err != nil {
			return nil, err
		}
	}
	tables[0].Sort()
	return tables[0], nil
}

// TestCounts compares the counts of bare keys of every type with those of a map.
func TestCounts(t *testing.T) {
	t.Parallel()
	r := formattest.Random(t)
	for _, typ := range []string{"u8", "i16be", "u24", "f32", "i40", "u64", "i64", "f64", "bytes3", "bytes8", "u64be"} {
		for _, keys := range []int{1, 100, 20000} {
			keyer := formattest.Keyer(t, format.Spec{Type: typ})
			size := keyer.Layout().RecordSize
			if r.IntN(2) == 0 {
				keyer = formattest.Keyer(t, format.Spec{RecordSize: size, Keys: []string{"0:" + typ + ":desc"}})
			}
			counts := map[string]int64{}
			values := make([][]byte, keys)
			for i := range values {
				values[i] = make([]byte, size)
				for at := range size {
					values[i][at] = byte(r.IntN(256))
				}
				if i == 0 {
					clear(values[i])
				}
			}
			var recs []byte
			for range r.IntN(60000) {
				value := values[r.IntN(keys)]
				counts[string(keyer.Append(nil, value))]++
				recs = append(recs, value...)
			}
			table, err := fill(t, r, Options{Keyer: keyer, MaxKeys: keys}, recs)
			if err != nil {
				t.Fatal(err)
			}
			if table.Keys() != len(counts) {
				t.Fatalf("%s: %d keys, want %d", typ, table.Keys(), len(counts))
			}
			var before []byte
			for i := range table.Keys() {
				key, n := table.Count(i)
				rec := make([]byte, size)
				keyer.Records(rec, []uint64{key})
				normalized := keyer.Append(nil, rec)
				if n != counts[string(normalized)] || i > 0 && bytes.Compare(before, normalized) >= 0 {
					t.Fatalf("%s: key %x after %x: %d records, want %d", typ, normalized, before, n, counts[string(normalized)])
				}
				before = normalized
			}
		}
	}
}

// TestFolds compares results with those of a Fold to which all records are added in order.
func TestFolds(t *testing.T) {
	t.Parallel()
	r := formattest.Random(t)
	spec := format.Spec{RecordSize: 48, Keys: []string{"3:i24"}}
	header := formattest.Header(t, spec)
	keyer := formattest.KeyerOf(t, header.Layout())
	for range 60 {
		var a format.Aggregates
		for at, typ := range []string{"u8", "i16be", "u64", "i64be", "i8"} {
			field := fmt.Sprintf("%d:%s", 6+8*at, typ)
			lists := []*[]string{&a.Sum, &a.Min, &a.Max, &a.First, &a.Last}
			list := lists[r.IntN(len(lists))]
			if list == &a.Sum && at == 0 {
				field += ":u64"
			}
			if r.IntN(2) == 0 || list == &a.Sum {
				field = fmt.Sprintf("r%d=%s", at, field)
			}
			if list == &a.Sum && at > 0 {
				field += ":i128"
			}
			*list = append(*list, field)
		}
		a.Count = r.IntN(2) == 0
		g, err := format.NewAggregation(a, header, keyer, r.IntN(2) == 0)
		if err != nil {
			t.Fatal(err)
		}
		n := r.IntN(20000)
		keys := 1 + r.IntN(300)
		recs := make([]byte, n*48)
		for i := range recs {
			recs[i] = byte(r.IntN(256))
		}
		groups := map[string]*format.Fold{}
		for at := 0; at < len(recs); at += 48 {
			binary.LittleEndian.PutUint16(recs[at+3:], uint16(r.IntN(keys)*77))
			recs[at+5] = byte(r.IntN(2) * 255)
			key := string(keyer.Append(nil, recs[at:at+48]))
			if groups[key] == nil {
				groups[key] = g.NewFold()
			}
			groups[key].Add(recs[at : at+48])
		}
		var order []string
		for key := range groups {
			order = append(order, key)
		}
		slices.Sort(order)
		table, err := fill(t, r, Options{Keyer: keyer, Aggregation: g, MaxKeys: len(order)}, recs)
		if err != nil || table.Keys() != len(order) {
			t.Fatalf("%d keys, want %d, %v", table.Keys(), len(order), err)
		}
		fold := g.NewFold()
		for i, key := range order {
			want, wantErr := groups[key].AppendResult(nil)
			table.Fold(i, fold)
			got, err := fold.AppendResult(nil)
			if !bytes.Equal(got, want) || fmt.Sprint(err) != fmt.Sprint(wantErr) {
				t.Fatalf("%+v: key %x: %x, want %x, %v, want %v", a, key, got, want, err, wantErr)
			}
		}
	}
}

// TestFull checks that a Table with too many keys, or with keys that all collide, returns ErrFull.
func TestFull(t *testing.T) {
	t.Parallel()
	keyer := formattest.Keyer(t, format.Spec{Type: "u64"})
	for name, next := range map[string]func(i uint64) uint64{
		"too many keys": func(i uint64) uint64 { return i },
		"collisions": func(i uint64) uint64 {
			const inverse = 0xf1de83e19937733d // of the multiplier of hash, modulo 2^64
			key := i * inverse
			return key ^ key>>32
		},
	} {
		maxKeys := 2000
		if name == "collisions" {
			maxKeys = 1 << 20
		}
		table, err := New(Options{Keyer: keyer, MaxKeys: maxKeys})
		if err != nil {
			t.Fatal(err)
		}
		defer table.Close()
		added := 0
		for i := uint64(1); err == nil && i < 1<<17; i++ {
			err = table.Add(int64(i), binary.LittleEndian.AppendUint64(nil, next(i)))
			added++
		}
		if !errors.Is(err, ErrFull) || name == "collisions" && added > 10000 {
			t.Errorf("%s: %v after %d keys", name, err, added)
		}
	}
}

// TestJoinOfUnequalTables joins tables with different numbers of keys, of which half are shared.
func TestJoinOfUnequalTables(t *testing.T) {
	t.Parallel()
	keyer := formattest.Keyer(t, format.Spec{Type: "u64"})
	for _, sizes := range [][2]int{{0, 12000}, {1500, 12000}, {3000, 100000}, {20000, 6666}, {100000, 0}, {0, 0}} {
		var tables [2]*Table
		for i, keys := range sizes {
			table, err := New(Options{Keyer: keyer, MaxKeys: sizes[0] + sizes[1]})
			if err != nil {
				t.Fatal(err)
			}
			defer table.Close()
			for key := range uint64(keys) {
				if err := table.Add(0, binary.LittleEndian.AppendUint64(nil, key*uint64(1+i))); err != nil {
					t.Fatal(err)
				}
			}
			tables[i] = table
		}
		if err := tables[0].Join(tables[1]); err != nil {
			t.Fatalf("%d and %d keys: %v", sizes[0], sizes[1], err)
		}
		tables[0].Sort()
		records := int64(0)
		for i := range tables[0].Keys() {
			_, n := tables[0].Count(i)
			records += n
		}
		shared := min((sizes[0]+1)/2, sizes[1])
		if want := sizes[0] + sizes[1]; records != int64(want) || tables[0].Keys() != want-shared {
			t.Errorf("%d and %d keys: %d keys and %d records", sizes[0], sizes[1], tables[0].Keys(), records)
		}
	}
}

// BenchmarkAdd counts keys, and adds up a field.
func BenchmarkAdd(b *testing.B) {
	for _, keys := range []int{100, 1000, 20000, 200000} {
		for _, sums := range []bool{false, true} {
			spec := format.Spec{Type: "u64"}
			if sums {
				spec = format.Spec{RecordSize: 16, Keys: []string{"0:u64"}}
			}
			header := formattest.Header(b, spec)
			keyer := formattest.KeyerOf(b, header.Layout())
			opt := Options{Keyer: keyer, MaxKeys: keys}
			if sums {
				var err error
				sum := format.Aggregates{Sum: []string{"8:u64"}}
				if opt.Aggregation, err = format.NewAggregation(sum, header, keyer, false); err != nil {
					b.Fatal(err)
				}
			}
			r := rand.New(rand.NewPCG(1, 1))
			values := make([]uint64, keys)
			for i := range values {
				values[i] = r.Uint64()
			}
			size := keyer.Layout().RecordSize
			recs := make([]byte, size<<20)
			for at := 0; at < len(recs); at += size {
				binary.LittleEndian.PutUint64(recs[at:], values[r.IntN(keys)])
			}
			b.Run(fmt.Sprintf("keys=%d/sum=%t", keys, sums), func(b *testing.B) {
				b.SetBytes(int64(len(recs)))
				table, err := New(opt)
				if err != nil {
					b.Fatal(err)
				}
				defer table.Close()
				for b.Loop() {
					if err := table.Add(0, recs); err != nil {
						b.Fatal(err)
					}
				}
				b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(1<<20), "ns/record")
			})
		}
	}
}
