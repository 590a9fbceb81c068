package merge

import (
	"errors"
	"os"
	"runtime"
	"runtime/debug"
	"sync"

	"golang.org/x/sys/unix"
)

// mapping is the shared memory map of an output in a file system that lies in memory (tmpfs).
//
// Writes to one file wait for each other there, because each holds the inode: 16 writers came to 3.5 GB/s, no more
// than one. Copies into the map do not, and a goroutine that runs ahead of them allocates the pages, which is also
// what finds out that there is no room: a page that cannot be had under a map is a signal, not an error.
type mapping struct {
	file  *os.File
	bytes []byte // nil: not mapped
	ended chan struct{}

	mu        sync.Mutex
	grown     *sync.Cond
	allocated int64 // bytes from the start of the file that have pages
	stop      bool
	err       error
}

const (
	mapAtLeast    = 64 << 20 // bytes: for less the threads are not worth it
	allocateAhead = 32 << 20 // bytes that are allocated in one step, in 3 ms
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
	m.bytes, m.ended, m.grown = bytes, make(chan struct{}), sync.NewCond(&m.mu)
	go m.allocate()
}

func (m *mapping) allocate() {
	defer close(m.ended)
	for at := int64(0); at < int64(len(m.bytes)); at += allocateAhead {
		err := fallocate(m.file, at, min(allocateAhead, int64(len(m.bytes))-at))
		m.mu.Lock()
		m.allocated, m.err = min(at+allocateAhead, int64(len(m.bytes))), err
		end := m.stop || err != nil
		m.mu.Unlock()
		m.grown.Broadcast()
		if end {
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

// writeAt copies p to its place as soon as that has pages.
func (m *mapping) writeAt(p []byte, offset int64) (n int, err error) {
	if err := m.wait(offset + int64(len(p))); err != nil {
		return 0, err
	}
	old := debug.SetPanicOnFault(true)
	defer func() {
		debug.SetPanicOnFault(old)
		if recover() != nil {
			n, err = 0, errors.New("the file lost its memory while it was being written")
		}
	}()
	return copy(m.bytes[offset:], p), nil
}

// wait returns when the file has pages up to end, or none will come.
func (m *mapping) wait(end int64) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	for m.allocated < end && m.err == nil {
		m.grown.Wait()
	}
	return m.err
}

// close unmaps the file, by as many threads as there are processors: 2 million pages take one of them 0.1 s. REQUIRES:
// no write is under way.
func (m *mapping) close() {
	if m == nil || m.bytes == nil {
		return
	}
	m.mu.Lock()
	m.stop = true
	m.mu.Unlock()
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
