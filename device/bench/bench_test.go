package bench

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/extsort/extsort/device"
	"github.com/extsort/extsort/device/cpu"
	"github.com/extsort/extsort/device/opencl"
	"github.com/extsort/extsort/device/opencl/algo"
	"github.com/extsort/extsort/format"
	"github.com/extsort/extsort/internal/testfiles"
)

// fakeBed pretends that each case takes the seconds that its function returns.
type fakeBed struct {
	seconds func(Case) (float64, error)
	timed   []Case
}

func (b *fakeBed) Info() device.Info {
	return device.Info{Index: 1, Name: "fake", Driver: "none", Kind: device.GPU, Automatic: true, MemoryBytes: 1 << 40,
		Algorithms: []string{"count-scan-reorder", "onesweep", "split", "tile", "binning", "selection", "selection-blocks"}}
}

func (b *fakeBed) Close() error { return nil }

func (b *fakeBed) Time(_ context.Context, c Case, runs int) (Timing, error) {
	b.timed = append(b.timed, c)
	s, err := b.seconds(c)
	if err != nil {
		return Timing{}, err
	}
	t := Timing{Seconds: slices.Repeat([]float64{s}, runs), Passes: 4}
	if runs > 1 {
		t.Seconds[0] = 1000 * s // a run that was disturbed
	}
	return t, nil
}

// linear takes 1 ns per key.
func linear(c Case) (float64, error) { return float64(c.Records) * 1e-9, nil }

func run(t *testing.T, view string, bed *fakeBed, s Scope) Report {
	t.Helper()
	v, err := FindView(view)
	if err != nil {
		t.Fatal(err)
	}
	cases, err := v.Cases(bed.Info(), s)
	if err != nil {
		t.Fatal(err)
	}
	report := NewReport(bed, view, 3)
	if report.Results, err = Run(context.Background(), bed, cases, Options{Runs: 3}); err != nil {
		t.Fatal(err)
	}
	return report
}

func text(t *testing.T, r Report) string {
	t.Helper()
	var b bytes.Buffer
	if err := r.WriteText(&b); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// compareTable compares a text with the table of testdata/NAME.txt.
func compareTable(t *testing.T, name, got string) {
	t.Helper()
	want := testfiles.Read(t, "testdata/"+name+".txt")
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("%s: %s", name, diff)
	}
}

func TestTableOfAllAlgorithms(t *testing.T) {
	bed := &fakeBed{seconds: func(c Case) (float64, error) {
		switch {
		case c.Algorithm == "split":
			return 0, ErrWrong
		case c.Algorithm == "tile":
			return 0, ErrCannot
		case strings.HasPrefix(c.Algorithm, "selection"):
			return float64(c.Records) * float64(c.Records) * 1e-8, nil
		}
		return linear(c)
	}}
	got := text(t, run(t, "all", bed, Scope{Keys: []opencl.KeyKind{keys32}, Min: 1 << 12, Max: 1 << 14}))
	compareTable(t, "all", got)
}

func TestPublishedTables(t *testing.T) {
	scope := Scope{Min: 1 << 8, Max: 1 << 9}
	for _, view := range []string{"bainville", "harada", "dillhoff", "intel"} {
		got := text(t, run(t, view, &fakeBed{seconds: linear}, scope))
		_, got, _ = strings.Cut(got, "medians of 3\n\n")
		compareTable(t, view, got)
	}
}

// The document's example: n = 2^20, e = 4, B = 256, h = 4, G = 64 moves (2^22 + 2^15 + 2^16 +
// 2^10)·8 words.
func TestKoppelmansExample(t *testing.T) {
	r := run(t, "koppelman", &fakeBed{seconds: linear}, Scope{Max: 1 << 20})
	got := text(t, r)
	if len(r.Results) != 24 || !strings.Contains(got, "4  4  256  1024             34.35") {
		t.Errorf("the example is not in\n%s", got)
	}
	if !strings.Contains(got, "tile 1024: least moved by h = 7") && !strings.Contains(got,
		"tile 1024: least moved by h = 8") {
		t.Errorf("the best h of the largest tiles is not 7 or 8, as the document has it:\n%s", got)
	}
}

// The document's example takes 2^20·(4·10 + 2) + 2^10·2^4·5 + 64·68·2^4 steps in each of 8 passes.
func TestComputationOfTheExample(t *testing.T) {
	r := run(t, "computation", &fakeBed{seconds: linear}, Scope{Max: 1 << 20})
	got := text(t, r)
	if len(r.Results) != 48 || !strings.Contains(got, "4  4  256  1024     353.5      34.3        10.3     1000") {
		t.Errorf("the example is not in\n%s", got)
	}
}

// Bandwidth counts the kernels alone: they read 2^20 keys of 4 bytes in a quarter of a
// millisecond, in each pass.
func TestBandwidth(t *testing.T) {
	r := run(t, "bandwidth", &fakeBed{seconds: linear}, Scope{Max: 1 << 20})
	if len(r.Results) != 11 {
		t.Fatalf("%d results", len(r.Results))
	}
	if got := text(t, r); !strings.Contains(got, "     65536    1024            -              -     1000") {
		t.Errorf("without times of kernels:\n%s", got)
	}
	r.Results[10].Passes, r.Results[10].Kernels = 8, map[string]float64{"count_items": 2e-3, "reorder_packed": 8e-3}
	if got := text(t, r); !strings.Contains(got, "     65536    1024        16.78           8.39     1000") {
		t.Errorf("with times of kernels:\n%s", got)
	}
}

func TestReportAsJSON(t *testing.T) {
	report := run(t, "harada", &fakeBed{seconds: linear}, Scope{Min: 256, Max: 256})
	var b bytes.Buffer
	if err := report.WriteJSON(&b); err != nil {
		t.Fatal(err)
	}
	var got Report
	if err := json.Unmarshal(b.Bytes(), &got); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(report, got); diff != "" {
		t.Error(diff)
	}
	first := got.Results[0]
	if first.Key != keys32 || first.Params != (algo.Params{DigitBits: 4}) || first.Rate < 0.99e9 || first.Rate > 1.01e9 {
		t.Errorf("first result is %+v", first)
	}
}

// A table shows the results of another program next to ours: in the rows of its sizes, with a gap
// where it has none.
func TestJoin(t *testing.T) {
	ours := run(t, "all", &fakeBed{seconds: linear}, Scope{Algorithms: []string{"split"},
		Keys: []opencl.KeyKind{keys32}, Min: 256, Max: 512})
	theirs, err := ReadReport(strings.NewReader(`{"results": [
		{"label": "CUB", "key": "u32", "dist": "uniform", "records": 128, "keysPerSecond": 2e9},
		{"label": "CUB", "key": "u32", "dist": "uniform", "records": 512, "keysPerSecond": 3e9},
		{"label": "CUB", "key": "u64", "dist": "uniform", "records": 512, "keysPerSecond": 1e9}]}`))
	if err != nil {
		t.Fatal(err)
	}
	_, got, _ := strings.Cut(text(t, Join(ours, theirs)), "medians of 3\n\n")
	compareTable(t, "join", got)
}

func TestReadReportRefuses(t *testing.T) {
	for _, text := range []string{"", "[1]", `{"results": [{"label": "CUB"}]}`,
		`{"results": [{"label": "CUB", "key": "u16", "dist": "few", "records": 1}]}`} {
		if r, err := ReadReport(strings.NewReader(text)); err == nil {
			t.Errorf("%s: read as %+v", text, r)
		}
	}
}

func TestRunStopsAtTheLimit(t *testing.T) {
	bed := &fakeBed{seconds: func(c Case) (float64, error) { return float64(c.Records*c.Records) * 1e-6, nil }}
	v, _ := FindView("all")
	cases, err := v.Cases(bed.Info(), Scope{Algorithms: []string{"selection"}, Keys: []opencl.KeyKind{keys32},
		Min: 256, Max: 1 << 20})
	if err != nil {
		t.Fatal(err)
	}
	results, err := Run(context.Background(), bed, cases, Options{Runs: 1, SortLimit: 2})
	if err != nil || len(results) != 13 {
		t.Fatalf("%d results, %v", len(results), err)
	}
	if n := len(bed.timed); n != 3 { // 0.07, 0.26 and 1.05 s; the next would take 4.2 s
		t.Errorf("%d cases were timed", n)
	}
	if last := results[len(results)-1]; last.Skipped == "" || last.Rate != 0 {
		t.Errorf("the last result is %+v", last)
	}
}

func TestRunEndsWithTheContext(t *testing.T) {
	ctx, cancel := context.WithCancelCause(context.Background())
	enough := errors.New("enough")
	bed := &fakeBed{seconds: func(c Case) (float64, error) { cancel(enough); return 1, nil }}
	if _, err := Run(ctx, bed, make([]Case, 3), Options{}); !errors.Is(err, enough) || len(bed.timed) != 1 {
		t.Errorf("%v after %d cases", err, len(bed.timed))
	}
}

// Every distribution and kind of key passes the check on the CPU, also for 0, 1 and 2 records.
func TestChunks(t *testing.T) {
	bed := NewChunks(cpu.New())
	defer bed.Close()
	for _, key := range opencl.KeyKinds {
		for _, dist := range format.Distributions {
			for _, n := range []int64{1, 2, 255, 4096} {
				c := Case{Algorithm: cpu.MSD, Key: key, Dist: dist, Records: n}
				timing, err := bed.Time(context.Background(), c, 2)
				if err != nil || len(timing.Seconds) != 2 || slices.Min(timing.Seconds) <= 0 {
					t.Errorf("%s, %s, %d keys: %+v, %v", key, dist, n, timing, err)
				}
			}
		}
	}
	if _, err := bed.Time(context.Background(), Case{Algorithm: "onesweep"}, 1); !errors.Is(err, ErrCannot) {
		t.Errorf("an algorithm that the CPU has not: %v", err)
	}
}

// The check finds results that are wrong in various ways.
func TestCheck(t *testing.T) {
	given := []uint64{5, 3, 3, 9}
	column := func(keys []uint64, values []uint32) column {
		c := column{n: int64(len(keys)), key: func(i int64) uint64 { return keys[i] }}
		if values != nil {
			c.value = func(i int64) uint32 { return values[i] }
		}
		return c
	}
	for name, c := range map[string]struct {
		keys   []uint64
		values []uint32
		right  bool
	}{
		"sorted":                {[]uint64{3, 3, 5, 9}, nil, true},
		"out of order":          {[]uint64{3, 5, 3, 9}, nil, false},
		"another key":           {[]uint64{3, 4, 5, 9}, nil, false},
		"one twice":             {[]uint64{3, 3, 9, 9}, nil, false},
		"too few":               {[]uint64{3, 3, 5}, nil, false},
		"with values":           {[]uint64{3, 3, 5, 9}, []uint32{1, 2, 0, 3}, true},
		"not stable":            {[]uint64{3, 3, 5, 9}, []uint32{2, 1, 0, 3}, false},
		"one value twice":       {[]uint64{3, 3, 5, 9}, []uint32{1, 1, 0, 3}, false},
		"values of other keys":  {[]uint64{3, 3, 5, 9}, []uint32{1, 2, 3, 0}, false},
		"values that are wrong": {[]uint64{3, 3, 5, 9}, []uint32{1, 2, 0, 77}, false},
	} {
		err := check(column(given, nil), column(c.keys, c.values))
		if c.right != (err == nil) || err != nil && !errors.Is(err, ErrWrong) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestCheckOfManyKeys checks keys around index 2^32, where values repeat. The columns are computed, not stored.
func TestCheckOfManyKeys(t *testing.T) {
	const n = valueSpan + 1000
	sorted := func(i int64) uint64 { return uint64(i) }
	reversed := func(i int64) uint64 { return uint64(n - 1 - i) }
	groups := func(i int64) uint64 { return uint64(i / 4) }
	equal := func(int64) uint64 { return 7 }

	for name, c := range map[string]struct {
		given, got func(i int64) uint64
		index      func(i int64) int64
		right      bool
	}{
		"sorted already":      {sorted, sorted, func(i int64) int64 { return i }, true},
		"reversed":            {reversed, sorted, func(i int64) int64 { return n - 1 - i }, true},
		"groups":              {groups, groups, func(i int64) int64 { return i }, true},
		"equal keys":          {equal, equal, func(i int64) int64 { return i }, true},
		"pairs changed":       {groups, groups, func(i int64) int64 { return i ^ 1 }, false},
		"equal pairs changed": {equal, equal, func(i int64) int64 { return i ^ 1 }, false},
		"of the next key":     {sorted, sorted, func(i int64) int64 { return i + 1 }, false},
		"of another key":      {reversed, sorted, func(i int64) int64 { return i }, false},
	} {
		given := column{n: n, key: c.given}
		got := column{n: n, key: c.got, value: func(i int64) uint32 { return uint32(c.index(i)) }}
		for _, begin := range []int64{1, 990, valueSpan - 8, valueSpan, valueSpan + 8} {
			_, err := checkPart(given, got, begin, begin+16)
			if c.right != (err == nil) || err != nil && !errors.Is(err, ErrWrong) {
				t.Errorf("%s, from %d: %v", name, begin, err)
			}
		}
	}
}

func TestImpossibleScopes(t *testing.T) {
	info := (&fakeBed{}).Info()
	for name, c := range map[string]struct {
		view string
		s    Scope
	}{
		"no such algorithm":    {"all", Scope{Algorithms: []string{"bogosort"}}},
		"no such distribution": {"all", Scope{Dists: []string{"odd"}}},
		"sizes upside down":    {"all", Scope{Min: 2, Max: 1}},
		"algorithms of a view": {"intel", Scope{Algorithms: []string{"binning"}}},
	} {
		v, err := FindView(c.view)
		if err != nil {
			t.Fatal(err)
		}
		if cases, err := v.Cases(info, c.s); err == nil {
			t.Errorf("%s: %d cases", name, len(cases))
		}
	}
}

// TestMemoryOfCases refuses the cases that need more memory than the host has, and only those,
// before anything is timed.
func TestMemoryOfCases(t *testing.T) {
	const need = 3 * 12 << 20 // of the largest case
	onCPU, onGPU := cpu.New().Info(), (&fakeBed{}).Info()
	for _, c := range []struct {
		info   device.Info
		memory int64
		fits   bool
	}{{onCPU, need, true}, {onCPU, need - 1, false}, {onCPU, 0, true}, {onGPU, need - 1, true}} {
		cases, err := Views[0].Cases(c.info, Scope{Max: 1 << 20, Memory: c.memory})
		if c.fits != (err == nil) || len(cases) == 0 && c.fits {
			t.Errorf("%s with %d bytes of memory: %d cases, %v", c.info.Kind, c.memory, len(cases), err)
		}
		if err != nil && !strings.Contains(err.Error(), "1048576 keys of u64+u32 need 37,748,736 bytes of memory") {
			t.Error(err)
		}
	}
}

func TestSizes(t *testing.T) {
	for _, c := range []struct {
		from, to int64
		want     []int64
	}{
		{256, 1024, []int64{256, 512, 1024}},
		{200, 600, []int64{256, 512}},
		{1, 2, []int64{1, 2}},
		{300, 400, []int64{400}},
	} {
		if got := (Scope{Min: c.from, Max: c.to}).sizes(); !slices.Equal(got, c.want) {
			t.Errorf("from %d to %d: %v", c.from, c.to, got)
		}
	}
}
