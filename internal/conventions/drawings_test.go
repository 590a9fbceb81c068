package conventions

import (
	"bytes"
	"encoding/xml"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/extsort/extsort/internal/testfiles"
)

// TestDrawings redraws the pictures of docs/how-it-works in a copy and compares them. The script
// itself fails if a label leaves its box or covers another one.
func TestDrawings(t *testing.T) {
	if _, err := exec.LookPath("awk"); err != nil {
		t.Skipf("no awk: %v", err)
	}
	const folder = "../../docs/how-it-works"
	copied := t.TempDir()
	if err := os.CopyFS(copied, os.DirFS(folder)); err != nil {
		t.Fatal(err)
	}
	if said, err := exec.Command("sh", filepath.Join(copied, "draw.sh")).CombinedOutput(); err != nil {
		t.Fatalf("draw.sh: %v\n%s", err, said)
	}

	drawn, err := filepath.Glob(filepath.Join(copied, "*.svg"))
	if err != nil || len(drawn) < 8 {
		t.Fatalf("%d drawings, %v", len(drawn), err)
	}
	for _, name := range drawn {
		want := testfiles.Read(t, name)
		got, err := os.ReadFile(filepath.Join(folder, filepath.Base(name)))
		if err != nil || !bytes.Equal(got, want) {
			t.Errorf("%s is not the drawing of its text: run docs/how-it-works/draw.sh (%v)", filepath.Base(name), err)
		}
	}
}

// TestDemo redraws the terminal in the README from its transcript in a copy and compares the two.
// It checks that the transcript fits 80 columns, contains no path of the machine that recorded
// it, and runs the commands in demo.sh.
func TestDemo(t *testing.T) {
	if _, err := exec.LookPath("awk"); err != nil {
		t.Skipf("no awk: %v", err)
	}
	copied := t.TempDir()
	committed := map[string]string{}
	for _, name := range []string{"demo.sh", "demo.txt", "demo.svg"} {
		text := testfiles.Read(t, filepath.Join(root, "docs", name))
		committed[name] = string(text)
		if name == "demo.svg" {
			continue
		}
		if err := os.WriteFile(filepath.Join(copied, name), text, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if said, err := exec.Command("sh", filepath.Join(copied, "demo.sh")).CombinedOutput(); err != nil {
		t.Fatalf("demo.sh: %v\n%s", err, said)
	}
	drawn, err := os.ReadFile(filepath.Join(copied, "demo.svg"))
	if err != nil || string(drawn) != committed["demo.svg"] {
		t.Errorf("demo.svg is not the drawing of demo.txt: run docs/demo.sh (%v)", err)
	}

	lines := strings.Split(strings.TrimSuffix(committed["demo.txt"], "\n"), "\n")
	commands := 0
	for _, line := range lines {
		if problem := badTerminalLine(line); problem != "" {
			t.Errorf("%q %s", line, problem)
		}
		if command, found := strings.CutPrefix(line, "$ "); found {
			commands++
			if !strings.Contains(committed["demo.sh"], command) {
				t.Errorf("demo.sh doesn't run %q: run docs/demo.sh record", command)
			}
		}
	}
	if commands < 4 {
		t.Errorf("the transcript has %d commands, want at least 4", commands)
	}
	checkTerminal(t, drawn, lines)
}

var localPath = regexp.MustCompile(`(^|[\s="'(])(~|[A-Za-z]:)?[/\\]`)

// badTerminalLine describes the mistake in a line of a transcript, or returns "".
func badTerminalLine(line string) string {
	switch {
	case len(line) > 80:
		return "is wider than 80 columns"
	case localPath.MatchString(line):
		return "contains a local path"
	}
	return ""
}

func TestBadTerminalLinesAreFound(t *testing.T) {
	for line, want := range map[string]string{
		"temporary  977 MiB in .":         "",
		"generated at 300 MiB/s":          "",
		strings.Repeat("x", 80):           "",
		strings.Repeat("x", 81):           "is wider than 80 columns",
		"temporary  977 MiB in /var/tmp":  "contains a local path",
		"output     ~/sorted.bin":         "contains a local path",
		`output     C:\Users\sorted.bin`:  "contains a local path",
		"$ extsort -T=/tmp -o sorted.bin": "contains a local path",
	} {
		if got := badTerminalLine(line); got != want {
			t.Errorf("%q: %q, want %q", line, got, want)
		}
	}
}

// checkTerminal checks that an SVG is well-formed, has a title and dark colours, and that its text
// elements are the non-empty lines. No line may extend beyond the picture.
func checkTerminal(t *testing.T, svg []byte, lines []string) {
	t.Helper()
	var picture struct {
		Width  int    `xml:"width,attr"`
		Height int    `xml:"height,attr"`
		Title  string `xml:"title"`
		Style  string `xml:"style"`
		Texts  []struct {
			X     int    `xml:"x,attr"`
			Y     int    `xml:"y,attr"`
			Width int    `xml:"textLength,attr"`
			Words string `xml:",chardata"`
		} `xml:"text"`
	}
	if err := xml.Unmarshal(svg, &picture); err != nil {
		t.Fatalf("demo.svg: %v", err)
	}
	if picture.Title == "" || !strings.Contains(picture.Style, "prefers-color-scheme: dark") {
		t.Errorf("demo.svg has the title %q and the style %q", picture.Title, picture.Style)
	}

	var words []string
	for _, text := range picture.Texts {
		words = append(words, text.Words)
		if text.Width <= 0 || text.X+text.Width > picture.Width || text.Y > picture.Height {
			t.Errorf("%q leaves the picture", text.Words)
		}
	}
	printed := slices.DeleteFunc(slices.Clone(lines), func(line string) bool { return line == "" })
	if !slices.Equal(words, printed) {
		t.Errorf("demo.svg shows\n%s\nwant\n%s", strings.Join(words, "\n"), strings.Join(printed, "\n"))
	}
}
