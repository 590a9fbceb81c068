//go:build unix

package input

import (
	"fmt"
	"os"

	"golang.org/x/sys/unix"

	"github.com/extsort/extsort/device"
)

// mapping is records of an input in memory.
type mapping struct {
	input *Input
	pages []byte
	from  int64 // the place of the pages in the file
	skip  int   // bytes before the first record
}

// mapRecords maps n records from index first on, or gives nil where that cannot be done.
func (in *Input) mapRecords(first, n int64) (device.Mapping, error) {
	f := in.at
	if f.file == nil {
		return nil, nil
	}
	size := int64(in.Header.Layout().RecordSize)
	start := f.start + in.Header.Size() + first*size
	from := start - start%int64(os.Getpagesize())
	length := start - from + n*size
	if int64(int(length)) != length {
		return nil, nil
	}
	pages, err := unix.Mmap(int(f.file.Fd()), from, int(length), unix.PROT_READ, unix.MAP_SHARED)
	if err != nil {
		return nil, nil // it is to be read in the other way
	}
	return &mapping{in, pages, from - f.start, int(start - from)}, nil
}

func (m *mapping) Bytes() []byte { return m.pages[m.skip:] }

func (m *mapping) Fault(at int) error {
	return fmt.Errorf("read %s at byte %d: %w", m.input.Name, m.from+int64(m.skip+at), errFault)
}

func (m *mapping) Close() error { return unix.Munmap(m.pages) }
