package session

import (
	"bytes"
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
	_ "github.com/extsort/extsort/format/brotli" // registers its library
)

// npyFile puts the header before records that NumPy would write.
func npyFile(t testing.TB, typ string, recs []byte, size int) []byte {
	t.Helper()
	header, err := format.Spec{Format: "npy", Type: typ}.NewHeader()
	if err != nil {
		t.Fatal(err)
	}
	return append(header.Encode(int64(len(recs)/size)), recs...)
}

// npyRows puts the header before rows of four bytes a column that NumPy would write.
func npyRows(descr string, recs []byte, columns int) []byte {
	shape := fmt.Sprintf("(%d, %d)", len(recs)/4/columns, columns)
	text := fmt.Sprintf("{'descr': '%s', 'fortran_order': False, 'shape': %s, }", descr, shape)
	text += strings.Repeat(" ", 117-len(text)) + "\n"
	return slices.Concat([]byte("\x93NUMPY\x01\x00v\x00"), []byte(text), recs)
}

// vectorsOf3 puts their dimension over the first bytes of records of 16.
func vectorsOf3(recs []byte) []byte {
	recs = slices.Clone(recs)
	for at := 0; at < len(recs); at += 16 {
		copy(recs[at:], "\x03\x00\x00\x00")
	}
	return recs
}

// fbinFile puts the number and the dimension of vectors of 3 floats before them.
func fbinFile(recs []byte) []byte { return bigannFile(recs, 12, 3) }

// bigannFile puts the number and the dimension of vectors of size bytes before them.
func bigannFile(recs []byte, size, dimension int) []byte {
	header := binary.LittleEndian.AppendUint32(nil, uint32(len(recs)/size))
	header = binary.LittleEndian.AppendUint32(header, uint32(dimension))
	return append(header, recs...)
}

// TestSortHeaders checks that the header of an output has the number of its records, in a file and in a pipe.
func TestSortHeaders(t *testing.T) {
	r := seeded(t)
	for _, n := range []int{0, 1, 1500} {
		for _, c := range []struct {
			kind kind
			spec format.Spec
			file func(recs []byte) []byte
		}{
			{kindNamed("u64"), format.Spec{Format: "sosd", Type: "u64"}, sosdFile},
			{kindNamed("f64"), format.Spec{Format: "npy"}, func(recs []byte) []byte { return npyFile(t, "f64", recs, 8) }},
			{kind{"npy i32be", format.Spec{Type: "i32be"}}, format.Spec{Format: "npy"},
				func(recs []byte) []byte { return npyFile(t, "i32be", recs, 4) }},
			{kind{"npy rows", format.Spec{RecordSize: 12, Keys: []string{"8:f32:desc", "0:f32"}}},
				format.Spec{Format: "npy", Keys: []string{"2:desc", "0"}},
				func(recs []byte) []byte { return npyRows("<f4", recs, 3) }},
			{kind{"fbin", format.Spec{RecordSize: 12, Keys: []string{"4:f32", "0:f32:desc", "8:f32"}}},
				format.Spec{Format: "fbin", Keys: []string{"1", "0:desc", "2"}}, fbinFile},
			{kind{"fvecs", format.Spec{RecordSize: 16, Keys: []string{"8:f32", "4:f32:desc", "12:f32"}}},
				format.Spec{Format: "fvecs", Keys: []string{"1", "0:desc", "2"}}, vectorsOf3},
		} {
			recs := c.kind.make(t, "few", n, r)
			layout := c.kind.layout(t)
			for range effort(16) {
				choice := r.IntN(16)
				opt := Options{Record: c.spec, Unique: choice&1 != 0, Reverse: choice&2 != 0}
				if opt.Limit = 40; choice&4 == 0 {
					opt.Limit = 0
				}
				want := c.file(reference(t, layout, recs, opt))
				opt = variant(opt, layout.RecordSize, r)
				if opt.Inputs = []string{writeFile(t, c.file(recs))}; choice&8 != 0 {
					opt.Inputs, opt.Stdin = nil, &dribble{data: c.file(recs), most: 999}
				}
				opt.Output, opt.Compress = filepath.Join(t.TempDir(), "out"), []string{"none", "zstd"}[r.IntN(2)]
				checkSort(t, c.kind, recs, want, opt)
				if choice&8 != 0 {
					opt.Stdin = &dribble{data: c.file(recs), most: 999}
				}
				opt.Output = ""
				checkSort(t, c.kind, recs, want, opt)
			}
		}
	}
}

// TestSortStructured sorts a structured array by one of its fields. The records stay whole, including padding.
func TestSortStructured(t *testing.T) {
	text := "{'descr': [('id', '<u4'), ('x', '>f4'), ('pad', '|V2')], 'fortran_order': False, 'shape': (700,), }"
	text += strings.Repeat(" ", 128-11-len(text)) + "\n"
	header := append([]byte("\x93NUMPY\x01\x00"), byte(len(text)), byte(len(text)>>8))
	k := kind{"structured", format.Spec{RecordSize: 10, Keys: []string{"4:f32be:desc"}}}
	recs := k.make(t, "few", 700, seeded(t))
	want := reference(t, k.layout(t), recs, Options{})
	opt := small(Options{Record: format.Spec{Format: "npy", Keys: []string{"x:desc"}}, Strategy: MergeRuns, BatchSize: 2,
		Inputs: []string{writeFile(t, slices.Concat(header, []byte(text), recs))}})
	got, _, err := sortToBytes(t, opt)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got[len(got)-len(want):], want) || !bytes.Contains(got[:len(got)-len(want)], []byte("('x', '>f4')")) {
		t.Errorf("the output begins with %q, the records differ in %d", got[:128], firstDifference(got[128:], want, 10))
	}
}

// TestSortInPlace sorts an input into itself, under its own name and under another name.
func TestSortInPlace(t *testing.T) {
	r := seeded(t)
	k := kindNamed("gensort")
	for _, strategy := range anyStrategy {
		data := k.make(t, "uniform", 2000, r)
		opt := small(Options{Record: k.spec, Strategy: strategy, Inputs: []string{writeFile(t, data)}})
		opt.Output = opt.Inputs[0]
		if strategy == MergeRuns {
			opt.Output = filepath.Join(t.TempDir(), "link")
			if err := os.Symlink(opt.Inputs[0], opt.Output); err != nil {
				t.Skip(err)
			}
		}
		checkSort(t, k, data, reference(t, k.layout(t), data, Options{}), opt)
	}
}

// TestSortNearlySorted sorts an input that is sorted wherever a sample reads. It is out of order in one other place,
// or nowhere.
func TestSortNearlySorted(t *testing.T) {
	r := seeded(t)
	for _, name := range []string{"u64", "rec12", "wide key"} {
		k := kindNamed(name)
		size := k.layout(t).RecordSize
		for _, dist := range []string{"sorted", "reversed", "equal"} {
			sorted := k.make(t, dist, 20000, r)
			for _, from := range []int{-1, r.IntN(19999), 0, 19998}[:1+effort(3)] { // which record changes places with the next
				data := slices.Clone(sorted)
				if from >= 0 {
					swapRecords(data, size, from)
				}
				for choice := range 4 {
					opt := Options{Record: k.spec, Unique: choice&1 != 0, Limit: []int64{0, 0, 7000, 30_000}[r.IntN(4)]}
					want := reference(t, k.layout(t), data, opt)
					opt.Inputs, opt.Verify, opt.Workers = []string{writeFile(t, data)}, r.IntN(2) == 0, 1+r.IntN(3)
					opt.faults.chunkRecords, opt.faults.blockBytes = 6000, 100*size
					if choice&2 != 0 {
						opt.Output = filepath.Join(t.TempDir(), "out")
					}
					report := checkSort(t, k, data, want, opt)
					if report.RecordsOut != int64(len(want)/size) || report.Records != 20000 {
						t.Errorf("%s: the report has %d records in, %d out", describe(opt), report.Records, report.RecordsOut)
					}
				}
			}
		}
	}
}

// TestSortReversed copies an input in reverse order from its end, and sorts it if a copy is not enough.
func TestSortReversed(t *testing.T) {
	const n = 20_000
	r := seeded(t)
	for name, c := range map[string]struct {
		kind   string
		change func(recs []byte, size int) // of records in reverse order, sorted ones with Reverse
		opt    Options
		stdout bool
		want   Strategy
	}{
		"keys":              {kind: "u64", want: Copy},
		"other keys":        {kind: "u32be", want: Copy},
		"records":           {kind: "rec12 both", want: Copy},
		"wide keys":         {kind: "wide key", want: Copy},
		"reverse of sorted": {kind: "rec12 both", opt: Options{Reverse: true}, want: Copy},
		"verified":          {kind: "u64", opt: Options{Verify: true}, want: Copy},
		"equal keys":        {kind: "u64", change: repeatFirst, want: Copy},
		"equal in records":  {kind: "rec12", change: repeatFirst, want: Reread},
		"to a stream":       {kind: "u64", stdout: true, want: MergeRuns},
		"compressed":        {kind: "u64", opt: Options{Compress: "s2"}, want: Reread},
		"unique":            {kind: "u64", opt: Options{Unique: true}, want: Reread},
		"limited":           {kind: "u64", opt: Options{Limit: n - 1}, want: Reread},
		"limited in order":  {kind: "u64", change: mirror, opt: Options{Limit: n - 1}, want: Copy},
		"disorder at the end": {kind: "rec12", change: func(recs []byte, size int) { swapRecords(recs, size, n-2) },
			want: Reread},
	} {
		t.Run(name, func(t *testing.T) {
			k := kindNamed(c.kind)
			size := k.layout(t).RecordSize
			dist := "reversed"
			if c.opt.Reverse {
				dist = "sorted"
			}
			data := k.make(t, dist, n, r)
			if c.change != nil {
				c.change(data, size)
			}
			for workers := range 3 {
				opt := c.opt
				opt.Record, opt.Workers, opt.Inputs = k.spec, 1+workers, []string{writeFile(t, data[:777*size]),
					writeFile(t, data[777*size:])}
				opt.faults.chunkRecords, opt.faults.blockBytes = 6000, 100*size
				if !c.stdout {
					opt.Output = filepath.Join(t.TempDir(), "out")
				}
				report := checkSort(t, k, data, reference(t, k.layout(t), data, opt), opt)
				if report.Strategy != c.want {
					t.Errorf("strategy %s, want %s", report.Strategy, c.want)
				}
			}
		})
	}
}

// repeatFirst gives record 9001 the first bytes of record 9000, its key among them.
func repeatFirst(recs []byte, size int) {
	copy(recs[9001*size:], recs[9000*size:][:min(size, 10)])
}

func swapRecords(recs []byte, size, i int) {
	a, b := recs[i*size:(i+1)*size], recs[(i+1)*size:(i+2)*size]
	for at := range a {
		a[at], b[at] = b[at], a[at]
	}
}

// TestSortErrors checks errors that occur before anything is written.
func TestSortErrors(t *testing.T) {
	k := kindNamed("u64")
	good := writeFile(t, k.make(t, "uniform", 100, seeded(t)))
	partial := writeFile(t, make([]byte, 803))
	for name, c := range map[string]struct {
		opt  Options
		want []string
	}{
		"options": {Options{Strategy: "magic", SpillCompress: "gzip", Limit: -1, Workers: -1, BatchSize: 1, MemoryBytes: 5},
			[]string{"Record.Type", "magic", "gzip", "limit", "Workers", "BatchSize", "memory"}},
		"partial record": {Options{Record: k.spec, Inputs: []string{partial}},
			[]string{partial, "byte 800", "3 of 8 bytes"}},
		"partial stream": {Options{Record: k.spec, Stdin: bytes.NewReader(make([]byte, 8003))},
			[]string{"standard input", "byte 8000", "3 of 8 bytes"}},
		"missing input": {Options{Record: k.spec, Inputs: []string{"/no/such/file"}}, []string{"/no/such/file"}},
		"missing folder": {Options{Record: k.spec, Inputs: []string{good}, Output: "/no/such/folder/out"},
			[]string{"/no/such/folder/out"}},
		"no device": {Options{Record: k.spec, Inputs: []string{good}, Devices: []string{"abacus"}},
			[]string{"abacus"}},
		"no algorithm": {Options{Record: k.spec, Inputs: []string{good}, Devices: []string{"cpu"}, Algorithm: "bogo"},
			[]string{"bogo"}},
		"no compression": {Options{Record: k.spec, Inputs: []string{good}, Compress: "rar"}, []string{"rar"}},
		"no temporary place": {small(Options{Record: k.spec, Inputs: []string{good}, Strategy: Partition,
			TempDirs: []string{"/no/such/temp"}}), []string{"/no/such/temp", "Options.TempDirs"}},
	} {
		out := filepath.Join(t.TempDir(), "out")
		if c.opt.Output == "" {
			c.opt.Output = out
		}
		_, _, err := sortToBytes(t, c.opt)
		for _, want := range c.want {
			if err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%s: %q is not in the error: %v", name, want, err)
			}
		}
		if left := leftIn(t, filepath.Dir(out)); len(left) > 0 {
			t.Errorf("%s: %q is left", name, left)
		}
	}
}

// brokenPipe is a stream whose reader goes away.
type brokenPipe struct{ after int }

var errNobodyReads = errors.New("nobody reads")

func (b *brokenPipe) Write(p []byte) (int, error) {
	if b.after -= len(p); b.after < 0 {
		return 0, errNobodyReads
	}
	return len(p), nil
}

func TestSortIntoBrokenPipe(t *testing.T) {
	k := kindNamed("u64")
	data := k.make(t, "uniform", 5000, rand.New(rand.NewPCG(1, 1)))
	for _, strategy := range anyStrategy {
		for _, compress := range []string{"none", "gzip", "zstd", "s2", "brotli"} {
			for _, after := range []int{0, 1000, 20000} {
				opt := small(Options{Record: k.spec, Strategy: strategy, Compress: compress, Workers: 3,
					Inputs: []string{writeFile(t, data)}})
				opt.Stdout, opt.TempDirs = &brokenPipe{after}, []string{t.TempDir()}
				if _, err := Sort(t.Context(), opt); !errors.Is(err, errNobodyReads) {
					t.Errorf("%s, compressed by %s, after %d bytes: the error is %v", strategy, compress, after, err)
				}
			}
		}
	}
}

// TestPlan checks that a plan says what Sort then does, and changes nothing.
func TestPlan(t *testing.T) {
	k := kindNamed("u64")
	data := k.make(t, "uniform", 5000, seeded(t))
	for _, strategy := range anyStrategy {
		opt := small(Options{Record: k.spec, Strategy: strategy, Inputs: []string{writeFile(t, data)}, Output: t.TempDir() +
			"/out"})
		plan, err := Plan(t.Context(), opt)
		if err != nil {
			t.Fatal(err)
		}
		if left := leftIn(t, filepath.Dir(opt.Output)); len(left) > 0 {
			t.Errorf("a plan has made %q", left)
		}
		report := checkSort(t, k, data, reference(t, k.layout(t), data, Options{}), opt)
		if plan.Records != 5000 || plan.Strategy != report.Strategy || strategy != Auto && plan.Strategy != strategy {
			t.Errorf("asked for %s, planned %s for %d records, done %s", strategy, plan.Strategy, plan.Records, report.Strategy)
		}
		if len(plan.Considered) < 3 || plan.Seconds <= 0 {
			t.Errorf("the plan is %s, %d candidates, %g s", plan.Strategy, len(plan.Considered), plan.Seconds)
		}
	}
}

// mirror puts records in the reverse of their order.
func mirror(recs []byte, size int) {
	var reversed []byte
	for at := len(recs) - size; at >= 0; at -= size {
		reversed = append(reversed, recs[at:at+size]...)
	}
	copy(recs, reversed)
}
