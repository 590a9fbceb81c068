package conventions

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/extsort/extsort/internal/testfiles"
)

// licenceMarks contains texts that identify a licence. A licence file must contain all texts of a
// row.
var licenceMarks = map[string][]string{
	"MIT":          {"Permission is hereby granted, free of charge"},
	"Apache-2.0":   {"Apache License", "Version 2.0, January 2004"},
	"BSD-2-Clause": {"Redistributions in binary form must reproduce"},
	"BSD-3-Clause": {"Redistributions in binary form must reproduce", "endorse or promote products"},
}

// TestLicences compares docs/licences.md with go.mod and with the licence files of the modules.
func TestLicences(t *testing.T) {
	// Including modules that only tools need, which may not have been downloaded yet.
	download := exec.Command("go", "mod", "download")
	if said, err := download.CombinedOutput(); err != nil {
		t.Fatalf("go mod download: %v: %s", err, said)
	}
	listed, inCommand := listedLicences(t), commandModules(t)
	for name, folder := range goList(t, runtime.GOOS, "-m", "-f", "{{if not .Main}}{{.Path}} {{.Dir}}{{end}}", "all") {
		row, ok := listed[name]
		if !ok {
			continue // not in go.mod
		}
		if folder == "" {
			t.Errorf("%s: not downloaded", name)
		} else if text := licenceOf(t, folder); !isLicence(text, row[0]) {
			t.Errorf("%s: docs/licences.md says %s, the module %.200q", name, row[0], text)
		}
		if want := row[1] == "command"; inCommand[name] != want {
			t.Errorf(
				"%s: docs/licences.md says that it is for %s; linked into a command: %v",
				name,
				row[1],
				inCommand[name],
			)
		}
	}
	checkColumnLicences(t, listed)
	required := regexp.MustCompile(`(?m)^\t([^\s]+\.[^\s]+) v`)
	content := testfiles.Read(t, filepath.Join(root, "go.mod"))
	for _, m := range required.FindAllStringSubmatch(string(content), -1) {
		if _, ok := listed[m[1]]; !ok {
			t.Errorf("docs/licences.md lacks %s", m[1])
		}
		delete(listed, m[1])
	}
	for name := range listed {
		t.Errorf("docs/licences.md has %s, go.mod has not", name)
	}
}

// checkColumnLicences checks the modules that are linked into extsort-columns, and removes its own
// from the list.
func checkColumnLicences(t *testing.T, listed map[string][2]string) {
	t.Helper()
	format := "{{with .Module}}{{if not (or .Main .Replace)}}{{.Path}} {{.Dir}}{{end}}{{end}}"
	linked := goList(t, runtime.GOOS, "-C", "columns", "-deps", "-f", format, "./cmd/...")
	for name, folder := range linked {
		row, ok := listed[name]
		switch {
		case name == "":
		case !ok:
			t.Errorf("docs/licences.md lacks %s of columns", name)
		case !isLicence(licenceOf(t, folder), row[0]):
			t.Errorf("%s: docs/licences.md says %s", name, row[0])
		}
	}
	for name, row := range listed {
		if row[1] != "columns" {
			continue
		}
		if _, ok := linked[name]; !ok {
			t.Errorf("docs/licences.md has %s, which extsort-columns does not link", name)
		}
		delete(listed, name)
	}
}

// listedLicences returns the rows of docs/licences.md: licence and use by module.
func listedLicences(t *testing.T) map[string][2]string {
	content := testfiles.Read(t, filepath.Join(root, "docs", "licences.md"))
	rows := map[string][2]string{}
	row := regexp.MustCompile(`(?m)^\| (\S+\.\S+/\S+) \| (\S+) \| (\S+) \|$`)
	for _, m := range row.FindAllStringSubmatch(string(content), -1) {
		rows[m[1]] = [2]string{m[2], m[3]}
	}
	return rows
}

// commandModules returns the modules that are linked into the command, on any system.
func commandModules(t *testing.T) map[string]bool {
	all := map[string]bool{}
	for _, system := range []string{"linux", "windows"} {
		format := "{{with .Module}}{{if not .Main}}{{.Path}}{{end}}{{end}}"
		for name := range goList(t, system, "-deps", "-tags", "opencl,s3", "-f", format, "./cmd/extsort") {
			all[name] = true
		}
	}
	return all
}

// goList runs go list, which prints lines that consist of a module and a value.
func goList(t *testing.T, system string, args ...string) map[string]string {
	t.Helper()
	command := exec.Command("go", append([]string{"list"}, args...)...)
	command.Dir = root
	command.Env = append(os.Environ(), "CGO_ENABLED=1", "GOOS="+system)
	out, err := command.Output()
	if err != nil {
		t.Fatalf("%v: %v", command, err)
	}
	found := map[string]string{}
	for line := range strings.Lines(string(out)) {
		name, rest, _ := strings.Cut(strings.TrimSpace(line), " ")
		found[name] = rest
	}
	return found
}

// licenceOf returns the text of a module's licence as one line.
func licenceOf(t *testing.T, folder string) string {
	t.Helper()
	for _, name := range []string{"LICENSE", "LICENSE.txt", "LICENSE.md", "COPYING"} {
		if text, err := os.ReadFile(filepath.Join(folder, name)); err == nil {
			return strings.Join(strings.Fields(string(text)), " ")
		}
	}
	return ""
}

// isLicence reports whether a text contains the marks of a licence. If two licences share these
// marks, it must be the shorter one.
func isLicence(text, licence string) bool {
	lacks := func(mark string) bool { return !strings.Contains(text, mark) }
	marks := licenceMarks[licence]
	known := len(marks) > 0 && !slices.ContainsFunc(marks, lacks)
	return known && (licence != "BSD-2-Clause" || lacks(licenceMarks["BSD-3-Clause"][1]))
}
