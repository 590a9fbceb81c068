package conventions

import (
	"go/ast"
	"slices"
	"strings"
	"testing"
)

// TestErrorsOfDriversStayInside searches all product files for the errors of a driver's package.
// Code outside of a driver's directory must use device.ErrFailed, which these errors wrap.
func TestErrorsOfDriversStayInside(t *testing.T) {
	for _, f := range productFiles(t) {
		below, ok := strings.CutPrefix(f.folder, "device/")
		if name, _, _ := strings.Cut(below, "/"); ok && slices.Contains(driverNames(), name) {
			continue
		}
		for _, name := range errorsOfDrivers(f.syntax) {
			t.Errorf("%s/%s names the error %s: ask for device.ErrFailed", f.folder, f.name, name)
		}
	}
}

// errorsOfDrivers returns the errors of drivers' packages that a file names.
func errorsOfDrivers(file *ast.File) (found []string) {
	for node := range ast.Preorder(file) {
		selector, ok := node.(*ast.SelectorExpr)
		if !ok || !strings.HasPrefix(selector.Sel.Name, "Err") {
			continue
		}
		if from, ok := selector.X.(*ast.Ident); ok && slices.Contains(driverNames(), from.Name) {
			found = append(found, from.Name+"."+selector.Sel.Name)
		}
	}
	return found
}

func TestErrorsOfDriversAreFound(t *testing.T) {
	const code = `package p
func f() bool { return errors.Is(err, opencl.ErrBuild) || err == cpu.ErrTired || err == device.ErrFailed }`
	got := errorsOfDrivers(goFile{folder: ".", name: "p.go", text: code}.parse(t, 0))
	if want := []string{"opencl.ErrBuild", "cpu.ErrTired"}; !slices.Equal(got, want) {
		t.Errorf("found %q, want %q", got, want)
	}
}
