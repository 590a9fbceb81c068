package conventions

import (
	"fmt"
	"go/ast"
	"go/token"
	"maps"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/extsort/extsort/internal/testfiles"
)

const complexityFile = "complexity.txt"

// A measure is a number that describes how hard a package is to read.
type measure string

const (
	structFields measure = "fields"     // the most fields of a struct
	parameters   measure = "parameters" // the most parameters of a function
	nesting      measure = "nesting"    // the deepest nesting of blocks in a function
	// The highest cyclomatic complexity of a function (McCabe 1976).
	cyclomatic measure = "cyclomatic"
	// The number of exported functions, methods, types, constants and variables.
	exported measure = "exported"
)

// minimumMeasure is the least value of a measure that is worth a row.
const minimumMeasure = 3

// A found value is the largest one of a package, with the place that has it.
type found struct {
	value int
	where string
}

// TestComplexity compares how complex each package is with testdata/complexity.txt, whose numbers
// may only fall.
func TestComplexity(t *testing.T) {
	values := measureComplexity(t)
	limits := readComplexity(t)

	for _, key := range slices.Sorted(maps.Keys(values)) {
		limit, ok := limits[key]
		if !ok {
			limit = minimumMeasure
		}
		if v := values[key]; v.value > limit && !updating(t) {
			t.Errorf("%s: %d at %s, at most %d is allowed: make it simpler", key, v.value, v.where, limit)
		}
	}
	if updating(t) {
		writeComplexity(t, values, limits)
	}
}

// measureComplexity returns the measures of all packages, by "PACKAGE MEASURE". Tests and tools
// are left out.
func measureComplexity(t *testing.T) map[string]found {
	t.Helper()
	values := map[string]found{}
	keep := func(folder string, m measure, value int, where string) {
		key := folder + " " + string(m)
		if value > values[key].value {
			values[key] = found{value, where}
		}
	}
	for _, f := range goFiles(t) {
		if f.isTest() {
			continue
		}
		for _, declaration := range f.parse(t, 0).Decls {
			count := values[f.folder+" "+string(exported)].value + exportedNames(declaration)
			keep(f.folder, exported, count, f.name)
			ast.Inspect(declaration, func(node ast.Node) bool {
				if structure, ok := node.(*ast.StructType); ok {
					keep(f.folder, structFields, structure.Fields.NumFields(), f.name)
				}
				return true
			})
			function, ok := declaration.(*ast.FuncDecl)
			if !ok || function.Body == nil {
				continue
			}
			where := f.name + " " + function.Name.Name
			keep(f.folder, parameters, function.Type.Params.NumFields(), where)
			keep(f.folder, nesting, depthOf(function.Body), where)
			keep(f.folder, cyclomatic, pathsOf(function.Body), where)
		}
	}
	return values
}

// exportedNames returns the number of exported names that a declaration adds to the documentation
// of its package.
func exportedNames(declaration ast.Decl) (n int) {
	count := func(names ...*ast.Ident) {
		for _, name := range names {
			if name.IsExported() {
				n++
			}
		}
	}
	switch d := declaration.(type) {
	case *ast.FuncDecl:
		if d.Recv == nil || exportedReceiver(d.Recv) {
			count(d.Name)
		}
	case *ast.GenDecl:
		for _, spec := range d.Specs {
			switch s := spec.(type) {
			case *ast.TypeSpec:
				count(s.Name)
			case *ast.ValueSpec:
				count(s.Names...)
			}
		}
	}
	return n
}

// exportedReceiver reports whether a method belongs to an exported type.
func exportedReceiver(receiver *ast.FieldList) bool {
	typ := receiver.List[0].Type
	for {
		switch t := typ.(type) {
		case *ast.StarExpr:
			typ = t.X
		case *ast.IndexExpr:
			typ = t.X
		case *ast.IndexListExpr:
			typ = t.X
		case *ast.Ident:
			return t.IsExported()
		default:
			return false
		}
	}
}

// depthOf returns how deep blocks are nested below a function's body. An else-if counts as its if.
func depthOf(body ast.Node) int {
	deepest := 0
	var visit func(node ast.Node, depth int)
	visit = func(node ast.Node, depth int) {
		deepest = max(deepest, depth)
		ast.Inspect(node, func(inner ast.Node) bool {
			if inner == node || inner == nil {
				return true
			}
			switch b := inner.(type) {
			case *ast.IfStmt:
				visitParts(visit, depth, b.Init, b.Cond)
				visit(b.Body, depth+1)
				if b.Else != nil {
					visitElse(visit, b.Else, depth)
				}
				return false
			case *ast.ForStmt, *ast.RangeStmt, *ast.SwitchStmt, *ast.TypeSwitchStmt, *ast.SelectStmt:
				visit(b, depth+1)
				return false
			}
			return true
		})
	}
	visit(body, 0)
	return deepest
}

func visitParts(visit func(ast.Node, int), depth int, init ast.Stmt, condition ast.Expr) {
	if init != nil {
		visit(init, depth)
	}
	visit(condition, depth)
}

func visitElse(visit func(ast.Node, int), other ast.Stmt, depth int) {
	chained, ok := other.(*ast.IfStmt)
	if !ok {
		visit(other, depth+1)
		return
	}
	visitParts(visit, depth, chained.Init, chained.Cond)
	visit(chained.Body, depth+1)
	if chained.Else != nil {
		visitElse(visit, chained.Else, depth)
	}
}

// pathsOf returns the cyclomatic complexity of a function: one more than its branches.
func pathsOf(body ast.Node) int {
	paths := 1
	ast.Inspect(body, func(node ast.Node) bool {
		switch n := node.(type) {
		case *ast.IfStmt, *ast.ForStmt, *ast.RangeStmt:
			paths++
		case *ast.CaseClause:
			if n.List != nil {
				paths++
			}
		case *ast.CommClause:
			if n.Comm != nil {
				paths++
			}
		case *ast.BinaryExpr:
			if n.Op == token.LAND || n.Op == token.LOR {
				paths++
			}
		}
		return true
	})
	return paths
}

// readComplexity returns the limits by "PACKAGE MEASURE".
func readComplexity(t *testing.T) map[string]int {
	t.Helper()
	limits := map[string]int{}
	for _, row := range table(t, complexityFile) {
		if len(row) != 3 {
			t.Fatalf("%s: %q", complexityFile, row)
		}
		n, err := strconv.Atoi(row[2])
		if err != nil {
			t.Fatalf("%s: %q: %v", complexityFile, row, err)
		}
		limits[row[0]+" "+row[1]] = n
	}
	return limits
}

// writeComplexity lowers the limits to the values, and adds rows for new packages.
func writeComplexity(t *testing.T, values map[string]found, limits map[string]int) {
	t.Helper()
	known := map[string]bool{}
	for key := range limits {
		known[strings.Fields(key)[0]] = true
	}
	text := "# How complex each package may be; complexity_test.go explains the measures. The numbers only fall:\n" +
		"# go test ./internal/conventions -run Complexity -update\n"
	for _, key := range slices.Sorted(maps.Keys(values)) {
		n := values[key].value
		limit, ok := limits[key]
		if !ok && known[strings.Fields(key)[0]] {
			limit = minimumMeasure
		}
		if ok || known[strings.Fields(key)[0]] {
			n = min(n, limit)
		}
		if n > minimumMeasure {
			text += fmt.Sprintf("%s %d\n", key, n)
		}
	}
	testfiles.Write(t, "testdata/"+complexityFile, []byte(text))
}

// TestComplexityIsMeasured checks the measures of a small function.
func TestComplexityIsMeasured(t *testing.T) {
	f := goFile{folder: ".", name: "sample.go", text: `package sample

func Sample(a, b int, c bool) int {
	if a > b && c {
		for range a {
			switch b {
			case 1:
				return 1
			default:
				return 2
			}
		}
	} else if b > a {
		return 3
	}
	return func() int { return 4 }()
}

type hidden struct{ x, y int }

func (hidden) Method() {}
`}
	declarations := f.parse(t, 0).Decls
	function := declarations[0].(*ast.FuncDecl)
	if n := pathsOf(function.Body); n != 6 {
		t.Errorf("cyclomatic complexity %d, want 6: if, &&, for, case, else if and the function", n)
	}
	if n := depthOf(function.Body); n != 3 {
		t.Errorf("nesting %d, want 3: if, for, switch", n)
	}
	names := 0
	for _, d := range declarations {
		names += exportedNames(d)
	}
	if names != 1 {
		t.Errorf("%d exported names, want 1: a method of an unexported type does not count", names)
	}
}
