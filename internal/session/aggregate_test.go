package session

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/extsort/extsort/format"
	"github.com/extsort/extsort/internal/option"
	"github.com/extsort/extsort/internal/sorttest"
)

// An aggregateCase is a random sort that combines fields.
type aggregateCase struct {
	opt       Options
	layout    format.Layout
	recs      []byte
	selection sorttest.Selection
}

// newAggregateCase returns random records of 64 bytes with a key of 2 bytes, and random fields to
// combine. All numbers are small, so that sums fit.
func newAggregateCase(t *testing.T, r *rand.Rand) *aggregateCase {
	t.Helper()
	const size = 64
	keys := 1 + r.IntN(200)
	c := &aggregateCase{}
	c.opt.Record = format.Spec{RecordSize: size, Keys: []string{fmt.Sprintf("%d:u16", 2*r.IntN(3))}}
	header, err := c.opt.Record.NewHeader()
	if err != nil {
		t.Fatal(err)
	}
	c.layout = header.Layout()
	n := r.IntN(3) * r.IntN(1500)
	c.recs = make([]byte, n*size)
	for at := 0; at < len(c.recs); at += size {
		rec := c.recs[at : at+size]
		for i := range rec {
			rec[i] = byte(r.IntN(256))
		}
		key := r.IntN(keys)
		rec[c.layout.Key[0].Offset] = byte(key)
		rec[c.layout.Key[0].Offset+1] = byte(key >> 8)
	}
	c.chooseFields(t, r)
	c.opt.Unique = true
	c.opt.Count = r.IntN(2) == 0
	if r.IntN(2) == 0 {
		c.opt.Keep = "last"
	}
	c.opt.Reverse = r.IntN(2) == 0
	c.opt.Limit = []int64{0, 0, 1, 50}[r.IntN(4)]
	c.selection.Unique = true
	c.selection.Count = c.opt.Count
	c.selection.KeepLast = c.opt.Keep == "last"
	c.selection.Reverse = c.opt.Reverse
	c.selection.Limit = c.opt.Limit
	return c
}

// chooseFields chooses random fields after the key. Fields that replace bytes do not overlap.
func (c *aggregateCase) chooseFields(t *testing.T, r *rand.Rand) {
	t.Helper()
	at := 6
	for at < c.layout.RecordSize {
		name := format.NumberTypes[r.IntN(len(format.NumberTypes))]
		if r.IntN(2) == 0 {
			name += "be"
		}
		typ, err := format.ParseType(name)
		if err != nil || typ.Kind == format.Extended || at+typ.Size > c.layout.RecordSize {
			at++
			continue
		}
		f := sorttest.CombinedField{
			How:   []string{"sum", "min", "max", "first", "last"}[r.IntN(5)],
			Field: format.Field{Offset: at, Type: typ},
			Sum:   typ,
		}
		if r.IntN(3) == 0 {
			f.Name = fmt.Sprintf("result%d", at)
		}
		isInteger := typ.Kind == format.Unsigned || typ.Kind == format.Signed
		switch {
		case f.How != "sum":
		case isInteger && typ.Size > 1:
			c.makeSmall(f, r)
		case typ.Kind != format.Float || typ.Size < 4:
			f.How = "max"
		}
		c.selection.Combined = append(c.selection.Combined, f)
		at += typ.Size + r.IntN(9)
	}
	order := []string{"sum", "min", "max", "first", "last"}
	slices.SortStableFunc(c.selection.Combined, func(a, b sorttest.CombinedField) int {
		return slices.Index(order, a.How) - slices.Index(order, b.How)
	})
	for _, f := range c.selection.Combined {
		lists := map[string]*[]string{
			"sum": &c.opt.Sum, "min": &c.opt.Min, "max": &c.opt.Max, "first": &c.opt.First, "last": &c.opt.Last,
		}
		*lists[f.How] = append(*lists[f.How], f.String())
	}
}

// makeSmall makes the integers of a field of at least 2 bytes so small that the sum of all records
// fits. In a sum of signed numbers, some are negative.
func (c *aggregateCase) makeSmall(f sorttest.CombinedField, r *rand.Rand) {
	for at := f.Field.Offset; at < len(c.recs); at += c.layout.RecordSize {
		v := c.recs[at : at+f.Field.Type.Size]
		fill := byte(0)
		if f.Field.Type.Kind == format.Signed && r.IntN(2) == 0 {
			fill = 0xff
		}
		for i := range v {
			v[i] = fill
		}
		v[f.Field.Type.Place(len(v)-1)] ^= byte(r.IntN(8))
	}
}

// TestAggregates combines random fields of random records, by each strategy and by merges of sorted
// files and pipes.
func TestAggregates(t *testing.T) {
	t.Parallel()
	r := seeded(t)
	for range effort(120) {
		c := newAggregateCase(t, r)
		want := sorttest.NewReference(c.layout, c.recs, c.selection)
		opt := c.opt
		opt.Inputs = []string{writeFile(t, c.recs)}
		opt.Strategy = []Strategy{Auto, MergeRuns, Partition, Reread, Sift}[r.IntN(5)]
		opt.Workers = 1 + r.IntN(3)
		opt.MemoryBytes = 64 << 20
		opt.BatchSize = []int{0, 2, 3}[r.IntN(3)]
		opt.faults.chunkRecords = []int64{0, 100, 512}[r.IntN(3)]
		opt.faults.blockBytes = []int{7, 64}[r.IntN(2)] * c.layout.RecordSize
		got, _, err := sortToBytes(t, opt)
		checkAggregates(t, c, string(opt.Strategy), got, want, err)

		opt.Inputs = nil
		half := len(c.recs) / c.layout.RecordSize / 2 * c.layout.RecordSize
		for _, part := range [][]byte{c.recs[:half], c.recs[half:]} {
			sorted := sorttest.NewReference(c.layout, part, sorttest.Selection{Reverse: opt.Reverse})
			if r.IntN(2) == 0 {
				opt.Sources = append(opt.Sources, Source{Name: "a pipe", Reader: bytes.NewReader(sorted.Bytes)})
			} else {
				opt.Sources = append(opt.Sources, Source{Name: writeFile(t, sorted.Bytes)})
			}
		}
		opt.Strategy = ""
		got, err = mergeToBytes(t, mergeOptions(opt))
		checkAggregates(t, c, "a merge of files", got, want, err)
	}
}

func checkAggregates(t *testing.T, c *aggregateCase, how string, got []byte, want sorttest.Reference, err error) {
	t.Helper()
	if err != nil || !bytes.Equal(got, want.Bytes) {
		at := sorttest.FirstDifference(got, want.Bytes, want.Size)
		t.Fatalf("%s, %+v: %d bytes, want %d, record %d differs, %v", how, c.selection, len(got), len(want.Bytes), at, err)
	}
}

// TestSumOverflow adds numbers to a field of one byte. Only the total has to fit: each strategy
// gives the same result or the same error, and an error leaves the old output.
func TestSumOverflow(t *testing.T) {
	t.Parallel()
	r := seeded(t)
	for _, c := range []struct {
		typ    string
		values []int // of key 7; there are many other keys
		total  int
		fits   bool
	}{
		{"u8", []int{255, 0, 0, 0}, 255, true},
		{"u8", []int{128, 127, 0}, 255, true},
		{"u8", []int{128, 128}, 256, false},
		{"i8", []int{100, 100, -100}, 100, true},
		{"i8", []int{-128, -128, 127, 127, 2}, 0, true},
		{"i8", []int{-100, -29}, -129, false},
		{"i8", []int{100, 28}, 128, false},
	} {
		for _, strategy := range []Strategy{Auto, MergeRuns, Partition, Reread} {
			var recs []byte
			for i := range 600 {
				recs = append(recs, byte(8+i%100), 0, 1)
			}
			size := 3
			for _, v := range c.values {
				at := r.IntN(600) * size
				recs = slices.Insert(recs, at, 7, 0, byte(v))
			}
			opt := Options{
				Inputs:      []string{writeFile(t, recs)},
				Output:      filepath.Join(t.TempDir(), "out"),
				Record:      format.Spec{RecordSize: size, Keys: []string{"0:u16"}},
				Unique:      true,
				Sum:         []string{"2:" + c.typ},
				Strategy:    strategy,
				MemoryBytes: 64 << 20,
				BatchSize:   2,
				TempDirs:    []string{t.TempDir()},
			}
			opt.faults.chunkRecords = 50
			opt.faults.blockBytes = 10 * size
			if err := os.WriteFile(opt.Output, []byte("old"), 0o600); err != nil {
				t.Fatal(err)
			}
			_, err := Sort(context.Background(), opt)
			out, readErr := os.ReadFile(opt.Output)
			if readErr != nil {
				t.Fatal(readErr)
			}
			if c.fits && (err != nil || out[0] != 7 || int(out[2]) != c.total) {
				t.Errorf("%s by %s: %v, the total is %d, %v", c.typ, strategy, c.values, out[2], err)
			}
			if c.fits {
				continue
			}
			invalid, ok := errors.AsType[*option.Error](err)
			want := fmt.Sprintf("Options.Sum 2:%[1]s: key 7 has the total %[2]d, which does not fit %[1]s: "+
				"Options.Sum NAME=2:%[1]s:%[3]s64 appends a wider sum", c.typ, c.total, c.typ[:1])
			if !ok || invalid.Error() != want || string(out) != "old" {
				t.Errorf("%s by %s: %v, %q, %v", c.typ, strategy, c.values, out, err)
			}
			opt.Limit = 1 // the record that is needed has another key
			opt.Reverse = true
			if _, err := Sort(context.Background(), opt); err != nil {
				t.Errorf("%s by %s, limited to another key: %v", c.typ, strategy, err)
			}
		}
	}
}

// TestExtremesOfFloats checks that least and greatest values follow the order of keys.
func TestExtremesOfFloats(t *testing.T) {
	t.Parallel()
	nan := "\x00\x00\xc0\x7f"
	minusNaN := "\x00\x00\xc0\xff"
	zero := "\x00\x00\x00\x00"
	minusZero := "\x00\x00\x00\x80"
	one := "\x00\x00\x80\x3f"
	for _, c := range []struct {
		nan, float string
		values     []string
		least      string
		greatest   string
	}{
		{"", "", []string{one, nan, minusNaN, zero}, minusNaN, nan},
		{"first", "", []string{one, nan, minusNaN}, nan, one}, // positive NaNs come before negative ones
		{"last", "", []string{nan, one, zero, minusNaN}, zero, minusNaN},
		{"", "", []string{zero, minusZero}, minusZero, zero},
		{"", "numeric", []string{zero, minusZero}, zero, zero},
		{"", "numeric", []string{minusZero, zero}, minusZero, minusZero},
		{"first", "numeric", []string{one, nan, minusNaN}, nan, one},
		{"", "numeric", []string{one, minusNaN, nan}, one, minusNaN},
	} {
		var recs []byte
		for _, v := range c.values {
			recs = append(recs, "k"+v...)
		}
		opt := Options{
			Record: format.Spec{RecordSize: 5, Keys: []string{"0:u8"}, NaN: c.nan, Float: c.float},
			Stdin:  bytes.NewReader(recs),
			Unique: true,
			Min:    []string{"1:f32"},
			Max:    []string{"greatest=1:f32"},
		}
		got, _, err := sortToBytes(t, opt)
		if want := "k" + c.least + c.greatest; err != nil || string(got) != want {
			t.Errorf("--nan %s --float %s of %q: %q, want %q, %v", c.nan, c.float, c.values, got, want, err)
		}
	}
}

// TestTotalsOfSignedValues checks that a sum of signed values in an unsigned result depends only on
// the total, although a part of it is negative.
func TestTotalsOfSignedValues(t *testing.T) {
	t.Parallel()
	const keys = 10
	var recs []byte
	for i := range 40_000 {
		value := int32(-1)
		if i >= 10_000 {
			value = 1
		}
		recs = binary.LittleEndian.AppendUint32(recs, uint32(i%keys))
		recs = binary.LittleEndian.AppendUint32(recs, uint32(value))
	}
	for _, strategy := range []Strategy{MergeRuns, Partition, Reread, ""} {
		opt := Options{
			Record:      format.Spec{RecordSize: 8, Keys: []string{"0:u32"}},
			Inputs:      []string{writeFile(t, recs)},
			Unique:      true,
			Sum:         []string{"total=4:i32:u64"},
			Strategy:    strategy,
			MemoryBytes: 64 << 20,
		}
		if strategy != "" { // otherwise in core
			opt.faults.chunkRecords = 3_000
		}
		got, _, err := sortToBytes(t, opt)
		if err != nil {
			t.Errorf("%v: %v", strategy, err)
			continue
		}
		for at := 0; at < len(got); at += 16 {
			if total := binary.LittleEndian.Uint64(got[at+8:]); total != 2_000 {
				t.Errorf("%v: the total is %d, want 2,000", strategy, total)
			}
		}
		if len(got) != 16*keys {
			t.Errorf("%v: %d bytes, want %d", strategy, len(got), 16*keys)
		}
	}
}

// TestFewKeysSpillLittle checks that runs contain one record for each key.
func TestFewKeysSpillLittle(t *testing.T) {
	t.Parallel()
	const records = 200_000
	const keys = 50
	recs := make([]byte, 0, 16*records)
	for i := range records {
		recs = append(recs, byte(i%keys), 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0)
	}
	for _, opt := range []Options{
		{Sum: []string{"8:u64"}},
		{Keep: "last", Max: []string{"12:u8"}, Sum: []string{"8:u32"}},
		{},
	} {
		opt.Unique = true
		opt.Record = format.Spec{RecordSize: 16, Keys: []string{"0:u64"}}
		opt.Inputs = []string{writeFile(t, recs)}
		opt.Strategy = MergeRuns
		opt.MemoryBytes = 64 << 20
		opt.SpillCompress = "none"
		opt.faults.chunkRecords = 10_000
		got, report, err := sortToBytes(t, opt)
		if err != nil || report.RecordsOut != keys {
			t.Fatalf("%+v: %v, %v", opt, report, err)
		}
		// Runs of 50 results are aligned to pages.
		if most := int64(records / 10_000 * 4096); report.BytesSpilled == 0 || report.BytesSpilled > most {
			t.Errorf("sum %q, count %t: %d bytes are spilled, %d are enough", opt.Sum, opt.Count, report.BytesSpilled, most)
		}
		if opt.Sum != nil && strings.Count(string(got), "\xa0\x0f") != keys {
			t.Errorf("sum %q: not all totals are 4,000", opt.Sum)
		}
	}
}
