package session

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/extsort/extsort/format"
	"github.com/extsort/extsort/internal/option"
	"github.com/extsort/extsort/internal/testfiles"
)

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
		for _, strategy := range []Strategy{Auto, MergeRuns, Partition, Reread, Tally} {
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
			testfiles.Write(t, opt.Output, []byte("old"))
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

// TestFewKeysSpillLittle checks that runs contain one record for each key, and that the parts of a
// partition contain few more.
func TestFewKeysSpillLittle(t *testing.T) {
	t.Parallel()
	const records = 200_000
	const keys = 50
	recs := make([]byte, 0, 16*records)
	for i := range records {
		recs = append(recs, byte(i%keys), 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0)
	}
	run := int64(4096) // runs and pieces of parts are aligned to pages
	for _, c := range []struct {
		opt      Options
		isStream bool
		most     int64 // spilled bytes
	}{
		{Options{Strategy: MergeRuns, Sum: []string{"8:u64"}}, false, records / 10_000 * run},
		{Options{Strategy: MergeRuns, Keep: "last", Max: []string{"12:u8"}, Sum: []string{"8:u32"}}, true,
			records / 10_000 * run},
		{Options{Strategy: MergeRuns}, false, records / 10_000 * run},
		{Options{Strategy: Partition, Sum: []string{"8:u64"}}, false, 2 * keys * run},
		{Options{Strategy: Partition, Sum: []string{"8:u64"}}, true, 2 * keys * run},
		{Options{Sum: []string{"8:u64"}}, true, records / 10_000 * run},
	} {
		opt := c.opt
		opt.Unique = true
		opt.Record = format.Spec{RecordSize: 16, Keys: []string{"0:u64"}}
		if c.isStream {
			opt.Stdin = bytes.NewReader(recs)
		} else {
			opt.Inputs = []string{writeFile(t, recs)}
		}
		opt.MemoryBytes = 64 << 20
		opt.SpillCompress = "none"
		opt.faults.chunkRecords = 10_000
		got, report, err := sortToBytes(t, opt)
		if err != nil || report.RecordsOut != keys {
			t.Fatalf("%+v: %v, %v", opt, report, err)
		}
		if report.BytesSpilled == 0 || report.BytesSpilled > c.most {
			t.Errorf("%s, sum %q, stream %t: %d bytes are spilled, %d are enough",
				report.Strategy, opt.Sum, c.isStream, report.BytesSpilled, c.most)
		}
		if opt.Sum != nil && strings.Count(string(got), "\xa0\x0f") != keys {
			t.Errorf("sum %q: not all totals are 4,000", opt.Sum)
		}
	}
}

// TestNaTInEveryStrategy adds durations of a NumPy array, some of which are NaT.
func TestNaTInEveryStrategy(t *testing.T) {
	t.Parallel()
	const keys = 20
	var recs []byte
	want := make([]byte, 0, 16*keys)
	totals := make([]int64, keys)
	for i := range 8_000 {
		value := int64(i%7 - 3)
		if key := i % keys; key%3 == 0 && i%500 == key {
			value = math.MinInt64
		}
		recs = binary.LittleEndian.AppendUint64(recs, uint64(i%keys))
		recs = binary.LittleEndian.AppendUint64(recs, uint64(value))
		if total := &totals[i%keys]; value == math.MinInt64 || *total == math.MinInt64 {
			*total = math.MinInt64
		} else {
			*total += value
		}
	}
	for key, total := range totals {
		want = binary.LittleEndian.AppendUint64(want, uint64(key))
		want = binary.LittleEndian.AppendUint64(want, uint64(total))
	}
	const dtype = "[('id', '<u8'), ('d', '<m8[ms]')]"
	text := fmt.Sprintf("{'descr': %s, 'fortran_order': False, 'shape': (%d,), }", dtype, len(recs)/16)
	text += strings.Repeat(" ", 117-len(text)) + "\n"
	array := slices.Concat([]byte("\x93NUMPY\x01\x00v\x00"), []byte(text), recs)
	for _, strategy := range []Strategy{Auto, MergeRuns, Partition, Reread, Tally} {
		opt := Options{
			Record:      format.Spec{Format: "npy", Keys: []string{"id"}},
			Inputs:      []string{writeFile(t, array)},
			Unique:      true,
			Sum:         []string{"d"},
			Strategy:    strategy,
			MemoryBytes: 64 << 20,
		}
		opt.faults.chunkRecords = 700
		got, report, err := sortToBytes(t, opt)
		if err != nil || !bytes.Equal(got[len(got)-len(want):], want) {
			t.Errorf("%s: %v, %x, want %x", strategy, err, got, want)
		}
		if strategy != Auto && report.Strategy != strategy {
			t.Errorf("strategy %s instead of %s", report.Strategy, strategy)
		}
	}
}
