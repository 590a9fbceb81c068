package format

import (
	"errors"
	"fmt"
	"io"

	"github.com/extsort/extsort/internal/option"
)

// NewReader returns a reader that decompresses r, which may consist of several members or frames.
// Its errors contain the offset in the compressed stream. It needs the memory given by
// CodecMemory, plus the amount by which the window of the stream exceeds CommonWindow. A window
// of more than windowBytes is an error. Closing the reader does not close r.
//
// A truncated stream is an error. However, s2 and Snappy streams of other programs do not mark
// their ends, so truncation between two blocks goes unnoticed. Streams of NewWriter do mark their
// ends.
//
// If the stream is not valid, the error names the flag for reading an input that was mistaken for
// a compressed one.
func NewReader(r io.Reader, c Compression, windowBytes int64) io.ReadCloser {
	if c == None {
		return io.NopCloser(r)
	}
	return &decompressor{
		source:      countingReader{r: r},
		codec:       codecs[c],
		windowBytes: windowBytes,
	}
}

type decompressor struct {
	source        countingReader
	codec         *codec
	windowBytes   int64
	plain         io.ReadCloser // nil until the first Read
	begun         bool          // some data was decompressed
	err           error         // permanent
	lean          bool          // see ReduceMemory
	returnedBytes int64         // number of bytes returned
	bytesToSkip   int64         // number of bytes to skip; see Suspend
}

type countingReader struct {
	r     io.Reader
	n     int64
	ended bool
	err   error // an error other than io.EOF
}

func (c *countingReader) Read(p []byte) (int, error) {
	n, err := c.r.Read(p)
	c.n += int64(n)
	if c.ended = err == io.EOF; !c.ended {
		c.err = err
	}
	return n, err
}

func (d *decompressor) Read(p []byte) (n int, err error) {
	if d.err == nil && d.plain == nil {
		d.plain, err = d.newPlain()
		d.err = d.explain(err)
	}

	if d.err == nil && d.bytesToSkip > 0 {
		d.err = d.explain(d.skipPassed())
	}
	if d.err == nil {
		n, err = d.plain.Read(p)
		d.returnedBytes += int64(n)
		d.begun = d.begun || n > 0
		d.err = d.explain(err)
	}

	return n, d.err
}

// A windowError reports a stream whose window is too large.
type windowError struct{ error }

func (e *windowError) Unwrap() error { return e.error }

// errTrailing reports data after the end of a compressed stream.
var errTrailing = errors.New(
	"other bytes follow the compressed data: decompress it first",
)

// explain adds the position to an error and, unless the source caused the error, advice.
func (d *decompressor) explain(err error) error {
	if err == nil || err == io.EOF {
		return err
	}
	_, tooFar := errors.AsType[*windowError](err)
	if tooFar {
		err = fmt.Errorf(
			"it needs a window of more than %d MiB; decompress it first, or raise %v: %w",
			d.windowBytes>>20, option.MemoryBytes, err,
		)
	}
	cutShort := errors.Is(err, io.ErrUnexpectedEOF)
	if cutShort {
		err = fmt.Errorf(
			"it was cut short or is damaged, get a complete copy: %w", err,
		)
	}
	hint := ""
	if d.source.err == nil && !d.isCertain(cutShort, err) {
		hint = fmt.Sprintf(
			" (if this is not %v: %v none)", d.codec.name, option.Decompress,
		)
	}
	return fmt.Errorf(
		"decompress %v near compressed byte %d: %w%s", d.codec.name, d.source.n, err, hint,
	)
}

// isCertain reports whether the stream certainly belongs to the codec, in spite of its error. Any
// data may look like the beginning of a stream without a magic number.
func (d *decompressor) isCertain(cutShort bool, err error) bool {
	return d.codec.detect != nil &&
		(cutShort && d.begun || errors.Is(err, errTrailing))
}

func (d *decompressor) Close() error {
	if d.plain != nil {
		d.plain.Close() // Read has already returned its error
	}
	return nil
}
