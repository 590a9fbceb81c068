package main

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/extsort/extsort/internal/testfiles"
)

// checkGolden compares a text with a file in testdata. With COMPARE_UPDATE set, it rewrites the
// file.
func checkGolden(t *testing.T, name, text string) {
	t.Helper()
	golden := filepath.Join("testdata", name)
	if os.Getenv("COMPARE_UPDATE") != "" {
		testfiles.Write(t, golden, []byte(text))
	}
	want := testfiles.Read(t, golden)
	if d := cmp.Diff(string(want), text); d != "" {
		t.Errorf("%s: %s", name, d)
	}
}

// TestCommands lists the commands that each contender runs: for each workload, and for rows of both
// tables.
func TestCommands(t *testing.T) {
	var b strings.Builder
	for _, w := range allWorkloads {
		fmt.Fprintf(&b, "%s: %s\n", w.Name, w.generate(1<<20, "in"))
		all := append(yardsticks(), ownContenders(w, []int64{1 << 30, 1 << 20}, []string{"-d", "cpu"})...)
		sorts, err := vqsort.contenders(nil, w)
		if err != nil {
			fmt.Fprintf(&b, "\tvqsort: %v\n", err)
		}
		for _, c := range append(all, sorts...) {
			fmt.Fprintf(&b, "\t%s\n", c.script("in", "out"))
		}
		fmt.Fprintf(&b, "\t%s\n", strings.Join(parquet(w).pack("f"), " "))
	}

	pair := &setPair{shop: &workshop{tools: map[string]string{"numpy": "python3"}}}
	pair.a = &inputs{w: workload{Name: "a"}}
	pair.b = &inputs{w: workload{Name: "b"}}
	for _, o := range setOperations {
		fmt.Fprintf(&b, "sets %s\n", o.name)
		all := append(pair.ownContenders(o), gnuContender(pair, o), numPySetContender(pair, o), duckDBSetContender(pair, o))
		for _, c := range all {
			fmt.Fprintf(&b, "\t%s\n", c.script("", "out"))
		}
	}

	small := twoVersions()
	for _, r := range allRows([]string{"ext4", inPipe, inTmpfs}) {
		fmt.Fprintln(&b, r.name())
		if r.share.name == "quarter" {
			writeEntrants(&b, small.entrants(r))
		}
	}

	confined := confinedSettings(t, "--versions old=a,new=b --runs 5 --device-memory 1G")
	stxxl := peerProgram{name: "stxxl", contenders: stxxlContenders}
	made := &table{shop: &workshop{settings: confined}, peers: []peerProgram{stxxl}}
	for _, r := range confinedRows("ext4") {
		fmt.Fprintln(&b, r.name())
		writeEntrants(&b, made.entrants(r))
	}
	checkGolden(t, "commands.txt", regexp.MustCompile(` in out \d+`).ReplaceAllString(b.String(), " in out THREADS"))
}

func writeEntrants(w io.Writer, entrants []entrant) {
	for _, e := range entrants {
		fmt.Fprintf(w, "\t%d × %s: %s\n", e.runs, e.name, e.script("in", "out"))
	}
}

// TestReports prints the reports of the logs in testdata and of a race.
func TestReports(t *testing.T) {
	for _, name := range []string{"table", "confined"} {
		var b strings.Builder
		if err := printTable(&b, filepath.Join("testdata", name+".jsonl")); err != nil {
			t.Fatal(err)
		}
		checkGolden(t, name+".md", b.String())
	}
	if err := printTable(io.Discard, filepath.Join(t.TempDir(), "none")); err == nil {
		t.Error("a table of nothing was printed")
	}

	r := sampleReport()
	var page, drawing bytes.Buffer
	if err := r.writeMarkdown(&page); err != nil {
		t.Fatal(err)
	}
	checkGolden(t, "report.md", page.String())
	if err := r.writeSVG(&drawing); err != nil {
		t.Fatal(err)
	}
	checkGolden(t, "report.svg", drawing.String())

	var overview strings.Builder
	other := sampleReport().Workloads[0]
	other.Name = "u32"
	other.Results = append(other.Results[:2:2], result{Name: "vqsort", Kind: peer, Seconds: []float64{3}})
	other.Results[2].Summary = summarize(other.Results[2].Seconds)
	r.Workloads = append(r.Workloads, other)
	r.appendOverview(&overview)
	checkGolden(t, "overview.md", overview.String())
	empty := report{Workloads: []section{{Results: []result{{Name: "cp", Failed: "no space"}}}}}
	if err := empty.writeSVG(io.Discard); err == nil {
		t.Error("a drawing of nothing was made")
	}
}
