package devicetest

import (
	"os/exec"
	"path/filepath"
	"testing"
)

// Library compiles a libOpenCL that a test loads instead of the real one. It skips the test if
// there is no compiler.
func Library(t *testing.T, source string, flags ...string) (name string) {
	t.Helper()
	compiler, err := exec.LookPath("gcc")
	if err != nil {
		t.Skip("no C compiler: ", err)
	}
	if source, err = filepath.Abs(source); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(
		compiler,
		append(
			[]string{"-shared", "-fPIC", "-O1", "-Wall", "-Werror", source},
			flags...,
		)...,
	)
	cmd.Dir = t.TempDir() // for the compiler's a.out
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("compile %s: %v\n%s", source, err, out)
	}
	return filepath.Join(cmd.Dir, "a.out")
}
