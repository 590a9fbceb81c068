package conventions

import (
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"unicode"

	"github.com/extsort/extsort/internal/testfiles"
)

const (
	pagesFile  = "pages.txt"
	pythonPage = "python/README.md"
)

// A markdownPage is a Markdown file of the module.
type markdownPage struct {
	name string // slash-separated, relative to the root of the module
	text string // without code blocks
	size int    // number of lines, code blocks included
}

var (
	codeBlock  = regexp.MustCompile("(?ms)^```.*?^```$")
	codeSpan   = regexp.MustCompile("`[^`\n]*`")
	heading    = regexp.MustCompile(`(?m)^#+ +(.*?) *$`)
	pageLink   = regexp.MustCompile(`\]\(([^)\s]+)\)`)
	linkText   = regexp.MustCompile(`\[([^\]]*)\]\([^)]*\)`)
	pageInText = regexp.MustCompile(`\b(?:docs/[\w/-]+|README|CHANGELOG|CONTRIBUTING|SECURITY)\.md\b`)

	conflictLine = regexp.MustCompile(`(?m)^(?:<{7} |={7}$|>{7} ).*`)
)

// markdownPages reads the pages at the root of the module and below docs, and the page of the Python
// package.
func markdownPages(t *testing.T) map[string]*markdownPage {
	t.Helper()
	pages := map[string]*markdownPage{}
	add := func(file string) error {
		text, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		name, err := filepath.Rel(root, file)
		name = filepath.ToSlash(name)
		pages[name] = &markdownPage{
			name: name,
			text: codeBlock.ReplaceAllString(string(text), ""),
			size: strings.Count(string(text), "\n"),
		}
		return err
	}

	atRoot, err := filepath.Glob(root + "/*.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range append(atRoot, root+"/"+pythonPage) {
		if err := add(file); err != nil {
			t.Fatal(err)
		}
	}
	err = filepath.WalkDir(root+"/docs", func(file string, entry fs.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(file, ".md") {
			return err
		}
		return add(file)
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(pages) < 15 {
		t.Fatalf("found only %d pages", len(pages))
	}
	return pages
}

// anchors returns the names by which GitHub links to the headings of a page.
func (p *markdownPage) anchors() map[string]bool {
	names := map[string]bool{}
	for _, match := range heading.FindAllStringSubmatch(p.text, -1) {
		base := anchor(match[1])
		name := base
		for n := 1; names[name]; n++ {
			name = base + "-" + strconv.Itoa(n)
		}
		names[name] = true
	}
	return names
}

// anchor returns GitHub's name for a heading: lower case, a hyphen for each blank, and no punctuation.
func anchor(title string) string {
	title = linkText.ReplaceAllString(title, "$1")
	return strings.Map(func(r rune) rune {
		switch {
		case r == ' ':
			return '-'
		case r == '-' || r == '_' || unicode.IsLetter(r) || unicode.IsDigit(r):
			return unicode.ToLower(r)
		}
		return -1
	}, title)
}

// brokenLinks returns the relative links of a page that lead to no file, or to no heading of a page.
func brokenLinks(p *markdownPage, pages map[string]*markdownPage) (broken []string, links int) {
	text := codeSpan.ReplaceAllString(p.text, "")
	for _, match := range pageLink.FindAllStringSubmatch(text, -1) {
		if strings.Contains(match[1], ":") {
			continue // an absolute address
		}
		links++
		file, fragment, _ := strings.Cut(match[1], "#")
		target := p.name
		if file != "" {
			target = path.Join(path.Dir(p.name), file)
		}
		_, err := os.Stat(filepath.Join(root, filepath.FromSlash(target)))
		page := pages[target]
		if err != nil || fragment != "" && (page == nil || !page.anchors()[fragment]) {
			broken = append(broken, match[1])
		}
	}
	return broken, links
}

// TestLinksOfPages checks that each relative link leads to a file, and each anchor to a heading.
func TestLinksOfPages(t *testing.T) {
	pages := markdownPages(t)
	total := 0
	for name, page := range pages {
		broken, links := brokenLinks(page, pages)
		total += links
		for _, link := range broken {
			t.Errorf("%s: broken link %s", name, link)
		}
	}
	if total < 40 {
		t.Errorf("found only %d links", total)
	}
}

func TestBrokenLinksAreFound(t *testing.T) {
	page := &markdownPage{
		name: "README.md",
		text: "# A `-k` key, twice\n[a](#a--k-key-twice) [b](#b) [c](LICENSE) [d](LICENCE) " +
			"[e](https://host/x) [f](docs/x.md)",
	}
	got, links := brokenLinks(page, map[string]*markdownPage{page.name: page})
	if want := "#b LICENCE docs/x.md"; strings.Join(got, " ") != want || links != 5 {
		t.Errorf("broken %q of %d links, want %q of 5", got, links, want)
	}
}

// TestPagesAreShort checks the number of lines of each page against testdata/pages.txt, which lists all pages.
func TestPagesAreShort(t *testing.T) {
	pages := markdownPages(t)
	for _, row := range table(t, pagesFile) {
		if len(row) != 2 {
			t.Fatalf("%s: bad row %q", pagesFile, row)
		}
		page := pages[row[1]]
		if page == nil {
			t.Errorf("%s lists %s, which does not exist", pagesFile, row[1])
			continue
		}
		delete(pages, row[1])
		if row[0] == "-" {
			continue
		}
		limit, err := strconv.Atoi(row[0])
		if err != nil {
			t.Fatalf("%s: %v", pagesFile, err)
		}
		if page.size > limit {
			t.Errorf("%s has %d lines; the limit is %d", page.name, page.size, limit)
		}
	}
	for name := range pages {
		t.Errorf("%s is missing in %s", name, pagesFile)
	}
}

// TestPagesHaveNoConflicts checks that no page has lines that Git left where two versions conflicted.
func TestPagesHaveNoConflicts(t *testing.T) {
	for name, page := range markdownPages(t) {
		for _, line := range conflictLine.FindAllString(page.text, -1) {
			t.Errorf("%s: an unresolved conflict: %s", name, line)
		}
	}
}

// TestCommentsNamePages checks that the pages which Go files name exist.
func TestCommentsNamePages(t *testing.T) {
	seen := 0
	for _, f := range goFiles(t) {
		if f.folder == "internal/conventions" {
			continue // the tests of this check name pages that do not exist
		}
		for _, name := range pageInText.FindAllString(f.text, -1) {
			seen++
			if _, err := os.Stat(filepath.Join(root, filepath.FromSlash(name))); err != nil {
				t.Errorf("%s/%s names %s, which does not exist", f.folder, f.name, name)
			}
		}
	}
	if seen < 5 {
		t.Errorf("found only %d names of pages", seen)
	}
}

// TestPythonPage checks that the page and the help of the Python package name each of its functions.
func TestPythonPage(t *testing.T) {
	text := testfiles.Read(t, filepath.Join(root, "python/src/extsort/__init__.py"))
	help, code, _ := strings.Cut(string(text), "\n\"\"\"\n")
	page := markdownPages(t)[pythonPage].text
	functions := regexp.MustCompile(`(?m)^    "([a-z_]+)",$`).FindAllStringSubmatch(code, -1)
	if len(functions) < 15 {
		t.Fatalf("found only %d functions", len(functions))
	}
	for _, function := range functions {
		name := function[1]
		if !regexp.MustCompile(`(?m)^\| .*\b` + name + `\b.* \|`).MatchString(help) {
			t.Errorf("help(extsort) does not list %s", name)
		}
		if !strings.Contains(page, "`"+name+"`") {
			t.Errorf("%s does not name %s", pythonPage, name)
		}
	}
}
