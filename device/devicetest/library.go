package devicetest

import (
	"os"
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

// UsePoCL gives PoCL a constant memory limit in GiB. It also gives it a directory for compiled kernels
// unless POCL_CACHE_DIR is set: the tests of all packages share them, because compiling takes longer
// than the tests.
func UsePoCL(memoryLimit string) {
	os.Setenv("POCL_MEMORY_LIMIT", memoryLimit)
	cache, err := os.UserCacheDir()
	if err != nil || os.Getenv("POCL_CACHE_DIR") != "" {
		return
	}
	folder := filepath.Join(cache, "extsort-test", "pocl")
	if err := os.MkdirAll(folder, 0o700); err == nil {
		os.Setenv("POCL_CACHE_DIR", folder)
	}
}
