package session

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/extsort/extsort/chunker/plan"
	"github.com/extsort/extsort/format"
	"github.com/extsort/extsort/format/computed"
	"github.com/extsort/extsort/format/formattest"
	"github.com/extsort/extsort/internal/testfiles"
)

// keyLists are lists of keys for records of at least 16 bytes. The first ones need no pass over
// the data.
var keyLists = []string{
	"hilbert(0:u16=0:65535,2:i16be=-32768:32767)",
	"morton(0:u8=10:20,1:u8=0:255,2:u8=0:255,bits=32)|5:u8",
	"bit_reverse(1:u16)",
	"xxh64(3:u8):desc|4:u8:desc",
	"5:i8|xxh64(0:u8,7:u8)",
	"xxh64(6:u8)|bit_reverse(2:u8):desc",
	"hilbert(0:f32=-1:1,4:f32=-1e30:1e30):desc",
	"hilbert(0:u8,1:u8)",
	"morton(0:i32,4:u24be,7:f16)",
	"9:u8:desc|hilbert(0:f64,1:u16,3:bf16,2:u8,bits=32)",
}

// givenRanges is the number of keyLists that need no pass over the data.
const givenRanges = 7

// longerRecords returns records with their computed keys, and their layout.
func longerRecords(t *testing.T, spec format.Spec, recs []byte) ([]byte, format.Layout) {
	t.Helper()
	keys, err := computed.Parse(spec.Keys)
	if err != nil {
		t.Fatal(err)
	}
	spec.Keys = keys.Fields()
	header := formattest.Header(t, spec)
	program, err := keys.Bind(header.Layout())
	if err != nil {
		t.Fatal(err)
	}
	program.Observe(recs)
	program.Ready()
	longer := make([]byte, len(recs)/spec.RecordSize*program.Layout.RecordSize)
	program.Append(longer, recs)
	return longer, program.Layout
}

// shortened returns the beginnings of records.
func shortened(recs []byte, size, to int) (all []byte) {
	for rec := range slices.Chunk(recs, size) {
		all = append(all, rec[:to]...)
	}
	return all
}

// computedOptions returns random options of a sort, without inputs.
func computedOptions(r *rand.Rand, key string) Options {
	some := func(n int) bool { return r.IntN(n) == 0 }
	opt := Options{
		Record:  format.Spec{RecordSize: 16 + r.IntN(20), Keys: strings.Split(key, "|")},
		Reverse: some(4),
	}
	if some(2) {
		opt = variant(opt, opt.Record.RecordSize+32, r)
		// The records that are sorted may be shorter than that, and a chunk has to hold a block of them.
		opt.faults.chunkRecords += int64(opt.faults.blockBytes / opt.Record.RecordSize)
	}
	opt.Verify = false
	if some(4) {
		opt.Limit = int64(1 + r.IntN(200))
	}
	switch r.IntN(6) {
	case 0:
		opt.Unique = true
		opt.Keep = []string{"", "last"}[r.IntN(2)]
	case 1:
		opt.Duplicates = true
	case 2:
		opt.Argsort = []string{"u32", "u64"}[r.IntN(2)]
	}
	isOne := strings.Count(key, "(") == 1
	if isOne && opt.Argsort == "" && some(2) {
		opt.KeepKey = "key"
		opt.Verify = some(2)
		opt.Count = opt.Unique && some(2)
	}
	return opt
}

// TestComputedKeys compares random sorts by computed keys with a reference, which sorts records that
// contain their keys.
func TestComputedKeys(t *testing.T) {
	t.Parallel()
	r := seeded(t)
	for i := range 300 {
		at := r.IntN(len(keyLists))
		opt := computedOptions(r, keyLists[at])
		size := opt.Record.RecordSize
		n := []int{0, 1, 2, 3 + r.IntN(100), r.IntN(5000)}[r.IntN(5)]
		recs := make([]byte, n*size)
		few := 1 + r.IntN(256)
		for j := range recs {
			recs[j] = byte(r.IntN(few))
		}

		longer, layout := longerRecords(t, opt.Record, recs)
		want := reference(t, layout, longer, opt)
		if opt.Argsort == "" && opt.KeepKey == "" {
			want = shortened(want, layout.RecordSize, size)
		}
		isPipe := at < givenRanges && r.IntN(3) == 0
		if isPipe {
			opt.Stdin = io.MultiReader(bytes.NewReader(recs))
			opt.Strategy = Auto
		} else {
			opt.Inputs = []string{writeFile(t, recs)}
		}
		if r.IntN(2) == 0 {
			opt.Output = filepath.Join(t.TempDir(), "out")
		}
		got, _, err := sortToBytes(t, opt)
		name := fmt.Sprintf("sort %d: %d records of %d bytes by %s, pipe %t, %s", i, n, size, keyLists[at], isPipe,
			describe(opt))
		if err != nil {
			t.Fatalf("%.600s: %v", name, err)
		}
		if !bytes.Equal(got, want) {
			t.Fatalf("%.600s: %d bytes, want %d", name, len(got), len(want))
		}
		isOrdered := opt.Argsort == "" && opt.KeepKey == "" && !opt.Unique && !opt.Duplicates && opt.Limit == 0
		if !isOrdered {
			continue
		}
		check := CheckOptions{Input: Source{Name: writeFile(t, got)}, Record: opt.Record, Reverse: opt.Reverse}
		if _, err := Check(t.Context(), check); err != nil {
			t.Fatalf("%.600s: %v", name, err)
		}
	}
}

// TestComputedKeyOfArrays sorts NumPy arrays, with and without the key in the output.
func TestComputedKeyOfArrays(t *testing.T) {
	t.Parallel()
	header := "{'descr': [('id', '<u2'), ('x', '<f4'), ('y', '<f4')], 'fortran_order': False, 'shape': (3,), }"
	npy := []byte("\x93NUMPY\x01\x00" + string([]byte{byte(len(header) + 1), 0}) + header + "\n")
	npy = append(npy, "a.\x00\x00\x80\x3f\x00\x00\x00\x00"+"b.\x00\x00\x00\x00\x00\x00\x80\x3f"+
		"c.\x00\x00\x00\x00\x00\x00\x00\x00"...)
	opt := Options{Record: format.Spec{Format: "npy", Keys: []string{"morton(x,y)"}}, Inputs: []string{writeFile(t, npy)}}
	got, _, err := sortToBytes(t, opt)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Contains(got, []byte("'shape': (3,)")) || string(got[len(got)-30:][:1]) != "c" ||
		string(got[len(got)-20:][:1]) != "a" {
		t.Errorf("%q", got)
	}

	opt.KeepKey = "z"
	if got, _, err = sortToBytes(t, opt); err != nil {
		t.Fatal(err)
	}
	if !bytes.Contains(got, []byte("('y', '<f4'), ('z', '<u8')]")) ||
		!bytes.HasSuffix(got, []byte("\x80\x3f\xaa\xaa\xaa\xaa\xaa\xaa\xaa\xaa")) {
		t.Errorf("%q", got)
	}
	opt.KeepKey = "id"
	if _, _, err := sortToBytes(t, opt); err == nil || !strings.Contains(err.Error(), "already have such a field") {
		t.Error(err)
	}
}

// TestComputedKeyErrors checks the messages for options that conflict with computed keys.
func TestComputedKeyErrors(t *testing.T) {
	t.Parallel()
	in := writeFile(t, make([]byte, 64))
	for _, row := range []struct {
		change func(o *Options)
		want   string
	}{
		{func(o *Options) { o.Verify = true }, "add Options.KeepKey NAME"},
		{func(o *Options) { o.Unique, o.Count = true, true }, "to count or combine records, add Options.KeepKey NAME"},
		{func(o *Options) { o.Unique, o.Sum = true, []string{"0:u8"} }, "add Options.KeepKey NAME"},
		{func(o *Options) { o.Argsort, o.KeepKey = "u32", "k" }, "leave Options.KeepKey out"},
		{func(o *Options) { o.Record.Keys, o.KeepKey = []string{"0:u8"}, "k" }, "no key is computed"},
		{func(o *Options) { o.Record.Keys, o.KeepKey = slices.Repeat(o.Record.Keys, 2), "k" }, "but there are 2"},
		{func(o *Options) { o.Unique, o.Count, o.KeepKey = true, true, "count" }, "also the name of a result"},
		{func(o *Options) { o.Part = Part{N: 2} }, "the range of 0:u8 must be given, as in 0:u8=LOW:HIGH: all parts"},
		{func(o *Options) { o.Inputs, o.Stdin = nil, bytes.NewReader(nil) }, "standard input can be read only once"},
		{func(o *Options) { o.Record.Keys = []string{"hilbert(0:u8)"} }, "hilbert needs 2 to 4 fields, not 1"},
		{func(o *Options) { o.Record.Keys = []string{"hilbert(0:u8,8:u8)"} }, "8:u8 needs 1 bytes"},
		{func(o *Options) { o.Record.Keys = []string{"hilbrt(0:u8,1:u8)"} }, "no such field or function"},
		{func(o *Options) { o.Record.Keys = []string{"hilbert(0:u8,1:bytes2)"} }, "needs a number"},
	} {
		opt := Options{Record: format.Spec{RecordSize: 8, Keys: []string{"hilbert(0:u8,1:u8)"}}, Inputs: []string{in}}
		row.change(&opt)
		_, _, err := sortToBytes(t, opt)
		if err == nil || !strings.Contains(err.Error(), row.want) || len(err.Error()) > 160 {
			t.Errorf("%v, want %q", err, row.want)
		}
	}

	spec := format.Spec{RecordSize: 8, Keys: []string{"xxh64(0:u8)"}}
	_, err := Merge(t.Context(), MergeOptions{Inputs: []string{in}, Record: spec, Stdout: io.Discard})
	if err == nil || !strings.Contains(err.Error(), "sort with Options.KeepKey NAME, and merge by that field") {
		t.Error(err)
	}
	_, err = Top(t.Context(), Options{Inputs: []string{in}, Record: spec}, 1)
	if err == nil || !strings.Contains(err.Error(), "sort by it with Options.KeepKey NAME first") {
		t.Error(err)
	}
	if err := spec.Validate(); err == nil || !strings.Contains(err.Error(), "only sorts, checks and plans compute keys") {
		t.Error(err)
	}
}

// TestComputedKeysInParts sorts two parts of a file by a key whose ranges are given.
func TestComputedKeysInParts(t *testing.T) {
	t.Parallel()
	r := seeded(t)
	recs := make([]byte, 1001*8)
	for i := range recs {
		recs[i] = byte(r.IntN(256))
	}
	opt := Options{
		Record: format.Spec{RecordSize: 8, Keys: []string{"morton(0:u8=0:255,3:u8=0:255)"}},
		Inputs: []string{writeFile(t, recs)},
	}
	var middle int64 = 500
	for k, part := range [][]byte{recs[:middle*8], recs[middle*8:]} {
		opt.Part = Part{K: int64(k), N: 2}
		longer, layout := longerRecords(t, opt.Record, part)
		want := shortened(reference(t, layout, longer, Options{}), layout.RecordSize, 8)
		if got, _, err := sortToBytes(t, opt); err != nil || !bytes.Equal(got, want) {
			t.Errorf("part %d: %d bytes, want %d: %v", k, len(got), len(want), err)
		}
	}
}

// TestComputedPlan plans a sort by a sample of the ranges, and one of an input that does not exist.
func TestComputedPlan(t *testing.T) {
	t.Parallel()
	opt := Options{
		Record: format.Spec{RecordSize: 8, Keys: []string{"hilbert(0:f32,4:f32)"}},
		Inputs: []string{writeFile(t, bytes.Repeat([]byte("12345678"), 1000))},
	}
	for _, opt.KeepKey = range []string{"", "key"} {
		p, err := Plan(context.Background(), opt)
		if err != nil || p.Records != 1000 {
			t.Errorf("%+v: %v", p, err)
		}
		if p, err = PlanFor(t.Context(), opt, 1e9); err != nil || p.Records != 1e9 {
			t.Errorf("%+v: %v", p, err)
		}
	}
}

// TestComputedKeyInPlace replaces an input by itself, also with longer records.
func TestComputedKeyInPlace(t *testing.T) {
	t.Parallel()
	recs := bytes.Repeat([]byte("aZ19 bY28 cX37 "), 1000)
	for _, keepKey := range []string{"", "key"} {
		name := writeFile(t, recs)
		out := testfiles.Open(t, name, os.O_RDWR)
		opt := Options{
			Record:  format.Spec{RecordSize: 5, Keys: []string{"xxh64(0:bytes4)"}},
			Inputs:  []string{name},
			Stdout:  out,
			KeepKey: keepKey,
		}
		longer, layout := longerRecords(t, opt.Record, recs)
		want := reference(t, layout, longer, opt)
		if keepKey == "" {
			want = shortened(want, layout.RecordSize, 5)
		}
		if _, err := Sort(t.Context(), opt); err != nil {
			t.Fatal(err)
		}
		if got, err := os.ReadFile(name); err != nil || !bytes.Equal(got, want) {
			t.Errorf("%d bytes, want %d: %v", len(got), len(want), err)
		}
	}
}

// TestComputedSortsAreOthers checks that a checkpoint of a sort does not continue with another key.
func TestComputedSortsAreOthers(t *testing.T) {
	t.Parallel()
	recs := bytes.Repeat([]byte("12345678"), 10)
	ids := map[string]bool{}
	for _, key := range []string{"morton(0:u8,1:u8)", "hilbert(0:u8,1:u8)", "hilbert(0:u8,2:u8)",
		"hilbert(0:u8=0:9,1:u8=0:9)", "hilbert(0:u8,1:u8,bits=16)"} {
		for _, keepKey := range []string{"", "a", "b"} {
			opt := Options{
				Record:  format.Spec{RecordSize: 8, Keys: []string{key}},
				Inputs:  []string{writeFile(t, recs)},
				KeepKey: keepKey,
			}
			s, err := begin(t.Context(), opt, true)
			if err != nil {
				t.Fatal(err)
			}
			ids[fmt.Sprint(s.opt.identity(&plan.Facts{Keyer: s.run.Input.Keyer}, nil))] = true
			if err := s.close(); err != nil {
				t.Error(err)
			}
		}
	}
	if len(ids) != 15 {
		t.Errorf("15 sorts have %d identities", len(ids))
	}
}
