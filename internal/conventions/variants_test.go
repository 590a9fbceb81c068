package conventions

import (
	"go/ast"
	"go/token"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/extsort/extsort/chunker/plan"
	"github.com/extsort/extsort/device"
	"github.com/extsort/extsort/format"
	"github.com/extsort/extsort/internal/drivers"
	"github.com/extsort/extsort/internal/testfiles"
)

// variants describes a table of variants whose names only a few files may compare. All other code
// asks for a property of a row, so a new variant needs no change there.
type variants struct {
	kind  string   // of one variant
	names []string // of the rows
	texts []string // string literals that name a variant
	ask   string   // the file with the properties
	tools []string // packages that may compare names, because they only test or measure
	own   []string // files that may: the table and the files of variants

	// ownFolder is the folder with the own file of each variant, NAME.go, which may name it. If it
	// is not "", all other files may not assign the constants either.
	ownFolder string

	// constants maps each folder whose package declares the constants of the variants to the name
	// of that package. The name of a constant is that of its variant, with one of affixes before or
	// after it or without.
	constants map[string]string
	affixes   []string
}

var tablesOfVariants = []variants{
	{
		kind:  "container",
		names: format.ContainerNames(),
		texts: format.ContainerNames(),
		ask:   "format/container.go",
		tools: []string{"device/devicetest"}, // a layout of its records is called gensort
	},
	{
		kind:      "codec",
		names:     codecNames(),
		texts:     append(codecNames(), codecAliases()...),
		ask:       "format/codec.go",
		tools:     []string{"cmd/compare", "device/bench/...", "internal/soak", "internal/powerloss"},
		own:       []string{"format/codec.go"},
		constants: map[string]string{"format": "format"},
	},
	{
		kind:      "strategy",
		names:     strategyNames(),
		ask:       "chunker/plan/strategy.go",
		tools:     []string{"cmd/compare", "internal/soak"},
		own:       []string{"internal/engine/strategies.go", "internal/session/options.go"},
		ownFolder: "chunker/plan",
		constants: map[string]string{"chunker/plan": "plan", "internal/session": "session", ".": "extsort"},
		affixes:   []string{"Strategy", "Runs"},
	},
	{
		kind:  "driver",
		names: driverNames(),
		texts: driverNames(),
		ask:   "device/device.go",
		tools: []string{"device/cpu/...", "device/opencl/...", "cmd/compare", "internal/soak"},
	},
	{
		kind:      "kind of device",
		names:     kindsOfDevices,
		texts:     kindsOfDevices,
		ask:       "device/device.go",
		tools:     []string{"device/cpu/...", "device/opencl/...", "cmd/compare", "internal/soak"},
		own:       []string{"internal/drivers/drivers.go"},
		constants: map[string]string{"device": "device"},
	},
}

var kindsOfDevices = []string{
	string(device.CPU),
	string(device.GPU),
	string(device.Accelerator),
	string(device.OpenCLCPU),
}

// driverNames returns the names of the drivers. The folder of each has the same name.
func driverNames() (names []string) {
	for _, driver := range drivers.Table {
		names = append(names, driver.Name())
	}
	return names
}

// codecNames returns the names of all codecs but none.
func codecNames() []string {
	all := slices.Concat(format.Decompressions(), format.BlockCompressions())
	return slices.DeleteFunc(all, func(name string) bool { return name == "none" || name == "auto" })
}

// codecAliases returns the other names of codecs.
func codecAliases() []string {
	return slices.DeleteFunc(format.Compressions(), func(name string) bool {
		return name == "none" || slices.Contains(codecNames(), name)
	})
}

func strategyNames() (all []string) {
	for _, row := range plan.Strategies {
		all = append(all, string(row.Name))
	}
	return all
}

// TestVariantsAreRows searches all product files for comparisons with the name of a variant.
func TestVariantsAreRows(t *testing.T) {
	files := productFiles(t)
	for _, v := range tablesOfVariants {
		t.Run(v.kind, func(t *testing.T) {
			for _, f := range files {
				if !v.mayCompare(f.goFile) {
					for _, name := range v.comparedIn(f.syntax, f.folder) {
						t.Errorf("%s/%s compares something with the %s %s: ask %s for a property",
							f.folder, f.name, v.kind, name, v.ask)
					}
					for _, name := range v.assignedIn(f.syntax, f.folder) {
						if !v.isOwnFile(f.goFile, name) {
							t.Errorf("%s/%s assigns the %s %s: ask %s for a property, or follow the plan",
								f.folder, f.name, v.kind, name, v.ask)
						}
					}
				}
			}
		})
	}
}

// TestConstantsOfVariants checks that the search knows the constant of each variant.
func TestConstantsOfVariants(t *testing.T) {
	files := productFiles(t)
	for _, v := range tablesOfVariants {
		for folder := range v.constants {
			var declared []string
			for _, f := range files {
				if f.folder == folder {
					declared = append(declared, constantsOf(f.syntax)...)
				}
			}
			for _, name := range v.names {
				isDeclared := func(constant string) bool { return v.ofConstant(constant) == name }
				if !slices.ContainsFunc(declared, isDeclared) {
					t.Errorf("package %s declares no constant of the %s %s", folder, v.kind, name)
				}
			}
		}
	}
}

// parsedFile is a file with its syntax.
type parsedFile struct {
	goFile
	syntax *ast.File
}

// productFiles parses all files but tests.
func productFiles(t *testing.T) (files []parsedFile) {
	t.Helper()
	for _, f := range goFiles(t) {
		if !f.isTest() {
			files = append(files, parsedFile{f, f.parse(t, 0)})
		}
	}
	if len(files) < 100 {
		t.Fatalf("only %d files were found", len(files))
	}
	return files
}

// mayCompare reports whether a file may compare names.
func (v *variants) mayCompare(f goFile) bool {
	return matchesAny(v.tools, f.folder) || slices.Contains(v.own, f.folder+"/"+f.name)
}

// comparedIn returns the variants that a file in a folder compares something with.
func (v *variants) comparedIn(file *ast.File, folder string) (found []string) {
	for node := range ast.Preorder(file) {
		for _, operand := range comparedWith(node) {
			if name := v.named(operand, folder); name != "" {
				found = append(found, name)
			}
		}
	}
	return found
}

// assignedIn returns the variants that a file in a folder assigns to something, if this is not
// allowed.
func (v *variants) assignedIn(file *ast.File, folder string) (found []string) {
	if v.ownFolder == "" {
		return nil
	}
	for node := range ast.Preorder(file) {
		for _, value := range assigned(node) {
			if name := v.named(value, folder); name != "" {
				found = append(found, name)
			}
		}
	}
	return found
}

// isOwnFile reports whether a file is the own file of a variant.
func (v *variants) isOwnFile(f goFile, variant string) bool {
	return f.folder == v.ownFolder && f.name == strings.ReplaceAll(variant, "-", "")+".go"
}

// named returns the variant that an expression in a folder names by its text or its constant, or
// "".
func (v *variants) named(operand ast.Expr, folder string) string {
	switch e := operand.(type) {
	case *ast.BasicLit:
		text, _ := strconv.Unquote(e.Value) // numbers name no variant
		if slices.Contains(v.texts, text) {
			return text
		}
	case *ast.Ident:
		if v.constants[folder] != "" {
			return v.ofConstant(e.Name)
		}
	case *ast.SelectorExpr:
		from, ok := e.X.(*ast.Ident)
		for _, name := range v.constants {
			if ok && from.Name == name {
				return v.ofConstant(e.Sel.Name)
			}
		}
	}
	return ""
}

// ofConstant returns the variant whose constant has a name, or "".
func (v *variants) ofConstant(constant string) string {
	if !ast.IsExported(constant) {
		return ""
	}
	for _, affix := range v.affixes {
		constant = strings.TrimSuffix(strings.TrimPrefix(constant, affix), affix)
	}
	for _, name := range v.names {
		if strings.EqualFold(strings.ReplaceAll(name, "-", ""), constant) {
			return name
		}
	}
	return ""
}

// constantsOf returns the names of the constants that a file declares.
func constantsOf(file *ast.File) (names []string) {
	for _, declaration := range file.Decls {
		group, ok := declaration.(*ast.GenDecl)
		if !ok || group.Tok != token.CONST {
			continue
		}
		for _, spec := range group.Specs {
			for _, name := range spec.(*ast.ValueSpec).Names {
				names = append(names, name.Name)
			}
		}
	}
	return names
}

// assigned returns the expressions that a node gives to something: by an assignment, a declaration,
// a field or an element of a literal, a return or a send.
func assigned(node ast.Node) []ast.Expr {
	switch n := node.(type) {
	case *ast.AssignStmt:
		return n.Rhs
	case *ast.ValueSpec:
		return n.Values
	case *ast.CompositeLit:
		return valuesOf(n)
	case *ast.ReturnStmt:
		return n.Results
	case *ast.SendStmt:
		return []ast.Expr{n.Value}
	case *ast.CallExpr:
		return n.Args
	}
	return nil
}

// valuesOf returns the elements of a literal, without their keys.
func valuesOf(literal *ast.CompositeLit) (values []ast.Expr) {
	for _, element := range literal.Elts {
		if pair, ok := element.(*ast.KeyValueExpr); ok {
			values = append(values, pair.Value)
		} else {
			values = append(values, element)
		}
	}
	return values
}

// comparedWith returns the expressions that a node compares something with: the operands of == and
// !=, the cases of a switch, the keys of a map or an array, and the arguments of functions that
// compare.
func comparedWith(node ast.Node) []ast.Expr {
	switch n := node.(type) {
	case *ast.BinaryExpr:
		if n.Op == token.EQL || n.Op == token.NEQ {
			return []ast.Expr{n.X, n.Y}
		}
	case *ast.CaseClause:
		return n.List
	case *ast.CompositeLit:
		return keysOf(n)
	case *ast.CallExpr:
		if comparing(n.Fun) {
			return withElements(n.Args)
		}
	}
	return nil
}

// keysOf returns the keys of a map or an array. An identifier in a literal of another type is the
// field of a struct.
func keysOf(literal *ast.CompositeLit) (keys []ast.Expr) {
	isStruct := true
	switch literal.Type.(type) {
	case *ast.MapType, *ast.ArrayType:
		isStruct = false
	}
	for _, element := range literal.Elts {
		pair, ok := element.(*ast.KeyValueExpr)
		if !ok {
			continue
		}
		if _, isIdent := pair.Key.(*ast.Ident); !isIdent || !isStruct {
			keys = append(keys, pair.Key)
		}
	}
	return keys
}

// withElements returns expressions and the elements of the lists among them.
func withElements(list []ast.Expr) []ast.Expr {
	all := slices.Clone(list)
	for _, e := range list {
		if literal, ok := e.(*ast.CompositeLit); ok {
			all = append(all, literal.Elts...)
		}
	}
	return all
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

// TestComparisonsWithVariantsAreFound searches code with each kind of comparison.
func TestComparisonsWithVariantsAreFound(t *testing.T) {
	code := testfiles.Read(t, "testdata/variants.go.txt")
	file := goFile{folder: "format", name: "p.go", text: string(code)}.parse(t, 0)
	want := map[string]string{
		"container": "bvecs fbin fvecs i8bin ibin ivecs npy npz u8bin",
		"codec":     "bzip2 delta gzip lz4 s2 zstd",
		"strategy":  "copy merge partition reread sift spread",
		"driver":    "opencl",

		"kind of device": "gpu opencl-cpu",
	}
	wantAssigned := map[string]string{"strategy": "copy in-core merge partition reread sift spread"}
	for _, v := range tablesOfVariants {
		got := v.comparedIn(file, "format")
		slices.Sort(got)
		if strings.Join(got, " ") != want[v.kind] {
			t.Errorf("%s: found %q, want %q", v.kind, got, want[v.kind])
		}
		got = v.assignedIn(file, "format")
		slices.Sort(got)
		got = slices.Compact(got)
		if strings.Join(got, " ") != wantAssigned[v.kind] {
			t.Errorf("%s: assigned %q, want %q", v.kind, got, wantAssigned[v.kind])
		}
	}
}
