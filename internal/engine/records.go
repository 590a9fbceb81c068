package engine

import (
	"bufio"
	"io"
)

// recordsBuffer is what is read at a time of records that are given one by one, if one is not larger.
const recordsBuffer = 256 << 10

// EachRecord reads a header and then records until yield wants no more.
func EachRecord(r io.Reader, header, size int, yield func([]byte, error) bool) (more bool, err error) {
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
		buffered.Discard(size) // what was just seen
	}
}
