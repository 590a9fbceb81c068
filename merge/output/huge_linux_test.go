package output

import (
	"bytes"
	"errors"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/extsort/extsort/device/arena"
	"github.com/extsort/extsort/internal/testfiles"
)

// memoryFolder returns a directory in a tmpfs with room for outputs.
func memoryFolder(t *testing.T) string {
	t.Helper()
	var st unix.Statfs_t
	if unix.Statfs("/dev/shm", &st) != nil || st.Type != unix.TMPFS_MAGIC || freeBytes(&st) < 256<<20 {
		t.Skip("no /dev/shm with room")
	}
	folder, err := os.MkdirTemp("/dev/shm", "extsort-test-")
	if err != nil {
		t.Skip(err)
	}
	t.Cleanup(func() { os.RemoveAll(folder) })
	return folder
}

// openHuge begins an output of size bytes in folder, to be written with huge pages.
func openHuge(t *testing.T, folder string, size int64) (*File, *hugePages) {
	t.Helper()
	out := openFile(t, filepath.Join(folder, "out"), FileOptions{Bytes: size, Writers: 2})
	return out, mapping(t, out, size)
}

// expectHuge is openHuge for an output whose size is announced after it has been opened.
func expectHuge(t *testing.T, folder string, size int64) (*File, *hugePages) {
	t.Helper()
	out := openFile(t, filepath.Join(folder, "out"), FileOptions{Writers: 2})
	if err := out.Expect(size, 2); err != nil {
		t.Fatal(err)
	}
	return out, mapping(t, out, size)
}

// boundHuge is openHuge for an output of at most size bytes.
func boundHuge(t *testing.T, folder string, size int64) (*File, *hugePages) {
	t.Helper()
	out := openFile(t, filepath.Join(folder, "out"), FileOptions{AtMost: size, Writers: 2})
	return out, mapping(t, out, size)
}

// mapping returns the writer of an output that is written with huge pages.
func mapping(t *testing.T, out *File, size int64) *hugePages {
	t.Helper()
	h, ok := out.writer.(*hugePages)
	if !ok || int64(len(h.bytes)) != size/arena.HugePage*arena.HugePage {
		t.Fatal("the output is not mapped")
	}
	return h
}

// someBytes returns size random bytes.
func someBytes(size int) []byte {
	data := make([]byte, size)
	r := rand.NewChaCha8([32]byte{1})
	r.Read(data)
	return data
}

// writeInBlocks writes data at its position in out. Several goroutines write the blocks in reverse
// order, every third one twice.
func writeInBlocks(t *testing.T, out *File, data []byte, header, block, writers int) {
	t.Helper()
	var next atomic.Int64
	var group sync.WaitGroup
	for range writers {
		group.Go(func() {
			for i := int(next.Add(1)); ; i = int(next.Add(1)) {
				at := (len(data)-header-1)/block*block - (i-1)*block + header
				if at < header {
					return
				}
				for range 1 + i%3/2 {
					end := min(at+block, len(data))
					if n, err := out.WriteAt(data[at:end], int64(at)); err != nil || n != end-at {
						t.Errorf("write at %d: %d bytes, %v", at, n, err)
					}
				}
			}
		})
	}
	group.Wait()
	if _, err := out.WriteAt(data[:header], 0); err != nil {
		t.Error(err)
	}
}

// sharedMemory returns the size of the resident shared memory of this process.
func sharedMemory(t *testing.T) int {
	t.Helper()
	status, err := os.ReadFile("/proc/self/status")
	found := regexp.MustCompile(`RssShmem:\s*(\d+) kB`).FindSubmatch(status)
	if found == nil {
		t.Skip("no RssShmem:", err)
	}
	kib, err := strconv.Atoi(string(found[1]))
	if err != nil {
		t.Fatal(err)
	}
	return kib << 10
}

// TestHugeOutput writes outputs with headers to a tmpfs. Some exceed the reserved size, and they
// keep more or less than was reserved. The size of some is announced late. Their pages are huge if
// the system can make huge pages, and plain after the writer gives up on them.
func TestHugeOutput(t *testing.T) {
	folder := memoryFolder(t)
	data := someBytes(17*arena.HugePage + 4321)
	const reserved = 16*arena.HugePage + 12345
	for _, c := range []struct {
		reserved, kept, header, block, writers int
		givenUp                                bool
		open                                   func(*testing.T, string, int64) (*File, *hugePages)
	}{
		{reserved, reserved, 0, 1 << 20, 16, false, openHuge},
		{reserved, reserved - 3<<20, 128, 1<<20 - 24, 2, false, expectHuge},
		{reserved, reserved - 9<<20, 0, 1 << 19, 3, false, boundHuge},
		{reserved, len(data), 1001, 100_000, 16, false, openHuge},
		{arena.HugePage, arena.HugePage, 0, 1 << 16, 2, false, expectHuge},
		{arena.HugePage, arena.HugePage - 1, 77, 999, 2, false, boundHuge},
		{reserved, reserved, 128, 1<<20 + 8, 16, true, openHuge},
	} {
		before := sharedMemory(t)
		out, h := c.open(t, folder, int64(c.reserved))
		h.givenUp.Store(c.givenUp)
		writeInBlocks(t, out, data[:max(c.reserved, c.kept)], c.header, c.block, c.writers)
		huge := 0
		for i := range h.stretches {
			if h.stretches[i].isHuge {
				huge++
			}
		}
		t.Logf("%d of %d bytes: %d of %d are huge pages", c.kept, c.reserved, huge, len(h.stretches))
		if c.givenUp && huge > 0 {
			t.Error("huge pages, though they were given up")
		}
		if most := before + arena.HugePage/2; sharedMemory(t) > most {
			t.Errorf("%d bytes stay mapped, more than %d", sharedMemory(t), most)
		}
		if err := out.Commit(t.Context(), int64(c.kept)); err != nil {
			t.Fatal(err)
		}
		got, err := os.ReadFile(filepath.Join(folder, "out"))
		if err != nil || !bytes.Equal(got, data[:c.kept]) {
			t.Errorf("%d of %d bytes: %d bytes were kept, and differ: %v", c.kept, c.reserved, len(got), err)
		}
	}
}

// TestSmallOutputIsNotMapped checks that an output smaller than a huge page is not mapped.
func TestSmallOutputIsNotMapped(t *testing.T) {
	out := openFile(t, filepath.Join(memoryFolder(t), "out"), FileOptions{Bytes: arena.HugePage - 1, Writers: 2})
	defer out.Abort()
	if _, isPlain := out.writer.(*plainWriter); !isPlain {
		t.Errorf("the writer is a %T", out.writer)
	}
}

// TestHugePagesAreGivenUp checks that huge pages are given up if they are slow for some time, but
// not because of single slow ones.
func TestHugePagesAreGivenUp(t *testing.T) {
	const ms = time.Millisecond
	for _, c := range []struct {
		small, huge     time.Duration
		writers, atMost int // atMost: pages before giving up; 0: never gives up
	}{
		{ms, ms, 1, 0}, {ms, 2 * ms, 2, 0}, {ms, 16 * ms, 16, 0},
		{ms, 2 * ms, 1, 10}, {ms, 4 * ms, 2, 10}, {ms, time.Hour, 16, 5},
	} {
		h, made := &hugePages{writers: c.writers}, 0
		for ; made < 1000 && !h.givenUp.Load(); made++ {
			h.compareTimes(c.small, c.huge)
		}
		if made != c.atMost && (c.atMost > 0 || made < 1000) {
			t.Errorf("%+v: given up after %d", c, made)
		}
	}
	h := &hugePages{writers: 2}
	for range 1000 { // one of four pages has to wait
		h.compareTimes(ms, time.Second)
		for range 3 {
			h.compareTimes(ms, ms/2)
		}
	}
	if h.givenUp.Load() {
		t.Error("given up, though most of them take less")
	}
}

// TestHugeOutputGivenUp checks that a partly written output leaves nothing behind when it is
// aborted.
func TestHugeOutputGivenUp(t *testing.T) {
	folder := memoryFolder(t)
	out, _ := openHuge(t, folder, 8*arena.HugePage)
	if _, err := out.WriteAt(someBytes(3<<20), 1<<20); err != nil {
		t.Fatal(err)
	}
	if err := out.Abort(); err != nil {
		t.Fatal(err)
	}
	if left, err := os.ReadDir(folder); err != nil || len(left) > 0 {
		t.Errorf("left over: %v, %v", left, err)
	}
}

// TestHugeOutputWithoutMemory checks the error if the system cannot allocate a page. To cause this,
// the test truncates the file.
func TestHugeOutputWithoutMemory(t *testing.T) {
	out, h := openHuge(t, memoryFolder(t), 8*arena.HugePage)
	defer out.Abort()
	h.stretches[4].begun.Do(func() { h.stretches[4].isHuge = true })
	if err := out.file.Truncate(1 << 20); err != nil {
		t.Fatal(err)
	}
	if _, err := out.WriteAt(make([]byte, 1<<20), 4*arena.HugePage); !errors.Is(err, unix.ENOSPC) {
		t.Errorf("error %v", err)
	}
	if n, err := out.WriteAt(make([]byte, 1<<20), 0); n != 1<<20 || err != nil {
		t.Errorf("%d bytes, %v", n, err)
	}
}

// TestHugeOutputToFullFileSystem fills a file system with several writers, although there was
// enough space when the output was opened.
func TestHugeOutputToFullFileSystem(t *testing.T) {
	folder := t.TempDir()
	if err := unix.Mount("none", folder, "tmpfs", 0, "size=32m"); err != nil {
		t.Skip("no mount of one's own here:", err)
	}
	defer unix.Unmount(folder, unix.MNT_DETACH)
	const size, block = 12 * arena.HugePage, 1 << 20
	out, _ := openHuge(t, folder, size)
	testfiles.Write(t, filepath.Join(folder, "other"), make([]byte, 15<<20))
	var next, full atomic.Int64
	var group sync.WaitGroup
	for range 8 {
		group.Go(func() {
			for at := next.Add(block) - block; at < size; at = next.Add(block) - block {
				if _, err := out.WriteAt(make([]byte, block), at); errors.Is(err, unix.ENOSPC) {
					full.Add(1)
				} else if err != nil {
					t.Error(err)
				}
			}
		})
	}
	group.Wait()
	if full.Load() == 0 {
		t.Error("24 MiB were written where 17 are free")
	}
	if err := out.Abort(); err != nil {
		t.Error(err)
	}
	if left := testfiles.Names(t, folder); len(left) != 1 {
		t.Errorf("left over: %q", left)
	}
}
