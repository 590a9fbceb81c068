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

// mostLost is how much longer huge pages may take in total, compared with small ones. Then
// hugePages gives them up.
const mostLost = 10 * time.Millisecond

// hugePages writes a file in a tmpfs. The slow part of such a write is the allocation of pages. A
// plain write allocates many small pages while it holds the inode lock, so several writers are no
// faster than one.
//
// hugePages divides the file into stretches of the size of a huge page. It writes the first piece
// of a stretch with a plain write and then converts the stretch to one huge page (MADV_COLLAPSE).
// All further pieces are copied to a mapping of the file, which all writers can do in parallel.
// If the system refuses huge pages, or takes longer than with plain writes, the rest is written
// with plain writes.
type hugePages struct {
	rawFile
	addresses []byte // starts before the mapping, which is aligned
	bytes     []byte // the mapping; whole stretches only
	stretches []stretch
	writers   int
	givenUp   atomic.Bool   // use plain writes from now on
	accounts  sync.Mutex    // protects lost
	lost      time.Duration // how much longer huge pages have taken so far
}

// A stretch is a part of the file with the size of a huge page.
type stretch struct {
	begun   sync.Once    // done when the first piece is written
	isHuge  bool         // set by begun
	written atomic.Int64 // bytes written, if the stretch is huge
}

// newHugePages maps a file of the given final size, if it is in a tmpfs. It returns false if the
// mapping is not worthwhile or fails; the file is then written like any other.
func newHugePages(f rawFile, size int64, writers int) (fileWriter, bool) {
	length := int(size) / arena.HugePage * arena.HugePage
	if length == 0 || int64(int(size)) != size || !inTmpfs(f.file) || f.file.Truncate(size) != nil {
		return nil, false
	}
	addresses, err := unix.Mmap(
		-1, 0, length+arena.HugePage, unix.PROT_NONE, unix.MAP_ANON|unix.MAP_PRIVATE,
	)
	if err != nil {
		return nil, false
	}
	first := unsafe.Pointer(&addresses[0])
	skipped := int(-uintptr(first) % arena.HugePage)
	if _, err := unix.MmapPtr(int(f.file.Fd()), 0, unsafe.Add(first, skipped), uintptr(length),
		unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED|unix.MAP_FIXED); err != nil {
		_ = unix.Munmap(addresses)
		return nil, false
	}

	return &hugePages{
		rawFile:   f,
		addresses: addresses,
		bytes:     addresses[skipped:][:length],
		stretches: make([]stretch, length/arena.HugePage),
		writers:   max(writers, 1),
	}, true
}

// WriteAt writes p. REQUIRES: p lies within one stretch
func (h *hugePages) WriteAt(p []byte, offset int64) (n int, err error) {
	if offset+int64(len(p)) > int64(len(h.bytes)) {
		return h.rawFile.WriteAt(p, offset)
	}
	at := int(offset / arena.HugePage)
	begins := false
	s := &h.stretches[at]
	pages := h.bytes[at*arena.HugePage:][:arena.HugePage]
	s.begun.Do(func() {
		begins = true
		n, s.isHuge, err = h.begin(pages, p, offset)
	})
	switch {
	case !begins && !s.isHuge:
		return h.rawFile.WriteAt(p, offset)
	case !begins:
		n, err = h.copyIn(p, offset)
	}

	if s.isHuge && s.written.Add(int64(n)) >= arena.HugePage {
		// the pages stay in the file, but no longer count as memory of this process
		_ = unix.Madvise(pages, unix.MADV_DONTNEED)
	}
	return n, err
}

// begin writes the first piece of a stretch, which a huge page needs, and makes the huge page.
func (h *hugePages) begin(pages, p []byte, offset int64) (n int, isHuge bool, err error) {
	start := time.Now()
	if n, err = h.rawFile.WriteAt(p, offset); err != nil || n == 0 || h.givenUp.Load() {
		return n, false, err
	}
	written := time.Now()
	refused := unix.Madvise(pages, unix.MADV_COLLAPSE)
	if refused != nil && refused != unix.EAGAIN { // EAGAIN concerns only these pages
		h.givenUp.Store(true)
	}
	small := (n + os.Getpagesize() - 1) / os.Getpagesize()
	all := written.Sub(start) * time.Duration(len(pages)/os.Getpagesize()/small)
	h.compareTimes(all, time.Since(written))
	return n, refused == nil, nil
}

// compareTimes stops using huge pages if they take longer than small ones. This happens on virtual
// machines that have returned free memory to the host. Plain writes take turns, whereas all
// writers make huge pages in parallel. A single page counts for at most a fifth of the limit.
// Otherwise one writer that had to wait for a processor could end the use of huge pages.
func (h *hugePages) compareTimes(small, huge time.Duration) {
	h.accounts.Lock()
	defer h.accounts.Unlock()
	h.lost = max(h.lost+min(huge/time.Duration(h.writers)-small, mostLost/5), 0)
	if h.lost >= mostLost {
		h.givenUp.Store(true)
	}
}

// copyIn copies p to the mapping.
func (h *hugePages) copyIn(p []byte, offset int64) (int, error) {
	err := h.ops.perform("write output", func() error {
		return device.CatchFault(func() error {
			copy(h.bytes[offset:], p)
			return nil
		}, pageError)
	})
	if err != nil {
		return 0, writeError(h.name, offset, err)
	}
	return len(p), nil
}

// pageError returns the error for a page that the system cannot allocate, which it signals as a
// fault (SIGBUS).
func pageError(uintptr) error {
	return fmt.Errorf("%w: its file system is in memory, which is full", unix.ENOSPC)
}

// flush does nothing: the mapping and the file share their pages.
func (h *hugePages) flush() error { return nil }

// discard does nothing.
func (h *hugePages) discard() {}

// close unmaps the file.
func (h *hugePages) close() { _ = unix.Munmap(h.addresses) }
