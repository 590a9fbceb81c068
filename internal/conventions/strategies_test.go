package conventions

import (
	"go/ast"
	"slices"
	"testing"

	"github.com/extsort/extsort/chunker/plan"
)

// strategyFiles are the files of each folder that may compare names: those of one strategy, and the engine's table.
var strategyFiles = map[string][]string{
	"chunker/plan":    {"copy.go", "incore.go", "merge.go", "partition.go", "reread.go", "sift.go", "spread.go"},
	"internal/engine": {"strategies.go"},
}

// TestStrategiesAreRows searches all product files for comparisons with the name of a strategy. A strategy is a row of
// plan.Strategies, and everything else asks for a property of the row.
func TestStrategiesAreRows(t *testing.T) {
	tools := []string{"cmd/compare", "internal/soak"}
	checked := 0
	for _, f := range goFiles(t) {
		isOwn := slices.Contains(strategyFiles[f.folder], f.name)
		if f.isTest() || isOwn || slices.Contains(tools, f.folder) {
			continue
		}
		checked++
		for node := range ast.Preorder(f.parse(t, 0)) {
			for _, name := range comparedStrategies(node, f.folder) {
				t.Errorf("%s/%s: compares with the strategy %s: ask for a property of its row in chunker/plan/strategy.go",
					f.folder, f.name, name)
			}
		}
	}
	if checked < 100 {
		t.Errorf("%d files were searched: where is the rest?", checked)
	}
}

// strategyConstants are the constants of strategies, by the folder that declares them.
var strategyConstants = map[string][]string{
	"chunker/plan":     {"Merge", "Partition", "Spread", "Reread", "InCore", "Copy", "Sift"},
	"internal/session": {"MergeRuns", "Partition", "Spread", "Reread", "InCore", "Copy", "Sift"},
	".":                {"MergeRuns", "Partition", "Spread", "Reread", "InCore", "Copy", "Sift"},
}

// comparedStrategies returns the strategies that a node compares something with, by their constants: operands of == and
// !=, cases of a switch, keys of a map, and arguments of slices.Contains and the like.
func comparedStrategies(node ast.Node, folder string) (found []string) {
	operands := comparedWith(node)
	if call, ok := node.(*ast.CallExpr); ok && comparing(call.Fun) {
		for _, argument := range call.Args {
			operands = append(operands, argument)
			if list, ok := argument.(*ast.CompositeLit); ok {
				operands = append(operands, list.Elts...)
			}
		}
	}
	if _, ok := node.(*ast.KeyValueExpr); ok {
		operands = slices.DeleteFunc(operands, isIdent) // the field of a struct
	}
	for _, operand := range operands {
		switch e := operand.(type) {
		case *ast.Ident:
			if slices.Contains(strategyConstants[folder], e.Name) {
				found = append(found, e.Name)
			}
		case *ast.SelectorExpr:
			from, _ := e.X.(*ast.Ident)
			owners := map[string]string{"plan": "chunker/plan", "session": "internal/session", "extsort": "."}
			if from != nil && slices.Contains(strategyConstants[owners[from.Name]], e.Sel.Name) {
				found = append(found, e.Sel.Name)
			}
		}
	}
	return found
}

func isIdent(e ast.Expr) bool {
	_, ok := e.(*ast.Ident)
	return ok
}

// TestComparisonsWithStrategiesAreFound gives comparedStrategies each kind of comparison, and names every strategy of
// the table in strategyConstants.
func TestComparisonsWithStrategiesAreFound(t *testing.T) {
	const code = `package p
func f() {
	if s == plan.Merge || session.Reread != s || s == plan.Auto { }
	switch s { case plan.Copy: }
	_ = slices.Contains([]plan.Strategy{plan.Sift, plan.Spread}, s)
	_ = []plan.Strategy{plan.Partition}
	_ = map[plan.Strategy]int{plan.Partition: 1}
	s = plan.InCore
}`
	var found []string
	for node := range ast.Preorder(goFile{folder: "internal/engine", name: "p.go", text: code}.parse(t, 0)) {
		found = append(found, comparedStrategies(node, "internal/engine")...)
	}
	slices.Sort(found)
	if want := []string{"Copy", "Merge", "Partition", "Reread", "Sift", "Spread"}; !slices.Equal(found, want) {
		t.Errorf("found %q, want %q", found, want)
	}
	for folder, names := range strategyConstants {
		if len(names) != len(plan.Strategies) {
			t.Errorf("%s: %d constants are searched for, there are %d strategies", folder, len(names), len(plan.Strategies))
		}
	}
}
