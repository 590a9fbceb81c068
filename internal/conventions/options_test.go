package conventions

import (
	"go/ast"
	"slices"
	"strings"
	"testing"
)

// optionStays are the types that hold or translate the options of a sort on their way from the
// command line to the packages that use them, with the functions that they contain.
// docs/dev/architecture.md draws the way.
var optionStays = map[string][]string{
	"cmd/extsort.flagValues":        nil, // in a program, a Job takes its place
	"internal/session.Options":      {"Verified", "Warn"},
	"chunker/input.Kind":            nil,
	"device.OpenOptions":            nil,
	"chunker/plan.Request":          nil,
	"chunker/plan.Sizes":            nil,
	"internal/engine.OutputOptions": {"Fault", "Verified"},
	"chunker/spill.Options":         nil,
	"merge.Options":                 {"Combine", "Interrupt", "Mark", "Seen"},
	"merge/output.Options":          {"Fault", "Header", "InPlace", "Keep", "MostRecords", "Tail", "Warn"},
	"merge/output.FileOptions":      {"Complete", "Fault"},
	"device.ChunkOptions":           nil,
}

// maxOptionStays is the most types that may hold the options of a sort.
const maxOptionStays = 12

// otherOptions are the options of other calls, and options that contain only sizes from the plan.
var otherOptions = []string{"internal/session.CheckOptions", "internal/session.MergeOptions",
	"internal/session.SetOptions"}

// sortPackages are the packages that the options of a sort pass.
var sortPackages = []string{"internal/session", "internal/engine", "chunker", "chunker/plan", "chunker/input",
	"chunker/spill", "merge", "merge/output", "device"}

// TestWayOfOptions checks that options stay in few types, and that no package gets functions with
// its options by which it could ask a package above it for more, except those that are listed.
func TestWayOfOptions(t *testing.T) {
	if len(optionStays) > maxOptionStays {
		t.Errorf("the options of a sort stay in %d types, the most is %d", len(optionStays), maxOptionStays)
	}
	found := map[string]bool{}
	for _, f := range goFiles(t) {
		if f.isTest() {
			continue
		}
		for _, declaration := range f.parse(t, 0).Decls {
			for name, structure := range structsOf(declaration) {
				place := f.folder + "." + name
				found[place] = true
				functions, listed := optionStays[place]
				isOptions := strings.HasSuffix(name, "Options") && slices.Contains(sortPackages, f.folder)
				if isOptions && !listed && !slices.Contains(otherOptions, place) {
					t.Errorf("%s is another type for options: use a type of optionStays, or list it", place)
				}
				if got := callbacksOf(structure); listed && !slices.Equal(got, functions) {
					t.Errorf("%s contains the functions %v, want %v", place, got, functions)
				}
			}
		}
	}
	for place := range optionStays {
		if !found[place] {
			t.Errorf("there is no type %s: remove its row", place)
		}
	}
}

// structsOf returns the struct types that a declaration declares, by name.
func structsOf(declaration ast.Decl) map[string]*ast.StructType {
	structs := map[string]*ast.StructType{}
	general, ok := declaration.(*ast.GenDecl)
	if !ok {
		return structs
	}
	for _, spec := range general.Specs {
		if declared, ok := spec.(*ast.TypeSpec); ok {
			if structure, ok := declared.Type.(*ast.StructType); ok {
				structs[declared.Name.Name] = structure
			}
		}
	}
	return structs
}

// callbacksOf returns the names of the fields of a struct that are functions, sorted.
func callbacksOf(structure *ast.StructType) (names []string) {
	for _, field := range structure.Fields.List {
		if _, ok := field.Type.(*ast.FuncType); !ok {
			continue
		}
		for _, name := range field.Names {
			names = append(names, name.Name)
		}
	}
	slices.Sort(names)
	return names
}
