package main

import (
	"bytes"
	"os/exec"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/extsort/extsort/format"
	"github.com/extsort/extsort/internal/testfiles"
)

// outputOf returns the output of a command line, which must succeed.
func outputOf(t *testing.T, args ...string) string {
	t.Helper()
	var out, errs bytes.Buffer
	if code := run(t.Context(), args, nil, &out, &errs); code != exitDone || errs.Len() > 0 {
		t.Errorf("%s: exit code %d, errors %q", args, code, errs.String())
	}
	return out.String()
}

// commandWords returns the words before the flags: none for the sort, or a verb.
func commandWords() [][]string {
	words := [][]string{nil}
	for _, name := range verbNames((&app{}).verbs()) {
		words = append(words, []string{name})
	}
	return words
}

func TestHelpFitsTheTerminal(t *testing.T) {
	for _, width := range []int{80, 200} {
		t.Setenv("COLUMNS", strconv.Itoa(width))
		for _, words := range commandWords() {
			for _, flag := range []string{"-h", "--help"} {
				text := outputOf(t, append(words, flag)...)
				for line := range strings.Lines(text) {
					if n := utf8.RuneCountInString(strings.TrimRight(line, "\n")); n > width {
						t.Errorf("%s %s: %d columns: %s", words, flag, n, line)
					}
				}
				if !strings.Contains(text, "Usage:") {
					t.Errorf("%s %s: no usage in %q", words, flag, text)
				}
			}
		}
	}
	t.Setenv("COLUMNS", "80")
	narrow := outputOf(t, "--help")
	t.Setenv("COLUMNS", "200")
	if wide := outputOf(t, "--help"); strings.Count(wide, "\n") >= strings.Count(narrow, "\n") {
		t.Errorf("200 columns take as many lines as 80")
	}
}

// The help and the page about records name every type. The help keeps the order of
// format.NumberTypes.
func TestHelpNamesAllTypes(t *testing.T) {
	if all := strings.Join(
		format.NumberTypes,
		" ",
	); !strings.Contains(strings.Join(strings.Fields(helpTypes), " "), all) {
		t.Errorf("the help does not list %s", all)
	}
	page := testfiles.Read(t, "../../docs/records.md")
	table := strings.Join(regexp.MustCompile("(?m)^\\| `.*?` \\|").FindAllString(string(page), -1), "")
	for _, name := range format.NumberTypes {
		if !regexp.MustCompile("[` ]" + name + "[` ]").MatchString(table) {
			t.Errorf("docs/records.md has no row for %s", name)
		}
	}
}

func TestShortHelpIsShort(t *testing.T) {
	for _, words := range commandWords() {
		short, long := outputOf(t, append(words, "-h")...), outputOf(t, append(words, "--help")...)
		if n := strings.Count(short, "\n"); len(words) == 0 && n > 26 {
			t.Errorf("-h has %d lines", n)
		}
		if len(words) == 0 && len(short) >= len(long) {
			t.Errorf("-h is not shorter than --help")
		}
		if verb := strings.Join(words, ""); outputOf(t, strings.Fields("help "+verb)...) != long {
			t.Errorf("help %s is not %s --help", verb, verb)
		}
	}
}

// TestShortHelpHasALineForEachFlag checks that -h of a verb shows each flag once, with its value,
// on one line.
func TestShortHelpHasALineForEachFlag(t *testing.T) {
	line := regexp.MustCompile(`^  (-\w, |    )--[-a-z0-9]+(\[=\S+\]| [A-Z]\S*)?  +\S`)
	for _, cmd := range (&app{}).verbs() {
		_, list, _ := strings.Cut(outputOf(t, cmd.Name(), "-h"), "\nFlags:\n")
		list, _, _ = strings.Cut(list, "\n\n")
		want := 0
		cmd.InitDefaultHelpFlag()
		cmd.Flags().VisitAll(func(f *pflag.Flag) {
			if !f.Hidden {
				want++
			}
		})
		shown := strings.Split(list, "\n")
		if len(shown) != want {
			t.Errorf("%s -h has %d lines for %d flags", cmd.Name(), len(shown), want)
		}
		for _, text := range shown {
			if !line.MatchString(text) {
				t.Errorf("%s -h: %q is not a flag", cmd.Name(), text)
			}
		}
	}
}

func TestFirstLinesAreSix(t *testing.T) {
	if n := strings.Count(firstLines, "\n"); n != 6 {
		t.Errorf("%d lines", n)
	}
	for line := range strings.Lines(firstLines) {
		if len(line)-1 > 80 {
			t.Errorf("%d columns: %s", len(line)-1, line)
		}
	}
}

// TestDefaultsAreShown checks that the help of a flag with a value shows the flag's default, if it
// has one.
func TestDefaultsAreShown(t *testing.T) {
	none := " type record-size key format check checkpoint stats count records size output from svg algorithm dist min " +
		"max help "
	for _, cmd := range append((&app{}).verbs(), (&app{}).sortCommand()) {
		cmd.Flags().VisitAll(func(f *pflag.Flag) {
			told := strings.Contains(f.Usage, "otherwise") || f.DefValue != "" && f.DefValue != "0"
			if !told && !strings.Contains(none, " "+f.Name+" ") {
				t.Errorf("%s --%s has no default", cmd.Name(), f.Name)
			}
		})
	}
	for _, want := range []string{"at least 16M", "(default auto)", "(default TMPDIR, else /var/tmp)"} {
		if text := strings.Join(strings.Fields(outputOf(t, "--help")), " "); !strings.Contains(text, want) {
			t.Errorf("--help does not say %q", want)
		}
	}
}

// TestManualsAreComplete checks that each verb has a manual page with all its flags and the usual
// sections.
func TestManualsAreComplete(t *testing.T) {
	testManual(t, (&app{}).sortCommand(), outputOf(t, "man"))
	for _, cmd := range (&app{}).verbs() {
		testManual(t, cmd, outputOf(t, "man", cmd.Name()))
	}
}

func testManual(t *testing.T, cmd *cobra.Command, page string) {
	t.Helper()
	plain := strings.NewReplacer(`\-`, "-", `\e`, `\`).Replace(page)
	cmd.Flags().VisitAll(func(f *pflag.Flag) {
		if !f.Hidden && !strings.Contains(plain, ".B "+flagName(f)) {
			t.Errorf("the manual does not have %s --%s", cmd.Name(), f.Name)
		}
	})
	for _, section := range []string{"NAME", `"SYNOPSIS"`, `"EXIT STATUS"`, `"ENVIRONMENT"`, `"FILES"`, `"SEE ALSO"`} {
		if !strings.Contains(page, ".SH "+section+"\n") {
			t.Errorf("the manual of %s has no section %s", cmd.Name(), section)
		}
	}
	for line := range strings.Lines(page) {
		name, _, _ := strings.Cut(strings.TrimSpace(line), " ")
		if strings.HasPrefix(line, ".") && !strings.Contains(" .TH .SH .SS .TP .B .BR .PP .nf .fi ", " "+name+" ") {
			t.Errorf("unknown request in %q", line)
		}
	}
	groff, err := exec.LookPath("groff")
	if err != nil {
		return
	}
	check := exec.Command(groff, "-man", "-ww", "-z")
	check.Stdin = strings.NewReader(page)
	if out, err := check.CombinedOutput(); err != nil || len(out) > 0 {
		t.Errorf("groff: %v\n%s", err, out)
	}
}
