package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/extsort/extsort/internal/testfiles"
)

// twoVersions returns the settings of a small table.
func twoVersions() settings {
	return settings{bytes: 1 << 30, runs: 2, table: tableSettings{forcedRuns: 1, seed: 1,
		versions: []version{{Name: "old", Sum: "a"}, {Name: "new", Sum: "b"}}}}
}

func rowNamed(t *testing.T, name string) row {
	t.Helper()
	for _, r := range allRows([]string{"ext4", inPipe, inTmpfs}) {
		if r.name() == name {
			return r
		}
	}
	t.Fatalf("no row %s", name)
	return row{}
}

func TestRowPatterns(t *testing.T) {
	for pattern, want := range map[string]int{
		"u64": 9, "u64/*": 9, "*/quarter": 24, "*/*/tmpfs": 24, "*sorted/sixteenth/pipe": 2, "zipf/quarter/ext4": 1, "u6": 0,
	} {
		if !rowPattern(pattern).valid() {
			t.Errorf("%s is said to be no pattern", pattern)
		}
		if got := matchingRows(allRows([]string{"ext4", inPipe, inTmpfs}), []string{pattern}); len(got) != want {
			t.Errorf("%s picks %d rows, want %d", pattern, len(got), want)
		}
	}
	all := allRows([]string{"ext4"})
	if matchingRows(all, []string{"no such row"}); all[0].name() != "u64/in-core/ext4" {
		t.Errorf("the first of all rows is %s once none was picked, and so the message names it", all[0].name())
	}
	for _, pattern := range []string{"", "[", "a/b/c/d"} {
		if rowPattern(pattern).valid() {
			t.Errorf("%q is said to be a pattern", pattern)
		}
	}
}

// names returns the names of the runs in order.
func names(runs []tableRun) []string {
	var all []string
	for _, r := range runs {
		all = append(all, fmt.Sprint(r.name, " ", r.number))
	}
	return all
}

func TestOrderIsRandomAndReproducible(t *testing.T) {
	missing := func(seed uint64, row string) []string {
		s := twoVersions()
		s.table.seed = seed
		return names((&table{shop: &workshop{settings: s}, log: &tableLog{}}).missing(rowNamed(t, row)))
	}
	first := missing(1, "u64/quarter/ext4")
	if len(first) != 2+2+2+2+3 {
		t.Fatalf("the runs are %v", first)
	}
	if !slices.Equal(first, missing(1, "u64/quarter/ext4")) {
		t.Error("one seed gave two orders")
	}
	for _, other := range [][]string{missing(2, "u64/quarter/ext4"), missing(1, "u32/quarter/ext4")} {
		if slices.Equal(first, other) {
			t.Error("another seed or row has the same order")
		}
		if !slices.Equal(slices.Sorted(slices.Values(first)), slices.Sorted(slices.Values(other))) {
			t.Errorf("runs were lost: %v, %v", first, other)
		}
	}
}

func TestResumeMakesWhatIsMissing(t *testing.T) {
	const name = "u64/quarter/ext4"
	log := &tableLog{runs: []entry{
		{Row: name, Contender: "old auto", Run: 1},
		{Row: name, Contender: "old auto", Run: 2, Failed: "no space"},
		{Row: name, Contender: "new auto", Run: 1},
		{Row: name, Contender: "new auto", Run: 2},
		{Row: "u64/quarter/pipe", Contender: "cp", Run: 1},
		{Row: name, Contender: "new merge", Run: 1, RanStrategy: "merge"},
		{Row: name, Contender: "new reread", Run: 1, RanStrategy: "merge"},
	}}
	s := twoVersions()
	s.table.forcedRuns = 2
	got := names((&table{shop: &workshop{settings: s}, log: log}).missing(rowNamed(t, name)))
	slices.Sort(got)
	want := []string{"cp 1", "cp 2", "cp+sync 1", "cp+sync 2", "new merge 2", "new partition 1", "new partition 2",
		"old auto 2"}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
}

func TestLogIsWhole(t *testing.T) {
	file := filepath.Join(t.TempDir(), "table.jsonl")
	s := start{Size: 1 << 20, Versions: []version{{Name: "new", Sum: "b"}}}
	for i, torn := range []string{"", `{"row":"u64/qu`} {
		l, err := openLog(file, s)
		if err != nil {
			t.Fatal(err)
		}
		if len(l.runs) != i || len(l.starts) != i+1 {
			t.Errorf("start %d found %d runs and %d starts", i+1, len(l.runs), len(l.starts)-1)
		}
		if err := l.add(entry{Row: "u64/quarter/ext4", Contender: "cp", Run: i + 1}); err != nil {
			t.Fatal(err)
		}
		if _, err := l.file.WriteString(torn); err != nil {
			t.Fatal(err)
		}
		l.file.Close()
	}
	l, err := readLog(file)
	if err != nil || len(l.runs) != 2 || l.runs[1].Run != 2 {
		t.Errorf("read %+v, %v", l, err)
	}
	for _, other := range []start{{Size: 1 << 30}, {Size: 1 << 20, Versions: []version{{Name: "new", Sum: "c"}}}} {
		if _, err := openLog(file, other); err == nil {
			t.Errorf("runs of %+v were added to those of %+v", other, s)
		}
	}
}

func TestListenToleratesAbsentFields(t *testing.T) {
	var e entry
	e.setReported(
		[]byte("extsort: warning: something\n" + `{"strategy":"merge","bytes_spilled":7,"changes":[{"why":"x"}],` +
			`"candidates":[],"plan":{"strategy":"reread","seconds":1.5,"stages":[]}}` + "\n"),
	)
	if e.RanStrategy != "merge" || e.Spilled != 7 || e.Predicted != "reread" || e.PredictedSeconds != 1.5 {
		t.Errorf("got %+v", e)
	}
	for _, said := range []string{"", "cp: no space\n", `{"seconds":1}` + "\n", "{broken\n"} {
		var e entry
		if e.setReported([]byte(said)); e != (entry{}) {
			t.Errorf("%q told %+v", said, e)
		}
	}
}

func TestExpectation(t *testing.T) {
	l := &tableLog{runs: []entry{{Row: "a", TotalSeconds: 1}, {Row: "a", TotalSeconds: 3}, {Row: "b", TotalSeconds: 5}}}
	for row, want := range map[string]float64{"a": 2, "b": 5, "c": 3} {
		if got := l.expectedTime(row, 1<<30).Seconds(); got != want {
			t.Errorf("a run of %s takes %v s, want %v", row, got, want)
		}
	}
	if got := new(tableLog).expectedTime("a", 1<<30).Seconds(); got < 1 || got > 10 {
		t.Errorf("the first run is said to take %v s", got)
	}
}

// TestTableEndToEnd builds the command and makes two rows. A second start must make nothing, and
// no data may remain.
func TestTableEndToEnd(t *testing.T) {
	if testing.Short() || runtime.GOOS != "linux" {
		t.Skip("builds and runs the command of this module, cp, cat and sync")
	}
	work, file := t.TempDir(), filepath.Join(t.TempDir(), "table.jsonl")
	binary := filepath.Join(t.TempDir(), "extsort")
	if err := build(context.Background(), binary); err != nil {
		t.Fatal(err)
	}
	args := append(strings.Fields("--table --size 1M --runs 2 --forced 1"),
		"--rows", "u64/quarter/pipe,100-byte/sixteenth,*/*/tmpfs",
		"--tmpfs", os.DevNull, "--work", work, "--out", file, "--versions", "a="+binary+",b="+binary)
	var log, first, again, report bytes.Buffer
	if err := compare(context.Background(), args, &first, &log); err != nil {
		t.Fatalf("%v\n%s", err, &log)
	}
	checkRuns(t, file)
	for _, want := range []string{"u64/quarter/pipe", "100-byte/sixteenth/", "tmpfs: " + os.DevNull + " is not a tmpfs"} {
		if !strings.Contains(first.String(), want) {
			t.Errorf("the report lacks %s:\n%s", want, &first)
		}
	}
	log.Reset()
	if err := compare(context.Background(), args, &again, &log); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(log.String(), "\n0 runs in ") {
		t.Errorf("started again it made runs:\n%s", &log)
	}
	args = []string{"--table", "--report", "--out", file}
	if err := compare(context.Background(), args, &report, io.Discard); err != nil {
		t.Fatal(err)
	}
	if first.String() != again.String() || first.String() != report.String() {
		t.Errorf("the reports differ:\n%s\n%s\n%s", &first, &again, &report)
	}
	if left, err := os.ReadDir(work); err != nil || len(left) != 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
}

// checkRuns checks the lines of runs.
func checkRuns(t *testing.T, file string) {
	t.Helper()
	text := testfiles.Read(t, file)
	autos := 0
	for line := range bytes.Lines(text) {
		var e entry
		if err := json.Unmarshal(line, &e); err != nil {
			t.Fatal(err)
		}
		if e.Failed != "" || e.Row != "" && (e.Seconds <= 0 || e.TotalSeconds < e.Seconds || e.Run < 1 || e.Run > 2) {
			t.Errorf("a run says %s", line)
		}
		if strings.HasSuffix(e.Contender, " auto") {
			autos++
			if e.RanStrategy == "" || e.Predicted == "" || e.Processor <= 0 {
				t.Errorf("of auto it is not told what ran and what was predicted: %s", line)
			}
		}
	}
	if autos < 8 { // at least two rows of two versions, with two runs each
		t.Errorf("auto ran %d times", autos)
	}
}

// TestTableStops interrupts the table. Its file must consist of complete lines, and no data may
// remain.
func TestTableStops(t *testing.T) {
	shop := stage(t)
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	s := twoVersions()
	s.workFolder = t.TempDir()
	shop.settings = s
	file := filepath.Join(t.TempDir(), "table.jsonl")
	l, err := openLog(file, start{Size: s.bytes})
	if err != nil {
		t.Fatal(err)
	}
	made := &table{shop: shop, log: l, rows: []row{rowNamed(t, "u64/quarter/ext4")}}
	if err := made.run(ctx); err == nil {
		t.Error("a cancelled table was made")
	}
	if back, err := readLog(file); err != nil || len(back.runs) != 0 {
		t.Errorf("the file holds %+v, %v", back, err)
	}
}
