//go:build unix

package arena

import "golang.org/x/sys/unix"

// hugePage is the size of a huge page on amd64 and arm64 with 4 KiB pages. An arena of that size or more starts at
// a multiple of it; the address space skipped for that is never touched.
const hugePage = 2 << 20

func reserve(bytes int) (*Memory, error) {
	length := bytes
	if bytes >= hugePage {
		length += hugePage
	}
	mapping, err := unix.Mmap(-1, 0, length, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_ANON|unix.MAP_PRIVATE)
	if err != nil {
		return nil, err
	}
	m := &Memory{bytes: mapping, mapping: mapping}
	if bytes >= hugePage {
		m.bytes = alignUp(mapping, hugePage, bytes)
		adviseHuge(m.bytes)
	}
	return m, nil
}

func release(mapping []byte) error { return unix.Munmap(mapping) }

// discard gives pages back. A kernel that refuses keeps them, which costs memory only.
func discard(pages []byte) { _ = unix.Madvise(pages, unix.MADV_DONTNEED) }
