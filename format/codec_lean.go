package format

import (
	"cmp"
	"io"
)

// LeanMemory returns an upper estimate of the memory of a NewReader after ReduceMemory, in bytes,
// without garbage, for a stream with a window of CommonWindow.
func LeanMemory(c Compression) int64 {
	return cmp.Or(codecs[c].leanBytes, codecs[c].readerBytes)
}

// newPlain opens the reader of the codec.
func (d *decompressor) newPlain() (io.ReadCloser, error) {
	if d.lean && d.codec.leanReader != nil {
		return d.codec.leanReader(&d.source, d.windowBytes)
	}
	return d.codec.reader(&d.source, d.windowBytes)
}

// ReduceMemory makes a reader from NewReader use no more than LeanMemory, at the cost of some speed.
// It has no effect after the first Read.
func ReduceMemory(r io.Reader) {
	d, ok := r.(*decompressor)
	if ok {
		d.lean = true
	}
}

// Suspend makes a reader from NewReader release its memory until the next Read. That Read starts
// again with source, which must contain the same bytes, and skips the data that was read before.
func Suspend(r io.Reader, source io.Reader) {
	d, ok := r.(*decompressor)
	if !ok || d.plain == nil || d.err != nil {
		return
	}
	d.plain.Close()
	d.plain = nil
	d.source = countingReader{r: source}
	d.bytesToSkip = d.returnedBytes
	d.returnedBytes = 0
}

// skipPassed skips the data that was read before the reader was suspended.
func (d *decompressor) skipPassed() error {
	n, err := io.CopyN(io.Discard, d.plain, d.bytesToSkip)
	d.returnedBytes = n
	d.bytesToSkip = 0
	if err == io.EOF {
		err = io.ErrUnexpectedEOF
	}
	return err
}
