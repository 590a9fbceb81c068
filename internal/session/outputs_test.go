package session

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/extsort/extsort/format"
	_ "github.com/extsort/extsort/format/brotli" // registers its library
	"github.com/extsort/extsort/internal/sorttest"
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

// bigannFile puts the number and the dimension of vectors of size bytes before them.
func bigannFile(recs []byte, size, dimension int) []byte {
	header := binary.LittleEndian.AppendUint32(nil, uint32(len(recs)/size))
	header = binary.LittleEndian.AppendUint32(header, uint32(dimension))
	return append(header, recs...)
}

// TestSortStructured sorts a structured array by one of its fields. The records stay whole, including padding.
func TestSortStructured(t *testing.T) {
	t.Parallel()
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
		t.Errorf("the output begins with %q, the records differ in %d", got[:128],
			sorttest.FirstDifference(got[128:], want, 10))
	}
}

func swapRecords(recs []byte, size, i int) {
	a, b := recs[i*size:(i+1)*size], recs[(i+1)*size:(i+2)*size]
	for at := range a {
		a[at], b[at] = b[at], a[at]
	}
}

// TestSortErrors checks errors that occur before anything is written.
func TestSortErrors(t *testing.T) {
	t.Parallel()
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

// TestPlan checks that a plan says what Sort then does, and changes nothing.
func TestPlan(t *testing.T) {
	t.Parallel()
	k := kindNamed("u64")
	r := seeded(t)
	for _, strategy := range anyStrategy {
		dist := "uniform"
		if strategy == Tally {
			dist = "few"
		}
		data := k.make(t, dist, 5000, r)
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
