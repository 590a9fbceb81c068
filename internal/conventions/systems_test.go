package conventions

import (
	"os"
	"strings"
	"testing"

	"golang.org/x/tools/go/packages"
)

// TestOtherSystems type-checks all packages and their tests for other systems, as EXTSORT_TEST_SYSTEMS names them, from
// source: to compile them and what they import takes many times as long.
func TestOtherSystems(t *testing.T) {
	systems := strings.Fields(os.Getenv("EXTSORT_TEST_SYSTEMS"))
	if len(systems) == 0 {
		t.Skip("set EXTSORT_TEST_SYSTEMS to systems, as linux/arm64 windows/amd64")
	}
	for _, system := range systems {
		t.Run(system, func(t *testing.T) {
			goos, goarch, _ := strings.Cut(system, "/")
			all, err := packages.Load(&packages.Config{
				Mode: packages.LoadAllSyntax, Dir: root, Tests: true,
				Env: append(os.Environ(), "CGO_ENABLED=0", "GOOS="+goos, "GOARCH="+goarch),
			}, "./...")
			if err != nil || len(all) < 50 {
				t.Fatalf("%d packages, %v", len(all), err)
			}
			for _, p := range all {
				for _, fault := range p.Errors {
					t.Error(fault)
				}
			}
		})
	}
}
