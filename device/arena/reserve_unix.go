//go:build unix

package arena

import (
	"runtime"

	"golang.org/x/sys/unix"
)

const linuxHugePages = 14 // MADV_HUGEPAGE, which only Linux has

// reserve maps an arena. An arena of a huge page or more starts at a multiple of a huge page; the
// address space skipped for that is never touched.
func reserve(bytes int) (*Memory, error) {
	length := bytes
	if bytes >= HugePage {
		length += HugePage
	}
	mapping, err := unix.Mmap(
		-1,
		0,
		length,
		unix.PROT_READ|unix.PROT_WRITE,
		unix.MAP_ANON|unix.MAP_PRIVATE,
	)
	if err != nil {
		return nil, err
	}
	m := &Memory{bytes: mapping, mapping: mapping}
	if bytes >= HugePage {
		m.bytes = alignUp(mapping, HugePage, bytes)
		if runtime.GOOS == "linux" {
			_ = unix.Madvise(m.bytes, linuxHugePages) // on failure, only speed is lost
		}
	}
	return m, nil
}

func release(mapping []byte) error { return unix.Munmap(mapping) }

// discard returns pages to the system. If the kernel refuses, only memory is lost.
func discard(pages []byte) {
	_ = unix.Madvise(pages, unix.MADV_DONTNEED)
}
