package spill

import (
	"os"
	"syscall"
	"testing"
)

// TestReleaseInLongStretches gives space back one hole at a time: what is released meanwhile goes with its neighbour.
func TestReleaseInLongStretches(t *testing.T) {
	f, err := os.CreateTemp(t.TempDir(), "")
	if err != nil {
		t.Fatal(err)
	}
	d := newDiskFile(f)
	defer d.Close()
	if _, err := d.WriteAt(make([]byte, 4*punchBytes), 0); err != nil {
		t.Fatal(err)
	}
	held := make(chan struct{})
	d.punching.Go(func() error { <-held; return nil })
	d.Release(0, punchBytes)
	close(held)
	if kept := punchedTo(t, d); kept < 4*punchBytes {
		t.Errorf("of %d bytes %d are left while another hole is made", 4*punchBytes, kept)
	}
	d.Release(3*punchBytes, punchBytes/2) // too short
	d.Release(punchBytes, punchBytes)
	if kept := punchedTo(t, d); kept != 2*punchBytes {
		t.Errorf("of %d bytes %d are left, where half were released in long stretches", 4*punchBytes, kept)
	}
}

// punchedTo is how many bytes a file takes on its disk when no hole is being made.
func punchedTo(t *testing.T, d *diskFile) int64 {
	t.Helper()
	if err := d.punching.Wait(); err != nil {
		t.Fatal(err)
	}
	d.file.Sync()
	info, err := d.file.Stat()
	if err != nil {
		t.Fatal(err)
	}
	return info.Sys().(*syscall.Stat_t).Blocks * 512
}
