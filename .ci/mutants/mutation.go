package main

import (
	"fmt"
	"go/ast"
	"go/build"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// A mutation is a source file with one change.
type mutation struct {
	folder, file string
	line         int
	kind         string
	before       string // the line that changes
	after        string // the line with the change
	source       []byte // the mutated file
}

func (m mutation) String() string {
	return fmt.Sprintf("%s:%d %s: %s\n   becomes %s", m.file, m.line, m.kind, m.before, m.after)
}

// findMutations returns all mutations of a package for this system, in the order of its sources.
func findMutations(folder string) ([]mutation, error) {
	pkg, err := build.ImportDir(folder, 0)
	if err != nil {
		return nil, err
	}
	var all []mutation
	for _, name := range pkg.GoFiles {
		found, err := mutationsOf(folder, filepath.Join(folder, name))
		if err != nil {
			return nil, err
		}
		all = append(all, found...)
	}
	return all, nil
}

// A finder collects the mutations of one file.
type finder struct {
	folder, name string
	source       []byte
	file         *token.File
	found        []mutation
}

func mutationsOf(folder, name string) ([]mutation, error) {
	source, err := os.ReadFile(name)
	if err != nil {
		return nil, err
	}
	files := token.NewFileSet()
	tree, err := parser.ParseFile(files, name, source, parser.SkipObjectResolution)
	if err != nil {
		return nil, err
	}
	f := &finder{folder: folder, name: name, source: source, file: files.File(tree.Pos())}
	for _, declaration := range tree.Decls {
		if function, ok := declaration.(*ast.FuncDecl); ok && function.Body != nil && function.Name.Name != "String" {
			ast.Inspect(function.Body, f.visit)
		}
	}
	return f.found, nil
}

// swapped are the operators that a mutation replaces.
var swapped = map[token.Token]struct{ kind, by string }{
	token.LSS:  {"compare", "<="},
	token.LEQ:  {"compare", "<"},
	token.GTR:  {"compare", ">="},
	token.GEQ:  {"compare", ">"},
	token.EQL:  {"compare", "!="},
	token.NEQ:  {"compare", "=="},
	token.LAND: {"compare", "||"},
	token.LOR:  {"compare", "&&"},
	token.ADD:  {"add", "-"},
	token.SUB:  {"add", "+"},
}

func (f *finder) visit(node ast.Node) bool {
	switch n := node.(type) {
	case *ast.BinaryExpr:
		if isNil(n.Y) {
			break // see visitIf
		}
		if s, ok := swapped[n.Op]; ok {
			end := n.OpPos + token.Pos(len(n.Op.String()))
			f.add(s.kind, n.OpPos, end, s.by)
		}
	case *ast.IfStmt:
		f.visitIf(n)
	case *ast.ExprStmt:
		f.add("drop", n.Pos(), n.End(), "")
	case *ast.IncDecStmt:
		f.add("drop", n.Pos(), n.End(), "")
	case *ast.AssignStmt:
		if n.Tok != token.DEFINE {
			f.add("drop", n.Pos(), n.End(), "")
		}
	}
	return true
}

func (f *finder) visitIf(n *ast.IfStmt) {
	condition := f.text(n.Cond)
	comparison, ok := n.Cond.(*ast.BinaryExpr)
	if ok && comparison.Op == token.NEQ && isNil(comparison.Y) && f.isError(comparison.X) {
		f.add("success", n.Cond.Pos(), n.Cond.End(), condition+" && false")
		return
	}
	f.add("skip", n.Cond.Pos(), n.Cond.End(), "("+condition+") && false")
	f.add("enter", n.Cond.Pos(), n.Cond.End(), "("+condition+") || true")
}

// isError reports whether an expression is an error, by its name.
func (f *finder) isError(e ast.Expr) bool {
	return strings.HasSuffix(strings.ToLower(f.text(e)), "err")
}

func isNil(e ast.Expr) bool {
	name, ok := e.(*ast.Ident)
	return ok && name.Name == "nil"
}

func (f *finder) text(n ast.Node) string {
	return string(f.source[f.file.Offset(n.Pos()):f.file.Offset(n.End())])
}

// add adds the mutation that replaces the text from one position to another.
func (f *finder) add(kind string, from, to token.Pos, by string) {
	start, end := f.file.Offset(from), f.file.Offset(to)
	mutated := slices.Concat(f.source[:start], []byte(by), f.source[end:])
	line := f.file.Line(from)
	f.found = append(f.found, mutation{
		folder: f.folder,
		file:   f.name,
		line:   line,
		kind:   kind,
		before: lineOf(f.source, line),
		after:  lineOf(mutated, line),
		source: mutated,
	})
}

// lineOf returns a line of a text, counted from 1.
func lineOf(text []byte, number int) string {
	return strings.TrimSpace(strings.Split(string(text), "\n")[number-1])
}
