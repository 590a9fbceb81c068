package conventions

import (
	"go/ast"
	"go/token"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/extsort/extsort/format"
)

// TestCodecsAreNamedInTheirFiles checks that product code asks the table of codecs for a property, and compares no
// codec with one by its name: a new codec is a file and a row. Only a codec's own file and the table name it.
func TestCodecsAreNamedInTheirFiles(t *testing.T) {
	tools := []string{"cmd/compare", "device/bench/...", "internal/conventions", "internal/soak", "internal/powerloss"}
	names := codecNames()
	var own []string
	for _, name := range names {
		own = append(own, "codec_"+name+".go")
	}
	checked := 0
	for _, f := range goFiles(t) {
		isOwn := f.folder == "format" && (f.name == "codec.go" || slices.Contains(own, f.name))
		if f.isTest() || isOwn || slices.ContainsFunc(tools, func(p string) bool { return matches(p, f.folder) }) {
			continue
		}
		checked++
		for node := range ast.Preorder(f.parse(t, 0)) {
			for _, e := range comparedWith(node) {
				if name := codecNamed(e, f.folder, names); name != "" {
					t.Errorf("%s/%s compares something with the codec %s: ask the table in format/codec.go for a property",
						f.folder, f.name, name)
				}
			}
		}
	}
	if checked < 100 {
		t.Errorf("%d files were searched: where is the rest?", checked)
	}
}

// codecNames returns the names of all codecs but none, and of their constants in package format, in lower case.
func codecNames() []string {
	all := slices.Concat(format.Compressions(), format.Decompressions(), format.BlockCompressions())
	return slices.DeleteFunc(all, func(name string) bool { return name == "none" || name == "auto" })
}

// comparedWith returns the operands of == and !=, the cases of a switch, and the keys of a map or an array.
func comparedWith(node ast.Node) []ast.Expr {
	switch n := node.(type) {
	case *ast.BinaryExpr:
		if n.Op == token.EQL || n.Op == token.NEQ {
			return []ast.Expr{n.X, n.Y}
		}
	case *ast.CaseClause:
		return n.List
	case *ast.KeyValueExpr:
		return []ast.Expr{n.Key}
	}
	return nil
}

// codecNamed returns the codec that an expression in a folder names by its text or by its constant, or "".
func codecNamed(e ast.Expr, folder string, names []string) string {
	name := ""
	switch e := e.(type) {
	case *ast.BasicLit:
		if e.Kind == token.STRING {
			name, _ = strconv.Unquote(e.Value)
		}
	case *ast.Ident:
		if folder == "format" && e.IsExported() {
			name = strings.ToLower(e.Name)
		}
	case *ast.SelectorExpr:
		if of, ok := e.X.(*ast.Ident); ok && of.Name == "format" {
			name = strings.ToLower(e.Sel.Name)
		}
	}
	if !slices.Contains(names, name) {
		return ""
	}
	return name
}

func TestComparisonsWithCodecsAreFound(t *testing.T) {
	const code = `package p
func f() {
	if name == "zstd" || c == Bzip2 || c != format.Delta || c == format.None { }
	switch name { case "a", "lz4": }
	_ = map[string]int{"gzip": 1, "other": 2}
	_ = []string{"s2"}
}`
	var found []string
	for node := range ast.Preorder(goFile{folder: ".", name: "p.go", text: code}.parse(t, 0)) {
		for _, e := range comparedWith(node) {
			if name := codecNamed(e, "format", codecNames()); name != "" {
				found = append(found, name)
			}
		}
	}
	slices.Sort(found)
	if want := []string{"bzip2", "delta", "gzip", "lz4", "zstd"}; !slices.Equal(found, want) {
		t.Errorf("found %v, not %v", found, want)
	}
}
