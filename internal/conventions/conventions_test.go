// Package conventions checks the rules that every package of this module follows: the direction
// of imports, the size of types and functions, the exported API, the names of variants, the pages
// of the docs and the licences of dependencies. It contains only tests, which read the source
// code.
package conventions

import (
	"flag"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

const (
	modulePath = "github.com/extsort/extsort"
	root       = "../.."
)

var update = flag.Bool("update", false, "write the golden files anew; refused where CI is set")

// updating reports whether golden files must be rewritten.
func updating(t *testing.T) bool {
	t.Helper()
	if *update && os.Getenv("CI") != "" {
		t.Fatal("-update is refused where CI is set: a golden file changes in a commit that explains it")
	}
	return *update
}

// goFile is a .go file of the module, for any system or build tag.
type goFile struct {
	folder string // of the module, "." for the root
	name   string
	text   string
}

func (f goFile) isTest() bool { return strings.HasSuffix(f.name, "_test.go") }

func (f goFile) parse(t *testing.T, mode parser.Mode) *ast.File {
	t.Helper()
	file, err := parser.ParseFile(token.NewFileSet(), f.folder+"/"+f.name, f.text, mode)
	if err != nil {
		t.Fatal(err)
	}
	return file
}

// goFiles returns all .go files of the module.
func goFiles(t *testing.T) []goFile {
	t.Helper()
	var files []goFile
	err := filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		hidden := strings.HasPrefix(entry.Name(), ".") && path != root
		if entry.IsDir() && (hidden || entry.Name() == "testdata") {
			return filepath.SkipDir
		}
		if !strings.HasSuffix(path, ".go") {
			return nil
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		folder, err := filepath.Rel(root, filepath.Dir(path))
		files = append(files, goFile{filepath.ToSlash(folder), entry.Name(), string(text)})
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(files) < 200 {
		t.Fatalf("only %d files were seen", len(files))
	}
	return files
}

// table returns the rows of a file in testdata as fields, without comments.
func table(t *testing.T, name string) [][]string {
	t.Helper()
	rows, err := readTable(name)
	if err != nil {
		t.Fatal(err)
	}
	return rows
}

func readTable(name string) (rows [][]string, err error) {
	text, err := os.ReadFile(filepath.Join("testdata", name))
	for line := range strings.Lines(string(text)) {
		line, _, _ = strings.Cut(line, "#")
		if fields := strings.Fields(line); len(fields) > 0 {
			rows = append(rows, fields)
		}
	}
	return rows, err
}
