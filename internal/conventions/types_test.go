package conventions

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"go/ast"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

const (
	maxMethods = 30 // per type, including promoted methods
	maxFields  = 15 // of a struct that embeds another struct of this module
)

// knownTypes lists existing violations by type and rule. Remove a row when its violation
// disappears.
var knownTypes = map[string]bool{}

// listed is the output of go list for a package.
type listed struct {
	ImportPath, Dir, Export string
	GoFiles, CgoFiles       []string
	ImportMap               map[string]string
}

// listPackages returns the packages of the module and all their imports, compiled.
func listPackages(t *testing.T) map[string]*listed {
	t.Helper()
	fields := "-json=ImportPath,Dir,Export,GoFiles,CgoFiles,ImportMap"
	command := exec.Command("go", "list", "-export", "-deps", fields, "-tags", buildTags, "./...")
	command.Dir = root
	var complaints bytes.Buffer
	command.Stderr = &complaints
	out, err := command.Output()
	if err != nil {
		t.Fatalf("%v: %v\n%s", command, err, &complaints)
	}
	packages := map[string]*listed{}
	for decoder := json.NewDecoder(bytes.NewReader(out)); ; {
		var p listed
		if err := decoder.Decode(&p); errors.Is(err, io.EOF) {
			return packages
		} else if err != nil {
			t.Fatal(err)
		}
		packages[p.ImportPath] = &p
	}
}

// check type-checks a package of this module from source, with export data of its imports.
func (p *listed) check(t *testing.T, all map[string]*listed) *types.Package {
	t.Helper()
	set := token.NewFileSet()
	var files []*ast.File
	for _, name := range append(p.GoFiles, p.CgoFiles...) {
		file, err := parser.ParseFile(set, filepath.Join(p.Dir, name), nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, file)
	}
	lookup := func(name string) (io.ReadCloser, error) {
		if mapped, ok := p.ImportMap[name]; ok {
			name = mapped
		}
		if all[name] == nil || all[name].Export == "" {
			return nil, fmt.Errorf("no export data of %s", name)
		}
		return os.Open(all[name].Export)
	}
	config := types.Config{Importer: importer.ForCompiler(set, "gc", lookup), FakeImportC: true}
	checked, err := config.Check(p.ImportPath, set, files, nil)
	if err != nil {
		t.Fatal(err)
	}
	return checked
}

// TestTypesAreSmall checks the number of methods and fields of types.
func TestTypesAreSmall(t *testing.T) {
	goFiles(t) // go test runs this again when one of them has changed
	all, found, seen := listPackages(t), map[string]bool{}, 0
	for name, p := range all {
		if _, ours := folderOf(name); !ours || len(p.GoFiles)+len(p.CgoFiles) == 0 {
			continue
		}
		checked := p.check(t, all)
		for _, name := range checked.Scope().Names() {
			object, ok := checked.Scope().Lookup(name).(*types.TypeName)
			if !ok || object.IsAlias() {
				continue
			}
			seen++
			for _, fault := range typeFaults(object.Type()) {
				found[fault.rule] = true
				if !knownTypes[fault.rule] {
					t.Errorf("%s: %s", fault.rule, fault.why)
				}
			}
		}
	}
	for rule := range knownTypes {
		if !found[rule] && (buildTags != "" || !strings.HasPrefix(rule, "device/opencl")) {
			t.Errorf("%q stands no longer: take it from the exceptions", rule)
		}
	}
	if seen < 200 {
		t.Errorf("only %d types were seen", seen)
	}
}

type typeFault struct{ rule, why string }

func typeFaults(typ types.Type) []typeFault {
	var faults []typeFault
	name := shortName(typ)
	methods := types.NewMethodSet(typ).Len()
	if !types.IsInterface(typ) {
		methods = types.NewMethodSet(types.NewPointer(typ)).Len()
	}
	if methods > maxMethods {
		faults = append(faults, typeFault{name + " methods", fmt.Sprintf("%d, the most is %d", methods, maxMethods)})
	}
	structure, ok := typ.Underlying().(*types.Struct)
	if !ok {
		return faults
	}
	if embedded, n := embeddedOfOurs(structure), structure.NumFields(); embedded != "" && n > maxFields {
		why := fmt.Sprintf("%s, and has %d fields: the most is %d", embedded, n, maxFields)
		faults = append(faults, typeFault{name + " embeds", why})
	}
	return faults
}

// embeddedOfOurs returns the name of the first struct of this module that another one embeds.
func embeddedOfOurs(s *types.Struct) string {
	for field := range s.Fields() {
		named := namedOf(field.Type())
		if !field.Embedded() || named == nil || named.Obj().Pkg() == nil {
			continue
		}
		if _, ours := folderOf(named.Obj().Pkg().Path()); ours && isStruct(named) {
			return shortName(named)
		}
	}
	return ""
}

func isStruct(t types.Type) bool {
	_, ok := t.Underlying().(*types.Struct)
	return ok
}

func namedOf(t types.Type) *types.Named {
	if pointer, ok := types.Unalias(t).(*types.Pointer); ok {
		t = pointer.Elem()
	}
	named, _ := types.Unalias(t).(*types.Named)
	return named
}

func shortName(t types.Type) string {
	return types.TypeString(t, func(p *types.Package) string {
		return strings.TrimPrefix(strings.TrimPrefix(p.Path(), modulePath), "/")
	})
}
