package input

import (
	"bytes"
	"io"
	"io/fs"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/extsort/extsort/internal/testfiles"
)

// diskInfo describes a file as a disk, whose reported size is 0.
type diskInfo struct{ fs.FileInfo }

func (diskInfo) Mode() fs.FileMode { return fs.ModeDevice | 0o600 }
func (diskInfo) Size() int64       { return 0 }

type terminalInfo struct{ fs.FileInfo }

func (terminalInfo) Mode() fs.FileMode { return fs.ModeDevice | fs.ModeCharDevice | 0o600 }

// TestSizeOfDisk checks that the size of a disk is found by seeking to its end, and that the file
// keeps its offset.
func TestSizeOfDisk(t *testing.T) {
	file := bytes.NewReader(make([]byte, 1000))
	if _, err := file.Seek(10, io.SeekStart); err != nil {
		t.Fatal(err)
	}
	size, known := sizeOf(file, diskInfo{}, 10)
	at, err := file.Seek(0, io.SeekCurrent)
	if size != 1000 || !known || at != 10 || err != nil {
		t.Errorf("%d bytes, %t, then at byte %d, %v", size, known, at, err)
	}
	if _, known := sizeOf(file, terminalInfo{}, 10); known {
		t.Error("a terminal has a size")
	}
}

// TestPartOfDisk takes parts of the records on a loop device, if this process may create one.
func TestPartOfDisk(t *testing.T) {
	image := filepath.Join(t.TempDir(), "image")
	want := bytes.Repeat([]byte("abcdefgh"), 1<<10)
	testfiles.Write(t, image, want)
	device, err := exec.Command("losetup", "--find", "--show", image).Output()
	if err != nil {
		t.Skipf("no loop device here: %v", err)
	}
	name := strings.TrimSpace(string(device))
	t.Cleanup(func() {
		if err := exec.Command("losetup", "--detach", name).Run(); err != nil {
			t.Error(err)
		}
	})

	for k := range int64(3) {
		inputs := openTyped(t, "u8", name)
		part := Part{K: k, N: 3}
		from, to := part.Of(int64(len(want)))
		before, err := part.Slice(inputs)
		if err != nil || before != from || !inputs[0].IsDisk() {
			t.Fatalf("part %v begins at %d, want %d: %v", part, before, from, err)
		}
		files := NewFiles(inputs)
		got := make([]byte, to-from)
		if err := files.ReadRecords(got, 0); err != nil || !bytes.Equal(got, want[from:to]) {
			t.Errorf("part %v has other records, %v", part, err)
		}
		if err := files.Close(); err != nil {
			t.Error(err)
		}
	}
}
