package output

import (
	"fmt"
	"os"
	"runtime"
	"runtime/debug"
	"sync"

	"golang.org/x/sys/unix"
)

// mapping is the shared memory map of an output in a file system that lies in memory (tmpfs).
//
// Writes to one file wait for each other there, because each holds the inode: 16 writers came to 3.5 GB/s, no more
// than one. Copies into the map do not. Pages come into being as they are copied to, which takes longer than the
// copying; so from the end on a goroutine allocates those that will be written last, while the input is still read.
type mapping struct {
	file  *os.File
	bytes []byte // nil: not mapped
	stop  chan struct{}
	ended chan struct{}
}

const (
	mapAtLeast   = 64 << 20 // bytes: for less the threads are not worth it
	allocateStep = 16 << 20 // bytes that are allocated at a time, in some 2 ms
)

// open maps the first size bytes of the file, and begins to allocate them. It leaves the mapping as it is where that
// does not work: then the file is written as any other.
func (m *mapping) open(size int64) {
	if m.bytes != nil || size < mapAtLeast || int64(int(size)) != size {
		return
	}
	if m.file.Truncate(size) != nil {
		return
	}
	bytes, err := unix.Mmap(int(m.file.Fd()), 0, int(size), unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
	if err != nil {
		return
	}
	m.bytes, m.stop, m.ended = bytes, make(chan struct{}), make(chan struct{})
	go m.allocate()
}

// allocate makes pages until it meets the writers, or there is no more room, which they will find out.
func (m *mapping) allocate() {
	defer close(m.ended)
	for end := int64(len(m.bytes)); end > 0; end -= allocateStep {
		select {
		case <-m.stop:
			return
		default:
		}
		from := max(end-allocateStep, 0)
		if fallocate(m.file, from, end-from) != nil {
			return
		}
	}
}

func fallocate(f *os.File, offset, bytes int64) error {
	for {
		if err := unix.Fallocate(int(f.Fd()), 0, offset, bytes); err != unix.EINTR {
			return err
		}
	}
}

// covers reports whether n bytes at offset are to be written through the map.
func (m *mapping) covers(offset int64, n int) bool {
	return m != nil && m.bytes != nil && offset+int64(n) <= int64(len(m.bytes))
}

// writeAt copies p to its place. A page that cannot be had is a signal (SIGBUS), which is made an error here.
func (m *mapping) writeAt(p []byte, offset int64) (n int, err error) {
	old := debug.SetPanicOnFault(true)
	defer func() {
		debug.SetPanicOnFault(old)
		if recover() != nil {
			n, err = 0, fmt.Errorf("%w: its file system lies in memory, and gives no more of it", unix.ENOSPC)
		}
	}()
	return copy(m.bytes[offset:], p), nil
}

// close unmaps the file, by as many threads as there are processors: 2 million pages take one of them 0.1 s. REQUIRES:
// no write is under way.
func (m *mapping) close() {
	if m == nil || m.bytes == nil {
		return
	}
	close(m.stop)
	<-m.ended
	var group sync.WaitGroup
	share := (len(m.bytes)/runtime.GOMAXPROCS(0) + mapAtLeast) &^ (mapAtLeast - 1)
	for at := 0; at < len(m.bytes); at += share {
		piece := m.bytes[at:min(at+share, len(m.bytes))]
		group.Go(func() { _ = unix.Madvise(piece, unix.MADV_DONTNEED) }) // the pages stay the file's
	}
	group.Wait()
	_ = unix.Munmap(m.bytes)
	m.bytes = nil
}
