package output

import (
	"fmt"
	"os"
	"sync"
	"sync/atomic"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/extsort/extsort/device"
	"github.com/extsort/extsort/device/arena"
)

// mostLost is what huge pages may cost more than small ones, of late, before they are given up.
const mostLost = 10 * time.Millisecond

// hugePages writes a file in a file system that lies in memory (tmpfs). What takes time there is to make its pages, and
// a plain write makes many small ones while it holds the inode, so that any number of writers is as fast as one. Here
// the first piece of each stretch of a huge page's size is written so; then the system makes one huge page of the
// stretch (MADV_COLLAPSE), and all that follows is copied into a map of it, by all writers at once. Where the system
// refuses that, or takes longer for it than plain writes would, the rest is written plainly.
type hugePages struct {
	file      *os.File
	addresses []byte // which begin before the map, to align it
	bytes     []byte // the map, of whole stretches only
	stretches []stretch
	writers   int
	plainly   atomic.Bool // no more huge pages
	accounts  sync.Mutex
	lost      time.Duration
}

type stretch struct {
	begun   sync.Once    // its first piece is written
	isHuge  bool         // since then
	written atomic.Int64 // bytes, if it is huge
}

// newHugePages maps a file that is to have size bytes. Where that is not worth it, or does not work, it gives nil, and
// the file is written as any other.
func newHugePages(file *os.File, size int64, writers int) *hugePages {
	length := int(size) / arena.HugePage * arena.HugePage
	if length == 0 || int64(int(size)) != size || file.Truncate(size) != nil {
		return nil
	}
	addresses, err := unix.Mmap(-1, 0, length+arena.HugePage, unix.PROT_NONE, unix.MAP_ANON|unix.MAP_PRIVATE)
	if err != nil {
		return nil
	}
	first := unsafe.Pointer(&addresses[0])
	skipped := int(-uintptr(first) % arena.HugePage)
	if _, err := unix.MmapPtr(int(file.Fd()), 0, unsafe.Add(first, skipped), uintptr(length),
		unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED|unix.MAP_FIXED); err != nil {
		_ = unix.Munmap(addresses)
		return nil
	}
	return &hugePages{file: file, addresses: addresses, bytes: addresses[skipped:][:length],
		stretches: make([]stretch, length/arena.HugePage), writers: max(writers, 1)}
}

// WriteAt writes p. REQUIRES: it lies within one stretch.
func (h *hugePages) WriteAt(p []byte, offset int64) (n int, err error) {
	if offset+int64(len(p)) > int64(len(h.bytes)) {
		return h.file.WriteAt(p, offset)
	}
	at, begins := int(offset/arena.HugePage), false
	s, pages := &h.stretches[at], h.bytes[at*arena.HugePage:][:arena.HugePage]
	s.begun.Do(func() {
		begins = true
		n, s.isHuge, err = h.begin(pages, p, offset)
	})
	switch {
	case !begins && !s.isHuge:
		return h.file.WriteAt(p, offset)
	case !begins:
		err = device.Guard(func() error {
			n = copy(h.bytes[offset:], p)
			return nil
		}, noPage)
	}
	if s.isHuge && s.written.Add(int64(n)) >= arena.HugePage {
		_ = unix.Madvise(pages, unix.MADV_DONTNEED) // they stay the file's, and count no more as this process's
	}
	return n, err
}

// begin writes the first piece of a stretch, without which there is nothing to make a huge page of, and makes it.
func (h *hugePages) begin(pages, p []byte, offset int64) (n int, isHuge bool, err error) {
	start := time.Now()
	if n, err = h.file.WriteAt(p, offset); err != nil || n == 0 || h.plainly.Load() {
		return n, false, err
	}
	written := time.Now()
	refused := unix.Madvise(pages, unix.MADV_COLLAPSE)
	if refused != nil && refused != unix.EAGAIN { // that is about these pages alone
		h.plainly.Store(true)
	}
	small := (n + os.Getpagesize() - 1) / os.Getpagesize()
	all := written.Sub(start) * time.Duration(len(pages)/os.Getpagesize()/small)
	h.account(all, time.Since(written))
	return n, refused == nil, nil
}

// account gives huge pages up where they take longer than small ones, as on a virtual machine that has given its free
// memory back to the host. Plain writes take turns; huge pages are made by all writers at once. So that a writer which
// had to wait for a processor decides nothing, no page counts for more than a fifth.
func (h *hugePages) account(small, huge time.Duration) {
	h.accounts.Lock()
	defer h.accounts.Unlock()
	h.lost = max(h.lost+min(huge/time.Duration(h.writers)-small, mostLost/5), 0)
	if h.lost >= mostLost {
		h.plainly.Store(true)
	}
}

// noPage is the error of a page of the map that cannot be combined, of which the system signals a fault (SIGBUS).
func noPage(uintptr) error {
	return fmt.Errorf("%w: its file system is in memory, which is full", unix.ENOSPC)
}

// close unmaps the file. REQUIRES: no write is under way.
func (h *hugePages) close() { _ = unix.Munmap(h.addresses) }
