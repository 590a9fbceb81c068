package engine

import (
	"bufio"
	"io"
)

// recordsBuffer is the minimum buffer size for reading records one by one.
const recordsBuffer = 256 << 10

// EachRecord skips a header and passes records to yield until yield returns false.
func EachRecord(
	r io.Reader, header, size int, yield func([]byte, error) bool,
) (more bool, err error) {
	buffered := bufio.NewReaderSize(r, max(recordsBuffer, size))
	if _, err := buffered.Discard(header); err != nil {
		return true, err
	}
	for {
		record, err := buffered.Peek(size)
		if len(record) == 0 && err == io.EOF {
			return true, nil
		}
		if err != nil {
			return true, err
		}
		if !yield(record, nil) {
			return false, nil
		}
		buffered.Discard(size) // the record that yield has seen
	}
}
