package input

import (
	"errors"
	"io"
	"math/bits"
	"os"
	"time"
	"unsafe"

	"golang.org/x/exp/mmap"

	"github.com/extsort/extsort/device"
)

// maxMappedBytes limits the total size of the files that one run maps: 32 TiB, or 512 MiB in a
// 32-bit process. The rest of the address space is left for the memory of the sort.
const maxMappedBytes = 1 << (29 + (bits.UintSize-32)/2)

// mappableBytes returns how many bytes of files a run may map. If the address space of the process
// is limited (ulimit -v), that is a quarter of the limit.
func mappableBytes() int64 {
	return min(maxMappedBytes, addressLimit()/4)
}

// shouldMap reports whether to try to read a file through a memory map. This is the case for regular
// files in the page cache, because reads then take no system call per block. These files are read
// with system calls instead:
//
//   - files that are on a disk, completely or partly, because each missing page is a fault that
//     waits for the disk: sorts took 1.14 to 1.25 times as long on a server with 16 cores, and 1.4
//     times with two cores
//   - block devices, whose size os.File.Stat does not report
//   - files too large for the rest of the address space
//   - files with holes in tmpfs, which a map would fill
//   - files that cannot be mapped, such as some files of FUSE, and files on a machine whose maps are
//     slow; see mapContent
//
// If there are more files than descriptors can stay open, files on a disk are mapped, too. Other
// sources, such as remote objects, are read with their ReadAt. If the plan uses direct I/O,
// UseDirectIO replaces the way in which records are read.
func (o *opener) shouldMap(f *localFile) bool {
	size := f.openedInfo.Size()
	switch {
	case o.kind.FewReads && o.keepsOpen:
		return false
	case !f.openedInfo.Mode().IsRegular() || size > o.mappable || growsByMap(f.file, f.openedInfo):
		return false
	case !o.keepsOpen:
		return true
	}
	return isCached(f.file, size)
}

// mapContent maps the content of a file, if shouldMap returns true, the system allows it, and maps
// are not slow here.
func (o *opener) mapContent(c *Content) (mapped bool) {
	f, ok := c.origin.(*localFile)
	if !ok || !o.shouldMap(f) {
		return false
	}
	pages, err := mapFile(f.file, f.openedInfo)
	if err != nil {
		return false
	}
	c.at.cached = true
	if o.keepsOpen && o.mapsAreSlow(f, pages) {
		_ = pages.Close() // nothing was written
		return false
	}
	o.mappable -= f.openedInfo.Size()
	c.at.source = pages
	return true
}

const (
	// leastTried is the size of a file from which a trial is worth its time.
	leastTried = 16 << 20
	triedBytes = 256 << 10

	// slowMap is the ratio of times from which maps count as slow.
	slowMap = 2
)

// mapsAreSlow reports whether reads through a map take much longer than system calls. It finds out
// by a trial with the first large file. On most machines, both take about the same time. But there
// are virtual machines where a map took 5 times as long.
func (o *opener) mapsAreSlow(f *localFile, pages *mappedFile) bool {
	size := f.openedInfo.Size()
	if size < leastTried {
		return false
	}
	if !o.triedMap {
		o.triedMap = true
		memory := make([]byte, triedBytes)
		_ = readTime(f.file, memory, 0) // so that neither time includes the first access to the memory
		calls := readTime(f.file, memory, size/4)
		maps := readTime(pages, memory, size/2) // another place, which the processor's caches don't hold yet
		o.slowMaps = maps > slowMap*calls
	}
	return o.slowMaps
}

// readTime returns the time of one read. An error is ignored, because it occurs again when the
// records are read.
func readTime(r io.ReaderAt, p []byte, off int64) time.Duration {
	start := time.Now()
	_, _ = r.ReadAt(p, off)
	return time.Since(start)
}

// A mappedFile reads a file through a memory map.
type mappedFile struct {
	pages *mmap.ReaderAt
}

var errNotSameFile = errors.New("the name refers to another file")

// mapFile maps all bytes that an open file has according to info.
func mapFile(file *os.File, info os.FileInfo) (*mappedFile, error) {
	path := pathOf(file)
	now, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if !os.SameFile(now, info) {
		return nil, errNotSameFile
	}
	pages, err := mmap.Open(path)
	if err != nil {
		return nil, err
	}
	if int64(pages.Len()) < info.Size() {
		return nil, errors.Join(errShorter, pages.Close())
	}
	return &mappedFile{pages}, nil
}

// errFault is wrapped with the name and the offset by the caller.
var errFault = errors.New("the file became shorter, or its disk failed, while it was being read")

// ReadAt implements io.ReaderAt. If the system cannot provide a page, it sends a signal, which
// ReadAt turns into errFault.
func (m *mappedFile) ReadAt(p []byte, off int64) (n int, err error) {
	if off >= int64(m.pages.Len()) {
		return 0, io.EOF
	}
	read := func() error {
		n, err = m.pages.ReadAt(p, off)
		return err
	}
	err = device.CatchFault(read, func(at uintptr) error { return mapFault(at, p) })
	return n, err
}

// mapFault returns the error for a page fault during a copy from a map to p. The address of the
// map is not known, but only the map and p are accessed.
func mapFault(at uintptr, p []byte) error {
	if at-uintptr(unsafe.Pointer(unsafe.SliceData(p))) < uintptr(len(p)) {
		return nil
	}
	return errFault
}

// Close unmaps the file. This happens at the end of a sort, because unmapping a large file blocks
// others that map memory, such as the driver of a GPU.
func (m *mappedFile) Close() error { return m.pages.Close() }
