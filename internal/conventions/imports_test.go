package conventions

import (
	"go/parser"
	"maps"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// layers lists the layers from the bottom up. A package imports only packages of its own layer
// and of the layers below.
var layers = []string{"format", "device", "chunker", "merge", "engine", "session", "root", "cmd"}

// packageLayers maps every package to its layer, as testdata/layers.txt lists them.
var packageLayers = readLayers()

func readLayers() map[string]string {
	rows, err := readTable("layers.txt")
	if err != nil {
		panic(err)
	}
	all := map[string]string{}
	for _, row := range rows {
		all[row[0]] = row[1]
	}
	return all
}

// devices lists the packages of devices, each with all packages below it, without tools and
// memory.
var devices = func() (all []string) {
	for folder := range packageLayers {
		name, below := strings.CutPrefix(folder, "device/")
		isTool := slices.Contains([]string{"arena", "bench", "devicetest", "tune"}, name)
		if below && !strings.Contains(name, "/") && !isTool {
			all = append(all, folder+"/...")
		}
	}
	return all
}()

// deviceOf returns the device that a directory belongs to, or "".
func deviceOf(folder string) string {
	for _, device := range devices {
		if matches(device, folder) {
			return device
		}
	}
	return ""
}

// never lists forbidden imports that the layers alone would allow. "dir/..." is dir and all
// directories below it.
var never = []struct {
	from, to, except []string
	reason           string
}{
	{
		from: []string{"chunker/plan"},
		to: []string{modulePath + "/...",
			"os/...", "io/...", "net/...", "syscall", "unsafe", "runtime/...", "golang.org/..."},
		except: []string{modulePath + "/format", modulePath + "/internal/filename", modulePath + "/internal/human",
			modulePath + "/internal/option"},
		reason: "a plan is pure and made of facts",
	},
	{
		from:   []string{"device"},
		to:     []string{modulePath + "/device/..."},
		reason: "the contract knows no device",
	},
	{
		from: append(
			[]string{"device", "chunker/...", "merge/...", "internal/engine", "internal/session", "."},
			devices...,
		),
		to: []string{modulePath + "/device/bench/...", modulePath + "/device/tune", modulePath + "/device/devicetest",
			modulePath + "/format/formattest",
			modulePath + "/internal/remote/remotetest", modulePath + "/internal/sorttest",
			modulePath + "/internal/testfiles", modulePath + "/internal/testrows"},
		reason: "tools are no part of a sort",
	},
	{
		from:   []string{"internal/soak", "internal/dist/simulate"},
		to:     []string{modulePath + "/..."},
		except: []string{modulePath + "/internal/human"},
		reason: "an oracle shares no code with what it judges",
	},
	{
		from:   []string{"..."},
		to:     forTheCommand,
		except: []string{"cmd/extsort", "cmd/compare", "internal/soak", "columns/cmd/extsort-columns"},
		reason: "flags and bars are the command's: a program that sorts by the library has its own",
	},
	{
		from:   []string{"..."},
		to:     []string{"gonum.org/..."},
		except: []string{"cmd/compare"},
		reason: "too large for what everybody installs",
	},
	{
		from:   []string{"..."},
		to:     []string{modulePath},
		except: []string{"lookup", "sets", "columns", "columns/cmd/extsort-columns"}, // they are for other programs as well
		reason: "the root is for other programs: import internal/session",
	},
}

// forTheCommand lists modules that no package used by the library may import.
var forTheCommand = []string{"github.com/spf13/...", "github.com/schollz/..."}

// notForTheLibrary lists packages that only some programs need. For example, object stores are a
// separate import.
var notForTheLibrary = []string{
	"gonum.org/...", modulePath + "/device/bench/plot", "net/http", "github.com/minio/...", modulePath + "/remote/...",
	"github.com/andybalholm/...",
}

// TestLibraryLinksNothingOfTheCommand checks direct and indirect imports.
func TestLibraryLinksNothingOfTheCommand(t *testing.T) {
	goFiles(t) // go test runs this again when one of them has changed
	linked := goList(t, runtime.GOOS, "-deps", "-tags", "opencl", ".")
	if _, ok := linked[modulePath+"/internal/engine"]; !ok {
		t.Fatal("what the library links was not found")
	}
	for name := range linked {
		if matchesAny(append(forTheCommand, notForTheLibrary...), name) {
			t.Errorf("the library links %s", name)
		}
	}
}

// mostModules is the maximum number of other modules that a program needs to use the library.
const mostModules = 16

// TestLibraryNeedsFewModules counts the modules whose packages the library imports on any system
// or with the tag opencl. "go mod tidy" adds them to the go.mod of a program that imports the
// library.
func TestLibraryNeedsFewModules(t *testing.T) {
	goFiles(t) // go test runs this again when one of them has changed
	needed := map[string]bool{}
	for _, system := range []string{"linux", "darwin", "windows"} {
		format := "{{with .Module}}{{if not .Main}}{{.Path}}{{end}}{{end}}"
		for name := range goList(t, system, "-deps", "-tags", "opencl", "-f", format, ".") {
			needed[name] = true
		}
	}
	delete(needed, "") // the standard library and this module
	if len(needed) == 0 || len(needed) > mostModules {
		t.Errorf("a program that sorts needs %d modules, at most %d are allowed: %s",
			len(needed), mostModules, slices.Sorted(maps.Keys(needed)))
	} else {
		t.Logf("a program that sorts needs %d modules", len(needed))
	}
}

// knownImports lists existing violations. Remove a row when its violation disappears.
var knownImports = map[string]string{
	"chunker imports device/cpu/radix": "a partition appends as a device does",
}

func matches(pattern, name string) bool {
	dir, below := strings.CutSuffix(pattern, "...")
	dir = strings.TrimSuffix(dir, "/")
	return name == dir || below && (dir == "" || strings.HasPrefix(name, dir+"/"))
}

func matchesAny(patterns []string, name string) bool {
	return slices.ContainsFunc(patterns, func(p string) bool { return matches(p, name) })
}

// layerOf returns the index of a package's layer, or -1.
func layerOf(folder string) int { return slices.Index(layers, packageLayers[folder]) }

// folderOf returns the directory of a package of this module.
func folderOf(importPath string) (folder string, ours bool) {
	if importPath == modulePath {
		return ".", true
	}
	return strings.CutPrefix(importPath, modulePath+"/")
}

// TestImports checks the imports of every file.
func TestImports(t *testing.T) {
	table(t, "layers.txt") // go test runs this again when the file has changed
	seen, known := map[string]bool{}, map[string]bool{}
	for _, f := range goFiles(t) {
		if f.isTest() {
			continue
		}
		if !seen[f.folder] && layerOf(f.folder) < 0 {
			t.Errorf("package %s has no layer: add it to testdata/layers.txt", f.folder)
		}
		seen[f.folder] = true
		for _, spec := range f.parse(t, parser.ImportsOnly).Imports {
			name, err := strconv.Unquote(spec.Path.Value)
			if err != nil {
				t.Fatal(err)
			}
			to, _ := folderOf(name)
			fault, reason := f.folder+" imports "+to, forbidden(f.folder, name)
			if _, ok := knownImports[fault]; ok && reason != "" {
				known[fault] = true
			} else if reason != "" {
				t.Errorf("%s/%s: %s: %s", f.folder, f.name, fault, reason)
			}
		}
	}
	for fault := range knownImports {
		if !known[fault] {
			t.Errorf("%q stands no longer: take it from the exceptions", fault)
		}
	}
	for folder := range packageLayers {
		if !seen[folder] {
			t.Errorf("there is no package %s: take it from testdata/layers.txt", folder)
		}
	}
}

// forbidden returns the reason why a package may not import another one, or "" if it may.
func forbidden(from, name string) string {
	to, ours := folderOf(name)
	if ours && layerOf(from) >= 0 && layerOf(to) > layerOf(from) {
		return layers[layerOf(to)] + " comes after " + layers[layerOf(from)]
	}
	switch device := deviceOf(from); {
	case deviceOf(to) == "" || deviceOf(to) == device:
	case device != "":
		return "devices do not know each other"
	case matchesAny([]string{"chunker/...", "merge/..."}, from):
		return "chunks are asked by their contract"
	}
	for _, n := range never {
		excepted := slices.Contains(n.except, name) || slices.Contains(n.except, from)
		if matchesAny(n.from, from) && matchesAny(n.to, name) && !excepted {
			return n.reason
		}
	}
	return ""
}

// TestForbidden checks that forbidden rejects imports in the wrong direction and accepts the
// others.
func TestForbidden(t *testing.T) {
	for _, row := range table(t, "imports.txt") {
		to := row[1]
		if below, ours := strings.CutPrefix(to, "."); ours {
			to = modulePath + below
		}
		if reason := forbidden(row[0], to); (reason != "") != (row[2] == "no") {
			t.Errorf("%s imports %s: %q, want %s", row[0], to, reason, row[2])
		}
	}
}
