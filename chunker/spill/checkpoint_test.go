package spill

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
)

// TestManifestKeepsItsSpill: a checkpoint whose manifest cannot be removed stays as a whole, so that it can be gone on
// with. Here a folder that is not empty stands in the manifest's place.
func TestManifestKeepsItsSpill(t *testing.T) {
	folder := filepath.Join(t.TempDir(), "kept")
	c, err := OpenCheckpoint(folder, false)
	if err != nil {
		t.Fatal(err)
	}
	file, err := c.Create("")
	if err != nil {
		t.Fatal(err)
	}
	manifest := filepath.Join(folder, manifestName)
	err = errors.Join(file.Close(), os.Rename(manifest, manifest+"-of-before"),
		os.MkdirAll(filepath.Join(manifest, "x"), 0o700))
	if err != nil {
		t.Fatal(err)
	}
	if err := c.remove(); err == nil {
		t.Error("there is no error")
	}
	if _, err := os.Stat(filepath.Join(folder, spillPrefix+"0")); err != nil {
		t.Errorf("its spill is gone: %v", err)
	}
}
