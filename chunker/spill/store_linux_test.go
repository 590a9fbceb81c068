package spill

import (
	"os"
	"syscall"
	"testing"
)

// TestReleaseInLongStretches checks that space is freed as soon as a long stretch is released, and
// not before.
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

// storedBytes returns the disk space of a file in bytes.
func storedBytes(t *testing.T, f *os.File) int64 {
	t.Helper()
	f.Sync()
	info, err := f.Stat()
	if err != nil {
		t.Fatal(err)
	}
	return info.Sys().(*syscall.Stat_t).Blocks * 512
}

// TestRoomIsGivenBack checks that space read with direct I/O is released: at once if it is not
// known that there is enough space, otherwise at the end.
func TestRoomIsGivenBack(t *testing.T) {
	for expect, atOnce := range map[int64]bool{-1: true, 4 * punchBytes: false} {
		s := openSpill(t, Options{Workers: 1, Requests: newTestRequests(t), ExpectBytes: expect})
		if !s.volumes[0].direct {
			t.Skip("this file system does not tell that files can be read past the page cache")
		}
		var a Appender
		for range 4 {
			if err := s.Append(&a, 0, make([]byte, punchBytes)); err != nil {
				t.Fatal(err)
			}
		}
		run, _, err := s.Join([]*Appender{&a})
		if err != nil {
			t.Fatal(err)
		}
		if err := s.release(run); err != nil {
			t.Fatal(err)
		}
		kept := int64(0)
		for _, v := range s.volumes {
			kept += storedBytes(t, v.file.(*diskFile).file)
		}
		if (kept == 0) != atOnce || kept > 4*punchBytes {
			t.Errorf("%d bytes expected: %d are left when all were released", expect, kept)
		}
	}
}
