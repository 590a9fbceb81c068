package conventions

import (
	"go/ast"
	"go/parser"
	"go/token"
	"slices"
	"strconv"
	"testing"

	"github.com/extsort/extsort/format"
)

// containerFiles are the files in package format that define containers and may compare their names.
var containerFiles = map[string][]string{
	"gensort.go": {"gensort"},
	"npy.go":     {"npy"},
	"npz.go":     {"npz"},
	"vecs.go":    {"fvecs", "bvecs", "ivecs"},
	"sosd.go":    {"sosd"},
	"bigann.go":  {"fbin", "u8bin", "i8bin", "ibin"},
}

// TestContainersAreRows searches all product files for comparisons with the name of a container. A container is a row
// of the table in format/container.go, and everything else iterates over the table or asks for a property of the row.
func TestContainersAreRows(t *testing.T) {
	names := format.ContainerNames()
	for _, f := range goFiles(t) {
		if f.isTest() {
			continue
		}
		var own []string
		if f.folder == "format" {
			own = containerFiles[f.name]
		}
		for _, name := range comparedStrings(f.parse(t, 0)) {
			if slices.Contains(names, name) && !slices.Contains(own, name) {
				t.Errorf("%s/%s: compares with the name of the container %s: use a property of its row in format/container.go",
					f.folder, f.name, name)
			}
		}
	}
}

// TestComparisonsAreFound gives comparedStrings each kind of comparison.
func TestComparisonsAreFound(t *testing.T) {
	const text = `package p
func f(s string) int {
	if s == "a" || "b" != s || s < "no" { return 1 }
	switch s { case "c", "d": return 2 }
	if slices.Contains([]string{"e", "f"}, s) || strings.HasPrefix(s, "g") || strings.EqualFold("h", s) { return 3 }
	g("no", []string{"no"})
	return map[string]int{"i": 4}[s]
}`
	file, err := parser.ParseFile(token.NewFileSet(), "p.go", text, 0)
	if err != nil {
		t.Fatal(err)
	}
	got := comparedStrings(file)
	slices.Sort(got)
	if want := []string{"a", "b", "c", "d", "e", "f", "g", "h", "i"}; !slices.Equal(got, want) {
		t.Errorf("found %q, want %q", got, want)
	}
}

// comparedStrings returns the string literals of a file that something is compared with: operands of == and !=, cases
// of a switch, arguments of functions that compare, and keys of a map in which a value is looked up at once.
func comparedStrings(file *ast.File) (all []string) {
	add := func(under ast.Node) {
		ast.Inspect(under, func(n ast.Node) bool {
			if literal, ok := n.(*ast.BasicLit); ok && literal.Kind == token.STRING {
				text, _ := strconv.Unquote(literal.Value) // the parser has accepted it
				all = append(all, text)
			}
			return true
		})
	}
	ast.Inspect(file, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.BinaryExpr:
			if n.Op == token.EQL || n.Op == token.NEQ {
				addLiteral(n.X, add)
				addLiteral(n.Y, add)
			}
		case *ast.CaseClause:
			for _, value := range n.List {
				addLiteral(value, add)
			}
		case *ast.CallExpr:
			if comparing(n.Fun) {
				for _, argument := range n.Args {
					addLiteral(argument, add)
				}
			}
		case *ast.IndexExpr:
			addLiteral(n.X, add)
		}
		return true
	})
	return all
}

// addLiteral adds the strings of an expression that is a literal itself.
func addLiteral(value ast.Expr, add func(ast.Node)) {
	switch value := value.(type) {
	case *ast.BasicLit, *ast.CompositeLit:
		add(value)
	}
}

// comparing reports whether a function of packages slices and strings compares its arguments.
func comparing(function ast.Expr) bool {
	selector, ok := function.(*ast.SelectorExpr)
	if !ok {
		return false
	}
	from, ok := selector.X.(*ast.Ident)
	compares := []string{"Contains", "ContainsFunc", "Index", "EqualFold", "HasPrefix", "HasSuffix", "Compare"}
	return ok && (from.Name == "slices" || from.Name == "strings") && slices.Contains(compares, selector.Sel.Name)
}
