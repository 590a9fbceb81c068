package input

import (
	"bytes"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/extsort/extsort/chunker/spill"
	"github.com/extsort/extsort/format"
)

// TestMisreportedSizes reads system files completely: those in /proc report a size of 0, and
// those in /sys the size of a page.
func TestMisreportedSizes(t *testing.T) {
	for _, name := range []string{"/proc/version", "/sys/kernel/mm/transparent_hugepage/enabled",
		"/sys/kernel/mm/transparent_hugepage/shmem_enabled"} {
		want, err := os.ReadFile(name)
		if err != nil {
			t.Log(err)
			continue
		}
		kind := Kind{Spec: format.Spec{Type: "u8"}, Recognition: format.Recognition{Raw: true}} // it is text
		inputs, err := Open(t.Context(), kind, Named(name), nil, 1<<20)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		got, err := io.ReadAll(inputs[0].Sequence())
		if err != nil || !bytes.Equal(got, want) {
			t.Errorf("%s: %d bytes were read, want %d; error %v", name, len(got), len(want), err)
		}
		if err := inputs[0].Close(); err != nil {
			t.Error(err)
		}
	}
}

// TestUnreadable checks the error for a file whose reported size is 0 and that cannot be read. Such
// a file does not count as empty.
func TestUnreadable(t *testing.T) {
	const name = "/proc/self/mem" // nothing is mapped at address 0
	if file, err := os.Open(name); err != nil {
		t.Skip(err)
	} else {
		file.Close()
	}
	_, err := Open(t.Context(), Kind{Spec: format.Spec{Type: "u8"}}, Named(name), nil, 1<<20)
	if err == nil || !strings.HasPrefix(err.Error(), "read "+name+": ") || strings.Count(err.Error(), name) != 1 {
		t.Errorf("the error is: %v", err)
	}
}

// TestHolesStayHoles reads files in memory. One with a hole is not mapped, because that would fill
// the hole.
func TestHolesStayHoles(t *testing.T) {
	const dir, size = "/dev/shm", 1 << 20
	if !spill.InMemory(dir) {
		t.Skip("no tmpfs at " + dir)
	}
	for name, hole := range map[string]bool{"full": false, "hole": true} {
		file, err := os.CreateTemp(dir, "extsort-test-")
		if err != nil {
			t.Skip(err)
		}
		defer os.Remove(file.Name())
		defer file.Close()
		if hole {
			err = file.Truncate(size)
		} else {
			_, err = file.Write(make([]byte, size))
		}
		if err != nil {
			t.Fatal(err)
		}

		inputs := openTyped(t, "u64", file.Name())
		if isMapped(inputs[0]) == hole {
			t.Errorf("%s: mapped is %t", name, !hole)
		}
		if all, err := io.ReadAll(inputs[0].Sequence()); err != nil || !bytes.Equal(all, make([]byte, size)) {
			t.Errorf("%s: %d bytes, %v", name, len(all), err)
		}
		info, err := file.Stat()
		if err != nil {
			t.Fatal(err)
		}
		if blocks := info.Sys().(*syscall.Stat_t).Blocks; (blocks == 0) != hole {
			t.Errorf("%s: the file occupies %d blocks", name, blocks)
		}
		if err := inputs[0].Close(); err != nil {
			t.Error(err)
		}
	}
}

// TestFilesOnDiskAreNotMapped opens files that the page cache does not hold, or only half of them,
// and again after they were read.
func TestFilesOnDiskAreNotMapped(t *testing.T) {
	const size = 4 << 20
	evicted := func(from int64) *os.File {
		t.Helper()
		file, err := os.Create(filepath.Join(t.TempDir(), "in"))
		if err == nil {
			_, err = file.Write(make([]byte, size))
		}
		if err == nil {
			err = errors.Join(file.Sync(), unix.Fadvise(int(file.Fd()), from, size-from, unix.FADV_DONTNEED))
		}
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { file.Close() })
		return file
	}
	if isCached(evicted(0), size) { // the look may read the file from the disk
		t.Skip("files stay in memory here, or the system cannot tell")
	}
	for _, from := range []int64{0, size / 2} {
		name := evicted(from).Name()
		for _, want := range []bool{false, true} {
			inputs := openTyped(t, "u64", name)
			if isMapped(inputs[0]) != want {
				t.Errorf("evicted from %d on: mapped is %t", from, !want)
			}
			if all, err := io.ReadAll(inputs[0].Sequence()); err != nil || len(all) != size {
				t.Errorf("%d bytes, %v", len(all), err)
			}
			if err := inputs[0].Close(); err != nil {
				t.Error(err)
			}
		}
	}
}

// TestFailingDisk reads a file on a disk that fails in the middle of the file, through a map and
// with system calls. The error must contain the name and the offset. The disk is a loop device
// whose image is truncated, if this process may create one.
func TestFailingDisk(t *testing.T) {
	const records = 1 << 19
	dir := t.TempDir()
	image := filepath.Join(dir, "image")
	mounted := filepath.Join(dir, "mounted")
	mount := func() {
		t.Helper()
		if said, err := exec.Command("mount", "-o", "loop", image, mounted).CombinedOutput(); err != nil {
			t.Skipf("cannot mount a loop device here: %v: %s", err, said)
		}
	}
	unmount := func() {
		if said, err := exec.Command("umount", mounted).CombinedOutput(); err != nil {
			t.Errorf("%v: %s", err, said)
		}
	}
	script := `truncate -s 24M "$1" && mkfs.ext4 -q -O ^has_journal "$1" && mkdir "$2"`
	if said, err := exec.Command("sh", "-c", script, "sh", image, mounted).CombinedOutput(); err != nil {
		t.Skipf("cannot make a file system here: %v: %s", err, said)
	}
	mount()
	name := filepath.Join(mounted, "in")
	err := os.WriteFile(name, make([]byte, records*8), 0o600)
	unmount()
	if err != nil {
		t.Fatal(err)
	}
	mount() // with an empty page cache
	defer unmount()

	inputs := openTyped(t, "u64", name)
	files := NewFiles(inputs)
	defer files.Close()
	if isMapped(inputs[0]) {
		t.Error("a file is mapped that the page cache does not hold")
	}
	useMap(t, inputs[0])
	first := make([]byte, 8)
	if err := files.ReadRecords(first, 0); err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(image, 1<<20); err != nil {
		t.Fatal(err)
	}
	for _, want := range []error{errFault, syscall.EIO} {
		all := make([]byte, records*8)
		err := files.ReadRecords(all, 0)
		if !errors.Is(err, want) || !strings.HasPrefix(err.Error(), "read "+name+" at byte ") {
			t.Errorf("the error is %v, want %v", err, want)
		}
		if want == errFault {
			useCalls(t, inputs[0])
		}
	}
}
