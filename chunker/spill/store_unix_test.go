//go:build unix

package spill

import (
	"bytes"
	"os"
	"testing"

	"github.com/extsort/extsort/format/formattest"
)

// TestDiskStore checks that a spill file is not visible in its directory and can release space.
func TestDiskStore(t *testing.T) {
	folder := t.TempDir()
	f, err := Disk{}.Create(folder)
	if err != nil {
		t.Fatal(err)
	}
	if names, err := os.ReadDir(folder); len(names) > 0 || err != nil {
		t.Errorf("in the folder: %v, %v", names, err)
	}
	if _, err := f.WriteAt(formattest.Numbered(0, 1<<17), 0); err != nil {
		t.Fatal(err)
	}
	f.Release(0, 1<<19)
	rest := make([]byte, 1<<19)
	if _, err := f.ReadAt(rest, 1<<19); err != nil || !bytes.Equal(rest, formattest.Numbered(1<<16, 1<<16)) {
		t.Errorf("what was not released has changed: %v", err)
	}
	if freeSpace(folder) <= 0 {
		t.Errorf("free space is %d", freeSpace(folder))
	}
	if err := f.Close(); err != nil {
		t.Error(err)
	}
}

// TestCreateAndRemove checks the fallback of systems without unnamed files.
func TestCreateAndRemove(t *testing.T) {
	folder := t.TempDir()
	f, err := createAndRemove(folder)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if names, err := os.ReadDir(folder); len(names) > 0 || err != nil {
		t.Errorf("in the folder: %v, %v", names, err)
	}
	info, err := f.Stat()
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the file has mode %v, error %v", info.Mode(), err)
	}
	if _, err := createAndRemove(folder + "/missing"); err == nil {
		t.Error("no error in a folder that does not exist")
	}
}
