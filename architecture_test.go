package extsort

import (
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

const modulePath = "github.com/extsort/extsort"

// layers are the folders of the house. A package may import those of its own layer and of the layers before it.
var layers = []string{"format", "device", "chunker", "merge", ".", "cmd"}

// layerOf is the index in layers of a package, given by its folder.
func layerOf(folder string) int {
	top, _, _ := strings.Cut(filepath.ToSlash(folder), "/")
	for i, layer := range layers {
		if top == layer {
			return i
		}
	}
	return -1
}

// TestImportsRunOneWay reads the imports of every file, whatever it is built for.
func TestImportsRunOneWay(t *testing.T) {
	files := 0
	err := filepath.WalkDir(".", func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() && (entry.Name() == "testdata" || strings.HasPrefix(entry.Name(), ".") && path != ".") {
			if entry != nil && entry.IsDir() {
				return filepath.SkipDir
			}
			return err
		}
		if strings.HasSuffix(path, ".go") && !strings.HasSuffix(path, "_test.go") {
			files++
			checkImports(t, path)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if files < 50 {
		t.Errorf("only %d files were seen", files)
	}
}

func checkImports(t *testing.T, path string) {
	t.Helper()
	from := layerOf(filepath.Dir(path))
	if from < 0 {
		t.Errorf("%s: this folder has no place among %v", path, layers)
		return
	}
	file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.ImportsOnly)
	if err != nil {
		t.Error(err)
		return
	}
	for _, spec := range file.Imports {
		name, err := strconv.Unquote(spec.Path.Value)
		if err != nil {
			t.Error(err)
		}
		if name != modulePath && !strings.HasPrefix(name, modulePath+"/") {
			continue
		}
		folder := strings.TrimPrefix(strings.TrimPrefix(name, modulePath), "/")
		if folder == "" {
			folder = "."
		}
		if to := layerOf(folder); to > from {
			t.Errorf("%s imports %s: %s comes after %s", path, name, layers[to], layers[from])
		}
	}
}
