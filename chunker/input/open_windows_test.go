package input

import (
	"os"
	"path/filepath"
	"testing"
)

// TestOpenFilesCanBeRenamed renames a file while it is open as an input.
func TestOpenFilesCanBeRenamed(t *testing.T) {
	name := filepath.Join(t.TempDir(), "keys")
	if err := os.WriteFile(name, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	file, err := openRegular(name)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(name, name+".old"); err != nil {
		t.Errorf("rename of an open input: %v", err)
	}
	if err := file.Close(); err != nil {
		t.Error(err)
	}
}
