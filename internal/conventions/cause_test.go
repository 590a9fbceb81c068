package conventions

import (
	"go/ast"
	"go/parser"
	"go/token"
	"testing"
)

// TestCancellationCause checks that a cancelled call returns the cause of the cancellation:
// ctx.Err() is only compared, never returned. context.Cause(ctx) is the error that the caller of
// the library gave to its context.
func TestCancellationCause(t *testing.T) {
	compared := 0
	for _, f := range goFiles(t) {
		if f.isTest() || f.folder == "internal/soak" {
			continue
		}
		comparisons := map[ast.Node]bool{}
		ast.Inspect(f.parse(t, parser.SkipObjectResolution), func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.BinaryExpr:
				if n.Op == token.EQL || n.Op == token.NEQ {
					comparisons[n.X] = true
				}
			case *ast.CallExpr:
				if !isContextErr(n) {
					break
				}
				if !comparisons[n] {
					t.Errorf("%s/%s returns ctx.Err(): use context.Cause(ctx)", f.folder, f.name)
				}
				compared++
			}
			return true
		})
	}
	if compared < 5 {
		t.Errorf("only %d comparisons with ctx.Err() were seen", compared)
	}
}

// isContextErr reports whether a call is ctx.Err() or x.ctx.Err().
func isContextErr(call *ast.CallExpr) bool {
	method, ok := call.Fun.(*ast.SelectorExpr)
	if !ok || method.Sel.Name != "Err" {
		return false
	}
	switch of := method.X.(type) {
	case *ast.Ident:
		return of.Name == "ctx"
	case *ast.SelectorExpr:
		return of.Sel.Name == "ctx"
	}
	return false
}
