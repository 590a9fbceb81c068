package sorttest

import (
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/extsort/extsort/internal/testfiles"
)

const twoRows = `# A comment.

# The first row.
sort record=u8 records=1,2,3 verify=no,yes
     show=size,verified
----
verify=no records=1: small, no
verify=yes records=1: small, yes
verify=no records=2,3: large, no
verify=yes records=2,3: large, yes

pairs record=u8,u16 order=random,sorted
  refused record=u16 order=sorted
----
3 sorts

# The end.
`

// fakeSort returns outcomes that depend on two settings. It refuses the combinations that the
// second row lists.
func fakeSort(_ *testing.T, s Settings, _ *rand.Rand) Outcome {
	if s[Refused] != "" {
		return Outcome{"error": "no"}
	}
	size := "large"
	if s["records"] == "1" {
		size = "small"
	}
	return Outcome{"size": size, "verified": s["verify"], "strategy": "none"}
}

// TestRunner runs rows with right outcomes, and rewrites a wrong outcome.
func TestRunner(t *testing.T) {
	name := filepath.Join(t.TempDir(), "rows.txt")
	write := func(text string) {
		testfiles.Write(t, name, []byte(text))
	}
	write(twoRows)
	t.Run("right", func(t *testing.T) { Runner{Sort: fakeSort}.Run(t, name) })

	t.Setenv("CI", "")
	write(strings.Replace(twoRows, "large", "huge", 1))
	t.Run("rewritten", func(t *testing.T) {
		run := Runner{Sort: fakeSort, Update: true}
		run.runFile(t, name)
	})
	if now, err := os.ReadFile(name); err != nil || string(now) != twoRows {
		t.Errorf("the rows are now:\n%s%v", now, err)
	}
}

// TestWrongOutcomes checks that a runner distinguishes right outcomes from wrong ones.
func TestWrongOutcomes(t *testing.T) {
	rows, end, err := parseRows(twoRows)
	if err != nil || len(rows) != 2 || end != "\n# The end.\n" && end != "# The end.\n" {
		t.Fatalf("%d rows, then %q: %v", len(rows), end, err)
	}
	for _, r := range rows {
		if got := (Runner{Sort: fakeSort}).outcome(t, r); got != r.want {
			t.Errorf("line %d: got\n%swant\n%s", r.line, got, r.want)
		}
	}
	tried := 0
	some := Runner{Every: 3, Sort: func(*testing.T, Settings, *rand.Rand) Outcome {
		tried++
		return Outcome{}
	}}
	rows[1].refusals = &Crossing{}
	if got := some.outcome(t, rows[1]); got != rows[1].want || tried != 1 {
		t.Errorf("one in three sorts: %d were tried: %q", tried, got)
	}
	outcome := Runner{Sort: func(*testing.T, Settings, *rand.Rand) Outcome {
		return Outcome{"error": "always"}
	}}.outcome(t, rows[1])
	if outcome != "3 sorts\nerror: always\n" {
		t.Errorf("an error is not shown: %q", outcome)
	}
}

// TestRowErrors checks that mistakes in rows are reported with their line.
func TestRowErrors(t *testing.T) {
	for text, want := range map[string]string{
		"sort record=u8\n":                               "1: no ---- follows",
		"\n\nsort record=u8 speed=high\n----\n":          `3: there is no setting "speed"`,
		"merge record=u8\n----\n":                        `1: there is no command "merge"`,
		"sort record=u8 record=u16\n----\n":              "1: record is set twice",
		"sort record=u8\n not record=u9 chunk=1\n----\n": `1: record has no value "u9"`,
	} {
		if _, _, err := parseRows(text); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%q: the error is %v, want %s", text, err, want)
		}
	}
}

// TestSettingsAreDescribed checks that the page about the rows describes every setting.
func TestSettingsAreDescribed(t *testing.T) {
	page := testfiles.Read(t, "../../testdata/sort/README.md")
	for _, name := range settingNames {
		if !strings.Contains(string(page), "\n| `"+name+"` | ") {
			t.Errorf("testdata/sort/README.md has no line about %s", name)
		}
	}
}
