package measured

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestFiles stores a value, replaces it and removes it, and looks for the names of files.
func TestFiles(t *testing.T) {
	folder := t.TempDir()
	for _, name := range []string{"XDG_CACHE_HOME", "HOME", "LocalAppData"} {
		t.Setenv(name, folder)
	}
	name, err := Path("Fast/GPU 9000 "+strings.Repeat("x", 100), "driver 1")
	if err != nil {
		t.Fatal(err)
	}
	if other, _ := Path("Fast/GPU 9000 "+strings.Repeat("x", 100), "driver 2"); other == name {
		t.Error("measurements by another driver are in the same file")
	}
	base := filepath.Base(name)
	if !strings.HasPrefix(base, "Fast-GPU-9000-x") || len(base) > maxPlain+len("-12345678.json") {
		t.Errorf("the file is called %s", base)
	}

	for _, value := range []int{1, 2} {
		if err := Save(name, value); err != nil {
			t.Fatal(err)
		}
	}
	content, err := os.ReadFile(name)
	if err != nil || string(content) != "2\n" {
		t.Errorf("the file contains %q: %v", content, err)
	}
	if entries, err := os.ReadDir(filepath.Dir(name)); err != nil || len(entries) != 1 {
		t.Errorf("the directory has %d files: %v", len(entries), err)
	}
	for _, want := range []string{name, ""} {
		if removed, err := Remove(name); removed != want || err != nil {
			t.Errorf("removed %q, want %q: %v", removed, want, err)
		}
	}
	if err := Save(name, func() {}); err == nil {
		t.Error("a function was stored")
	}
}
