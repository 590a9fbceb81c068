package sorttest

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// An Outcome maps the names of the properties of a finished sort to their values. A row selects the
// properties to show, but "error" is always shown.
type Outcome map[string]string

// A Runner runs the rows of files.
type Runner struct {
	Sort   func(t *testing.T, s Settings, r *rand.Rand) Outcome // sorts once and checks the output
	Seed   uint64                                               // seed of the data; 0: a new seed
	Update bool                                                 // write the outcomes into the files

	// Every skips sorts to save time: it runs one in Every sorts of a row of pairs, and skips any
	// other row that sorts more than fewSorts times. 0 or 1: all of them.
	Every int
}

// fewSorts is the maximum number of sorts for which Runner.Every does not skip a row.
const fewSorts = 30

// Refused is a setting that the runner adds to combinations that must be refused.
const Refused = "refused"

// separator separates the description of a test from its outcome.
const separator = "----"

// row is one test of a file.
type row struct {
	line    int    // number of its first line
	comment string // lines above it, including blank ones
	text    string // before the separator
	want    string
	got     string
	task
}

// task is the parsed text of a row.
type task struct {
	command  string
	crossing *Crossing
	refusals *Crossing // contradictions that the product must refuse
	show     []string  // properties of an outcome
	cross    []string  // settings to combine fully; the values of other settings take turns
}

// Run runs all rows of the files that match a pattern, several at a time. Each row is a subtest
// named FILE/LINE.
func (run Runner) Run(t *testing.T, pattern string) {
	t.Helper()
	names, err := filepath.Glob(pattern)
	if err != nil || len(names) == 0 {
		t.Fatalf("no rows match %s: %v", pattern, err)
	}
	if run.Update && os.Getenv("CI") != "" {
		t.Fatal("-update is refused where CI is set: a golden file changes in a commit that explains it")
	}
	for _, name := range names {
		t.Run(strings.TrimSuffix(filepath.Base(name), filepath.Ext(name)), func(t *testing.T) {
			t.Parallel()
			run.runFile(t, name)
		})
	}
}

func (run Runner) runFile(t *testing.T, name string) {
	t.Helper()
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	rows, end, err := parseRows(string(text))
	if err != nil {
		t.Fatalf("%s:%v", name, err)
	}
	t.Cleanup(func() { // after all subtests
		if run.Update && !t.Failed() && !t.Skipped() {
			run.rewrite(t, name, rows, end)
		}
	})
	for _, r := range rows {
		t.Run(fmt.Sprint(r.line), func(t *testing.T) {
			t.Parallel()
			r.got = run.outcome(t, r)
			if r.got != r.want && !run.Update {
				t.Errorf("%s:%d: %s\ngot:\n%swant:\n%s", filepath.Base(name), r.line, r.text, r.got, r.want)
			}
		})
	}
}

func (run Runner) rewrite(t *testing.T, name string, rows []*row, end string) {
	t.Helper()
	var b strings.Builder
	for _, r := range rows {
		got := r.got
		if got == "" { // left out by -run
			got = r.want
		}
		b.WriteString(r.comment + r.text + separator + "\n" + got)
	}
	b.WriteString(end)
	if err := os.WriteFile(name, []byte(b.String()), 0o600); err != nil {
		t.Error(err)
	}
}

// outcome runs all sorts of a row and describes what happened.
func (run Runner) outcome(t *testing.T, r *row) string {
	t.Helper()
	seed := run.Seed
	if seed == 0 {
		seed = rand.Uint64()
	}
	t.Logf("repeat with -seed %d", seed)
	ways := r.crossing.All
	switch {
	case r.cross != nil:
		ways = func() []map[string]string { return r.crossing.Product(r.cross...) }
	case r.command == "pairs":
		ways = r.crossing.Pairwise
	}
	settings := ways()
	all := len(settings)
	if run.Every > 1 && r.command == "pairs" {
		settings = sampled(settings, run.Every, r.line%min(run.Every, all))
	} else if run.Every > 1 && all > fewSorts {
		t.Skipf("%d sorts take too long", all)
	}

	var outcomes []string
	for _, s := range settings {
		outcomes = append(outcomes, shown(run.sort(t, r, s, seed), r.show))
	}
	for _, s := range r.refusals.Contradicting() {
		s[Refused] = "yes"
		if run.sort(t, r, s, seed)["error"] == "" {
			t.Errorf("this must be refused: %s", varied(s, r.crossing.Axes))
		}
	}
	if r.command == "pairs" {
		return fmt.Sprintln(all, "sorts") + distinctErrors(outcomes)
	}
	return summarize(r.crossing.Axes, settings, outcomes)
}

// sort sorts once. If the sort is wrong, the row ends and its log names the settings.
func (run Runner) sort(t *testing.T, r *row, s Settings, seed uint64) Outcome {
	t.Helper()
	defer func() {
		if t.Failed() {
			t.Logf("this was the sort with %s", varied(s, r.crossing.Axes))
		}
	}()
	if fixed := s["seed"]; fixed != "" {
		var err error
		if seed, err = strconv.ParseUint(fixed, 10, 64); err != nil {
			t.Fatal(err)
		}
	}
	outcome := run.Sort(t, s, rand.New(rand.NewPCG(seed, 0)))
	if t.Failed() {
		t.FailNow()
	}
	return outcome
}
