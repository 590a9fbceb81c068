package conventions

import (
	"go/ast"
	"go/parser"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/extsort/extsort/internal/testfiles"
)

// The limits of the stable package, which is the root. Constants, variables, functions, types and
// methods count if they are exported.
const (
	maxAPINames     = 92
	maxAPIFiles     = 9
	maxAPITestFiles = 5
)

// TestAPI compares the API of the root and of package sets with testdata/api, which contains the
// output of go doc -all.
func TestAPI(t *testing.T) {
	goFiles(t) // go test runs this again when one of them has changed
	checkAPI(t, ".", "extsort.txt")
	checkAPI(t, "./sets", "sets.txt")
}

// checkAPI compares the API of a package with a golden file.
func checkAPI(t *testing.T, folder, golden string) {
	t.Helper()
	command := exec.Command("go", "doc", "-all", folder)
	command.Dir = root
	got, err := command.Output()
	if err != nil {
		t.Fatalf("%v: %v", command, err)
	}
	golden = filepath.Join(root, "testdata", "api", golden)
	if updating(t) {
		testfiles.Write(t, golden, got)
	}
	want := testfiles.Read(t, golden)
	if diff := cmp.Diff(strings.Split(string(want), "\n"), strings.Split(string(got), "\n")); diff != "" {
		t.Errorf("the API is not that of %s; if that is meant: go test ./internal/conventions -run API -update\n%s",
			golden, diff)
	}
}

// TestAPISize limits the stable API to a size that users can keep in their heads. It has no
// aliases, because go doc shows neither their fields nor their methods, and no type of another
// package of this module, which may change.
func TestAPISize(t *testing.T) {
	names, files, tests := 0, 0, 0
	for _, f := range goFiles(t) {
		switch {
		case f.folder != ".":
			continue
		case f.isTest():
			tests++
			continue
		}
		files++
		for _, decl := range f.parse(t, parser.SkipObjectResolution).Decls {
			names += countExported(decl)
			checkDocumented(t, f.name, decl)
		}
	}
	for what, counts := range map[string][2]int{
		"exported names": {names, maxAPINames},
		"product files":  {files, maxAPIFiles},
		"test files":     {tests, maxAPITestFiles},
	} {
		if counts[0] > counts[1] || counts[0] == 0 {
			t.Errorf("the root has %d %s: at most %d are allowed", counts[0], what, counts[1])
		}
	}
}

// countExported returns how many names a declaration exports. Methods of unexported types do not
// count.
func countExported(decl ast.Decl) (names int) {
	count := func(name *ast.Ident) {
		if name.IsExported() {
			names++
		}
	}
	switch decl := decl.(type) {
	case *ast.FuncDecl:
		if decl.Recv == nil || ast.IsExported(receiver(decl.Recv.List[0].Type)) {
			count(decl.Name)
		}
	case *ast.GenDecl:
		for _, spec := range decl.Specs {
			switch spec := spec.(type) {
			case *ast.TypeSpec:
				count(spec.Name)
			case *ast.ValueSpec:
				for _, name := range spec.Names {
					count(name)
				}
			}
		}
	}
	return names
}

// receiver returns the name of the type of a receiver, such as T of *T[V].
func receiver(e ast.Expr) string {
	for {
		switch typed := e.(type) {
		case *ast.StarExpr:
			e = typed.X
		case *ast.IndexExpr:
			e = typed.X
		case *ast.Ident:
			return typed.Name
		default:
			return ""
		}
	}
}

// checkDocumented reports aliases, and exported fields and results whose type is of another
// package of this module.
func checkDocumented(t *testing.T, file string, decl ast.Decl) {
	t.Helper()
	checkType := func(name string, node ast.Node) {
		ast.Inspect(node, func(n ast.Node) bool {
			selector, ok := n.(*ast.SelectorExpr)
			if !ok {
				return true
			}
			pkg, ok := selector.X.(*ast.Ident)
			if ok && strings.Contains(
				" session format plan engine option device input output safely ",
				" "+pkg.Name+" ",
			) {
				t.Errorf("%s: %s shows %s.%s: it may change, and go doc does not explain it", file, name, pkg.Name,
					selector.Sel.Name)
			}
			return true
		})
	}
	switch decl := decl.(type) {
	case *ast.FuncDecl:
		if decl.Name.IsExported() && (decl.Recv == nil || ast.IsExported(receiver(decl.Recv.List[0].Type))) {
			checkType(decl.Name.Name, decl.Type)
		}
	case *ast.GenDecl:
		for _, spec := range decl.Specs {
			typed, ok := spec.(*ast.TypeSpec)
			if !ok || !typed.Name.IsExported() {
				continue
			}
			if typed.Assign.IsValid() {
				t.Errorf("%s: %s is an alias: declare it", file, typed.Name.Name)
			}
			if fields, ok := typed.Type.(*ast.StructType); ok {
				for _, field := range fields.Fields.List {
					if len(field.Names) == 0 || field.Names[0].IsExported() {
						checkType(typed.Name.Name, field.Type)
					}
				}
			}
		}
	}
}
