package spill

import (
	"os"
	"testing"
)

// TestNothingIsLeft creates spill files and looks for them after they were closed. On Unix they
// have no name in the meantime, either.
func TestNothingIsLeft(t *testing.T) {
	folder := t.TempDir()
	for range 3 {
		file, err := Disk{}.Create(folder)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := file.WriteAt([]byte("spilled"), 1<<20); err != nil {
			t.Error(err)
		}
		if err := file.Close(); err != nil {
			t.Error(err)
		}
	}
	if left, err := os.ReadDir(folder); err != nil || len(left) != 0 {
		t.Errorf("left: %v, %v", left, err)
	}
}
