package output

import (
	"bytes"
	"errors"
	"math/rand/v2"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"golang.org/x/sys/unix"
)

// manyWriters are enough for a map whatever a fault costs.
const manyWriters = 1 << 20

// TestWorthMapping maps for many writers alone, however many are needed here.
func TestWorthMapping(t *testing.T) {
	t.Logf("a page made by a fault takes %.1f times as long as one made by a write", faultCost())
	if faultCost() <= 0 || worthMapping(minMapBytes, minMapWriters-1) || worthMapping(minMapBytes-1, manyWriters) ||
		!worthMapping(minMapBytes, manyWriters) {
		t.Errorf("faultCost %v: a map for few writers, or none for many", faultCost())
	}
}

// memoryFolder is a folder in a file system that lies in memory, with room for a mapped output.
func memoryFolder(t *testing.T) string {
	t.Helper()
	var st unix.Statfs_t
	if unix.Statfs("/dev/shm", &st) != nil || st.Type != unix.TMPFS_MAGIC || freeBytes(&st) < 4*minMapBytes {
		t.Skip("no /dev/shm with room")
	}
	folder, err := os.MkdirTemp("/dev/shm", "extsort-test-")
	if err != nil {
		t.Skip(err)
	}
	t.Cleanup(func() { os.RemoveAll(folder) })
	return folder
}

// TestMappedOutput writes an output in memory in blocks, from several goroutines and not in order, with some bytes
// past what was reserved, and keeps less of it than was reserved or more.
func TestMappedOutput(t *testing.T) {
	folder := memoryFolder(t)
	const reserved, block = minMapBytes + 12345, 1 << 20
	data := make([]byte, reserved+block)
	r := rand.NewChaCha8([32]byte{1})
	r.Read(data)
	for _, size := range []int64{reserved - 3*block, reserved, int64(len(data))} {
		name := filepath.Join(folder, "out")
		out, err := Open(t.Context(), name, nil)
		if err != nil {
			t.Fatal(err)
		}
		if err := out.Reserve(reserved, manyWriters); err != nil {
			t.Fatal(err)
		}
		if m, ok := out.at.(*mapping); !ok || len(m.bytes) != reserved {
			t.Error("the output is not mapped")
		}
		var writers sync.WaitGroup
		for w := range 4 {
			writers.Go(func() {
				for at := (len(data) - 1) / block * block; at >= 0; at -= block {
					if at/block%4 != w {
						continue
					}
					end := min(at+block, len(data))
					if n, err := out.WriteAt(data[at:end], int64(at)); err != nil || n != end-at {
						t.Errorf("write at %d: %d bytes, %v", at, n, err)
					}
				}
			})
		}
		writers.Wait()
		if err := out.Commit(size); err != nil {
			t.Fatal(err)
		}
		got, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(got, data[:size]) {
			t.Errorf("%d bytes were kept of %d, and differ", len(got), size)
		}
	}
}

// TestMappedOutputGivenUp leaves nothing of an output that is given up while its pages are still being allocated.
func TestMappedOutputGivenUp(t *testing.T) {
	folder := memoryFolder(t)
	out, err := Open(t.Context(), filepath.Join(folder, "out"), nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := out.Reserve(2*minMapBytes, manyWriters); err != nil {
		t.Fatal(err)
	}
	if err := out.Abort(); err != nil {
		t.Fatal(err)
	}
	if left, err := os.ReadDir(folder); err != nil || len(left) > 0 {
		t.Errorf("left over: %v, %v", left, err)
	}
}

// TestMappedOutputWithoutMemory finds that pages cannot be had, here because the file has become shorter.
func TestMappedOutputWithoutMemory(t *testing.T) {
	folder := memoryFolder(t)
	out, err := Open(t.Context(), filepath.Join(folder, "out"), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer out.Abort()
	if err := out.Reserve(minMapBytes, manyWriters); err != nil {
		t.Fatal(err)
	}
	out.at.(*mapping).allocating.Wait()
	if err := out.file.Truncate(1 << 20); err != nil {
		t.Fatal(err)
	}
	if _, err := out.WriteAt(make([]byte, 1<<20), 8<<20); !errors.Is(err, unix.ENOSPC) {
		t.Errorf("error %v", err)
	}
	if n, err := out.WriteAt(make([]byte, 1<<20), 0); n != 1<<20 || err != nil {
		t.Errorf("%d bytes, %v", n, err)
	}
}
