package output

import (
	"bytes"
	"fmt"
	"math"
	"os"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"

	"github.com/extsort/extsort/chunker/spill"
	"github.com/extsort/extsort/device"
)

const (
	minMapBytes   = 64 << 20 // for less the threads are not worth it
	minMapWriters = 8        // for fewer no machine was seen where a map pays
	faultSample   = 2 << 20  // bytes that faultCost is measured with
	allocateStep  = 16 << 20 // bytes that are allocated at a time
)

// worthMapping decides whether an output in a file system that lies in memory (tmpfs) is written through a map.
//
// Either way each page has to be made when it is first touched, which takes longer than the copying. Plain writes do
// both in one call, at the least cost for each page, but they hold the inode: any number of writers is as fast as one.
// Faults in a map cost a multiple for each page, and as many run at once as there are writers, not quite without
// hindering each other. So a map pays where there are at least twice as many writers as that multiple.
func worthMapping(bytes int64, writers int) bool {
	return bytes >= minMapBytes && writers >= minMapWriters && int64(int(bytes)) == bytes &&
		float64(writers) >= 2*faultCost()
}

// faultCost is how many times as long a page takes that a fault in a map makes as one that a write makes. It is
// measured once, in a file that lies in memory; where that cannot be it is infinite.
var faultCost = sync.OnceValue(func() float64 {
	fd, err := unix.MemfdCreate("extsort", unix.MFD_CLOEXEC)
	if err != nil {
		return math.Inf(1)
	}
	defer unix.Close(fd)
	source := bytes.Repeat([]byte{1}, faultSample) // so that its pages are there before the clock runs
	start := time.Now()
	if n, err := unix.Pwrite(fd, source, 0); n < len(source) || err != nil || unix.Ftruncate(fd, 2*faultSample) != nil {
		return math.Inf(1)
	}
	written := time.Since(start)
	mapped, err := unix.Mmap(fd, faultSample, faultSample, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
	if err != nil {
		return math.Inf(1)
	}
	defer func() { _ = unix.Munmap(mapped) }()
	start = time.Now()
	copy(mapped, source)
	return float64(time.Since(start)) / float64(written)
})

// mapping is the shared memory map of an output. While the input is still read, a goroutine allocates the pages that
// will be written last.
type mapping struct {
	file       *os.File
	bytes      []byte
	closing    atomic.Bool
	allocating sync.WaitGroup
}

// newMapping maps the first size bytes of the file. Where that does not work it gives nil, and the file is written as
// any other.
func newMapping(file *os.File, size int64) *mapping {
	if file.Truncate(size) != nil {
		return nil
	}
	bytes, err := unix.Mmap(int(file.Fd()), 0, int(size), unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
	if err != nil {
		return nil
	}
	m := &mapping{file: file, bytes: bytes}
	m.allocating.Go(m.allocate)
	return m
}

// allocate makes pages, the last ones first, until the file is closed, or there is no more room, which the writers will
// find out.
func (m *mapping) allocate() {
	for end := int64(len(m.bytes)); end > 0 && !m.closing.Load(); end -= allocateStep {
		from := max(end-allocateStep, 0)
		if spill.Allocate(m.file, from, end-from) != nil {
			return
		}
	}
}

// WriteAt copies p to its place, or writes what the map does not cover. A page that cannot be had is a signal (SIGBUS),
// which is made an error here.
func (m *mapping) WriteAt(p []byte, offset int64) (n int, err error) {
	if offset+int64(len(p)) > int64(len(m.bytes)) {
		return m.file.WriteAt(p, offset)
	}
	err = device.Guard(func() error {
		n = copy(m.bytes[offset:], p)
		return nil
	}, func(uintptr) error {
		return fmt.Errorf("%w: its file system lies in memory, and gives no more of it", unix.ENOSPC)
	})
	return n, err
}

// close unmaps the file, by as many threads as there are processors. REQUIRES: no write is under way.
func (m *mapping) close() {
	m.closing.Store(true)
	m.allocating.Wait()
	var group sync.WaitGroup
	share := (len(m.bytes)/runtime.GOMAXPROCS(0) + minMapBytes) &^ (minMapBytes - 1)
	for piece := range slices.Chunk(m.bytes, share) {
		group.Go(func() { _ = unix.Madvise(piece, unix.MADV_DONTNEED) }) // the pages stay the file's
	}
	group.Wait()
	_ = unix.Munmap(m.bytes)
}
