package spill

import (
	"os"
	"syscall"
	"testing"
)

// TestReleaseInLongStretches gives space back at once where a long stretch is released, and not before.
func TestReleaseInLongStretches(t *testing.T) {
	f, err := os.CreateTemp(t.TempDir(), "")
	if err != nil {
		t.Fatal(err)
	}
	d := &diskFile{file: f}
	defer d.Close()
	if _, err := d.WriteAt(make([]byte, 4*punchBytes), 0); err != nil {
		t.Fatal(err)
	}
	d.Release(3*punchBytes, punchBytes/2)
	if kept := storedBytes(t, f); kept < 4*punchBytes {
		t.Errorf("of %d bytes %d are left, where only a short stretch was released", 4*punchBytes, kept)
	}
	d.Release(punchBytes, punchBytes)
	d.Release(0, punchBytes)
	if kept := storedBytes(t, f); kept != 2*punchBytes {
		t.Errorf("of %d bytes %d are left, where half were released in long stretches", 4*punchBytes, kept)
	}
}

// storedBytes is how many bytes a file takes on its disk.
func storedBytes(t *testing.T, f *os.File) int64 {
	t.Helper()
	f.Sync()
	info, err := f.Stat()
	if err != nil {
		t.Fatal(err)
	}
	return info.Sys().(*syscall.Stat_t).Blocks * 512
}
