package format

import (
	"cmp"
	"io"
)

// LeanMemory is an upper estimate, in bytes, of what a NewReader holds after Economize, without garbage: of a stream
// with a CommonWindow.
func LeanMemory(c Compression) int64 { return cmp.Or(codecs[c].leanBytes, codecs[c].readerBytes) }

// newPlain makes the reader of the codec.
func (d *decompressor) newPlain() (io.ReadCloser, error) {
	if d.lean && d.codec.leanReader != nil {
		return d.codec.leanReader(&d.source, d.windowBytes)
	}
	return d.codec.reader(&d.source, d.windowBytes)
}

// Economize has a reader of NewReader take no more than LeanMemory from now on, at the price of some speed. It has no
// effect on a reader that has begun.
func Economize(r io.Reader) {
	if d, ok := r.(*decompressor); ok {
		d.lean = true
	}
}

// Suspend has a reader of NewReader that has begun give its memory back until the next Read. That Read begins again
// with source, which must have the same bytes, and passes over those that were read before.
func Suspend(r io.Reader, source io.Reader) {
	d, ok := r.(*decompressor)
	if !ok || d.plain == nil || d.err != nil {
		return
	}
	d.plain.Close()
	d.plain, d.source = nil, countingReader{r: source}
	d.passed, d.given = d.given, 0
}

// passOver reads what was read before the reader was suspended.
func (d *decompressor) passOver() error {
	n, err := io.CopyN(io.Discard, d.plain, d.passed)
	d.given, d.passed = n, 0
	if err == io.EOF {
		err = io.ErrUnexpectedEOF
	}
	return err
}
