package conventions

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// withoutContext lists directories whose code may create contexts: commands and test tools.
var withoutContext = []string{"cmd", "columns/cmd", "device/devicetest", "internal/soak"}

// TestContexts checks that the library uses the caller's context everywhere, so that cancellation
// works in every phase.
func TestContexts(t *testing.T) {
	root := filepath.Join("..", "..")
	err := filepath.WalkDir(root, func(name string, entry fs.DirEntry, err error) error {
		folder, _ := filepath.Rel(root, name)
		for _, exempt := range append(withoutContext, ".git") {
			if err == nil && entry.IsDir() && folder == exempt {
				return filepath.SkipDir
			}
		}
		if err != nil || filepath.Ext(name) != ".go" || strings.HasSuffix(name, "_test.go") {
			return err
		}
		text, err := os.ReadFile(name)
		for _, call := range []string{"context.Background()", "context.TODO()"} {
			if strings.Contains(string(text), call) {
				t.Errorf("%s has %s: take the context of the caller", folder, call)
			}
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}
}
