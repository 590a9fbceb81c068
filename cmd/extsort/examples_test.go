package main

import (
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/extsort/extsort/internal/testfiles"
)

// The user documentation contains examples in ```console blocks. sh runs each line "$ COMMAND", and
// the lines below it must equal the output on both streams. The commands of a page run one after
// the other, in a directory with the files of testdata.
//
// A run of blanks counts as a single blank. A time or a rate matches any other ("1.2 s", "2 min 5
// s", "12 MiB/s"). "…" matches any text; alone on a line, it matches any lines. A comment before a
// block lists more texts that vary, so that a page can show a real run. Another comment names a
// program without which the block is skipped:
//
//	<!-- needs: parallel -->
//	<!-- varies: reread | 5 chunks -->
//
// -update rewrites the outputs in the pages.
var updateExamples = flag.Bool("update", false, "write what the examples of the pages print into them")

// unrunPages need a network, other machines, GPUs, hours, or the tag s3 (see TestRemoteExamples).
var unrunPages = []string{"install.md", "gpu.md", "performance.md", "how-it-is-tested.md", "remote.md"}

func TestExamples(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("the examples are of Linux: sh, od, gzip")
	}
	pages, err := filepath.Glob("../../docs/*.md")
	if err != nil || len(pages) < 8 {
		t.Fatalf("pages %q, %v", pages, err)
	}
	for _, name := range append(pages, "../../README.md") {
		if !slices.Contains(unrunPages, filepath.Base(name)) {
			t.Run(filepath.Base(name), func(t *testing.T) {
				t.Parallel()
				checkPage(t, name)
			})
		}
	}
}

func checkPage(t *testing.T, name string) {
	text := testfiles.Read(t, name)
	p := page{t: t, folder: exampleFolder(t)}
	updated := fence.ReplaceAllStringFunc(string(text), p.check)
	if *updateExamples && os.Getenv("CI") == "" {
		testfiles.Write(t, name, []byte(updated))
	}
}

// exampleFolder returns a directory with the files that the examples sort.
func exampleFolder(t *testing.T) string {
	folder := t.TempDir()
	for _, name := range strings.Fields(
		"embeddings.npz events.bin kmers.sosd particles.npy points.fbin readings.f64 ticks.npy vectors.npy") {
		testfiles.Write(t, filepath.Join(folder, name), testfiles.Read(t, "../../testdata/"+name))
	}
	return folder
}

type page struct {
	t      *testing.T
	folder string
}

var fence = regexp.MustCompile("(?ms)^(?:<!-- needs: (\\w+) -->\n)?" +
	"(?:<!-- varies: ([^\n]*) -->\n)?```(\\w*)\n(.*?)^```$")

// check runs the commands of a block and returns the block with their output.
func (p *page) check(block string) string {
	parts := fence.FindStringSubmatch(block)
	needs, varies, language, text := parts[1], parts[2], parts[3], parts[4]
	if _, err := exec.LookPath(needs); err != nil && needs != "" {
		p.t.Logf("%s is not installed: not run\n%s", needs, text)
		return block
	}
	if language != "console" {
		if slices.Contains([]string{"sh", "bash", "shell"}, language) || strings.HasPrefix(text, "extsort ") {
			p.t.Errorf("no test runs this: say console and show what it prints\n%s", text)
		}
		return block
	}
	for _, example := range strings.Split("\n"+text, "\n$ ")[1:] {
		example = strings.TrimSuffix(example, "\n")
		command, want := cutCommand(example)
		got := p.run(command)
		if !regexp.MustCompile(pattern(want, varies)).MatchString(uniform(got)) {
			p.t.Errorf("$ %s\nprints\n%s\nand not\n%s", command, got, want)
			block = strings.Replace(block, "$ "+example+"\n", strings.TrimSuffix("$ "+command+"\n"+got, "\n")+"\n", 1)
		}
	}
	return block
}

// cutCommand separates a command from its output. A command continues after a line that ends with
// \.
func cutCommand(example string) (command, output string) {
	lines := strings.Split(example, "\n")
	n := 1
	for n < len(lines) && strings.HasSuffix(lines[n-1], `\`) {
		n++
	}
	return strings.Join(lines[:n], "\n"), strings.Join(lines[n:], "\n")
}

func (p *page) run(command string) string {
	cmd := exec.Command("sh", "-c", command)
	cmd.Dir = p.folder
	cmd.Env = append(os.Environ(), "TMPDIR="+p.folder, "EXTSORT_PROFILE=default", "LC_ALL=C", "COLUMNS=80")
	out, err := cmd.CombinedOutput()
	if _, failed := err.(*exec.ExitError); err != nil && !failed {
		p.t.Fatal(err)
	}
	return string(out)
}

var (
	figure = regexp.MustCompile(`\d[\d.]* (?:µs|ms|min \d+ s|min|s|h \d+ min|h|[KMGT]?i?B/s)\b`)
	blanks = regexp.MustCompile(`[ \t]+`)
	dots   = regexp.MustCompile(`(?m)^ ?…$\n?`)
)

// uniform removes from a text the parts that differ between runs.
func uniform(text string) string {
	text = blanks.ReplaceAllString(figure.ReplaceAllString(text, "TIME"), " ")
	return strings.TrimSpace(strings.ReplaceAll(text, " \n", "\n"))
}

// pattern returns a pattern for texts that equal want except for the parts that vary.
func pattern(want, varies string) string {
	for _, text := range strings.Split(varies, " | ") {
		if text != "" {
			want = strings.ReplaceAll(want, text, "…")
		}
	}
	quoted := regexp.QuoteMeta(uniform(want))
	quoted = dots.ReplaceAllString(quoted, `(?:.*\n?)*`)
	return `\A` + strings.ReplaceAll(quoted, "…", `[^\n]*`) + `\z`
}

// TestExamplesCanFail checks that the comparison detects differences.
func TestExamplesCanFail(t *testing.T) {
	const printed = "records  1,000\ntime  12 ms, 1.5 MiB/s\nby copy\n"
	for want, matches := range map[string]bool{
		"records 1,000\ntime 3.25 s, 9 GiB/s\nby copy":  true,
		"records 1,000\n…":                              true,
		"…\nby copy":                                    true,
		"records …\ntime 1 s, …\nby merge":              true, // varies lists merge
		"records 1,001\ntime 12 ms, 1.5 MiB/s\nby copy": false,
		"records 1,000\ntime 12 ms, 1.5 MiB/s":          false,
		"":                                              false,
	} {
		if got := regexp.MustCompile(pattern(want, "merge")).MatchString(uniform(printed)); got != matches {
			t.Errorf("%q: matches %v", want, got)
		}
	}
}
