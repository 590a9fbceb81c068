package conventions

import (
	"go/ast"
	"go/parser"
	"slices"
	"strings"
	"testing"
)

// unguarded lists directories whose goroutines may panic: commands, which are separate processes,
// and test tools. The goroutines of columns recover from panics themselves, because that module
// does not use internal packages.
var unguarded = []string{
	"cmd", "columns", "device/devicetest", "internal/remote/remotetest", "internal/safely", "internal/soak",
}

// TestGoroutines checks that a panic in a goroutine of the library does not end the program that
// embeds it. Every goroutine must use package safely, which converts a panic to an error.
func TestGoroutines(t *testing.T) {
	goroutines := 0
	for _, f := range goFiles(t) {
		exempt := slices.ContainsFunc(unguarded, func(folder string) bool {
			return f.folder == folder || strings.HasPrefix(f.folder, folder+"/")
		})
		if exempt || f.isTest() {
			continue
		}
		file := f.parse(t, parser.SkipObjectResolution)
		for _, imported := range file.Imports {
			if imported.Path.Value == `"golang.org/x/sync/errgroup"` {
				t.Errorf("%s/%s imports errgroup: use safely.Group", f.folder, f.name)
			}
		}
		waitGroups := namesOfWaitGroups(file)
		ast.Inspect(file, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.GoStmt:
				goroutines++
				if !callsSafely(n.Call) {
					t.Errorf("%s/%s begins a goroutine that may panic: call safely.Call in it", f.folder, f.name)
				}
			case *ast.CallExpr:
				if startsWaitGroup(n, waitGroups) && !callsSafely(n) {
					t.Errorf(
						"%s/%s has a WaitGroup whose goroutine may panic: call safely.Call in it",
						f.folder,
						f.name,
					)
				}
			}
			return true
		})
	}
	if goroutines < 8 {
		t.Errorf("only %d goroutines were seen", goroutines)
	}
}

// callsSafely reports whether n contains a call of a function of package safely.
func callsSafely(n ast.Node) (found bool) {
	ast.Inspect(n, func(n ast.Node) bool {
		if called, ok := n.(*ast.SelectorExpr); ok {
			name, _ := called.X.(*ast.Ident)
			found = found || name != nil && name.Name == "safely"
		}
		return !found
	})
	return found
}

// namesOfWaitGroups returns the names of the variables and fields in a file that are a
// sync.WaitGroup.
func namesOfWaitGroups(file *ast.File) map[string]bool {
	names := map[string]bool{}
	note := func(typ ast.Expr, all []*ast.Ident) {
		selected, ok := typ.(*ast.SelectorExpr)
		if !ok || selected.Sel.Name != "WaitGroup" {
			return
		}
		for _, name := range all {
			names[name.Name] = true
		}
	}
	ast.Inspect(file, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.Field:
			note(n.Type, n.Names)
		case *ast.ValueSpec:
			note(n.Type, n.Names)
		}
		return true
	})
	return names
}

// startsWaitGroup reports whether a call is the method Go of one of the WaitGroups.
func startsWaitGroup(call *ast.CallExpr, waitGroups map[string]bool) bool {
	method, ok := call.Fun.(*ast.SelectorExpr)
	if !ok || method.Sel.Name != "Go" {
		return false
	}
	switch receiver := method.X.(type) {
	case *ast.Ident:
		return waitGroups[receiver.Name]
	case *ast.SelectorExpr:
		return waitGroups[receiver.Sel.Name]
	}
	return false
}
