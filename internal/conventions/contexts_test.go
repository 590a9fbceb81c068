package conventions

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// withoutContext are the folders whose code may begin a context of its own: commands, and what only tests use.
var withoutContext = []string{"cmd", "device/devicetest", "internal/soak"}

// TestContexts holds that the library does nothing behind the back of the caller's context: a run that is cancelled
// ends in every phase.
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
