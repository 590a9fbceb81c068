// Package systems only tests that extsort can be built for other systems. It is a module of its
// own, so that programs that import extsort do not depend on golang.org/x/tools/go/packages.
package systems

import (
	"os"
	"strings"
	"testing"

	"golang.org/x/tools/go/packages"
)

// TestOtherSystems type-checks all packages of extsort and their tests for other systems. It does
// so from source, because compiling them and their dependencies takes many times as long.
func TestOtherSystems(t *testing.T) {
	for _, system := range []string{"linux/arm64", "darwin/arm64", "windows/amd64"} {
		t.Run(system, func(t *testing.T) {
			goos, goarch, _ := strings.Cut(system, "/")
			all, err := packages.Load(&packages.Config{
				Mode:  packages.LoadAllSyntax,
				Dir:   "../../..",
				Tests: true,
				Env:   append(os.Environ(), "CGO_ENABLED=0", "GOOS="+goos, "GOARCH="+goarch),
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
