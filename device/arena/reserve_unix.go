//go:build unix

package arena

import (
	"runtime"

	"golang.org/x/sys/unix"
)

const linuxHugePages = 14 // MADV_HUGEPAGE, which the other systems do not have

// reserve starts an arena of a huge page or more at a multiple of one; the address space skipped for that is never
// touched.
func reserve(bytes int) (*Memory, error) {
	length := bytes
	if bytes >= HugePage {
		length += HugePage
	}
	mapping, err := unix.Mmap(-1, 0, length, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_ANON|unix.MAP_PRIVATE)
	if err != nil {
		return nil, err
	}
	m := &Memory{bytes: mapping, mapping: mapping}
	if bytes >= HugePage {
		m.bytes = alignUp(mapping, HugePage, bytes)
		if runtime.GOOS == "linux" {
			_ = unix.Madvise(m.bytes, linuxHugePages) // a refusal costs speed only
		}
	}
	return m, nil
}

func release(mapping []byte) error { return unix.Munmap(mapping) }

// discard gives pages back. A kernel that refuses keeps them, which costs memory only.
func discard(pages []byte) { _ = unix.Madvise(pages, unix.MADV_DONTNEED) }
