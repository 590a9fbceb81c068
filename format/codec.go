package format

import (
	"errors"
	"fmt"
	"io"
)

// A Compression identifies a codec. It is an index into the table of codecs.
type Compression uint8

// None leaves bytes unchanged. The other values of Compression are in the files of their codecs.
// The values are written to checkpoints, so they must not change.
const None Compression = 0

// codecs is the table of compressions. A new codec is a file and a row here.
var codecs = []*codec{
	None:  &plainCodec,
	Gzip:  &gzipCodec,
	Zstd:  &zstdCodec,
	S2:    &s2Codec,
	LZ4:   &lz4Codec,
	Bzip2: &bzip2Codec,
	Delta: &deltaCodec,

	Brotli: &brotliCodec,
}

// A codec is a compression for inputs, outputs or the blocks of spill files. Functions that it
// does not support are nil.
type codec struct {
	name    string   // as used in flags and reports
	aliases []string // other names that ParseCompression accepts

	suffix string // suffix of file names, with its dot; selects the codec for outputs
	// otherSuffixes are used by other programs. No output is written under them.
	otherSuffixes []string

	// detect reports whether a stream that begins with these bytes is compressed with this codec.
	// If it is nil, the codec cannot be detected, and the suffix of the input's name decides.
	detect func(first []byte) bool

	// unreadable describes a variant of the format that reader does not support, if the stream
	// begins like one; otherwise it returns "".
	unreadable func(first []byte) string

	// reader decompresses a stream whose window is at most windowBytes; see windowError.
	reader      func(source *countingReader, windowBytes int64) (io.ReadCloser, error)
	readerBytes int64 // its memory, for a window of CommonWindow
	// window size of a stream in bytes; nil means at most CommonWindow
	window func(first []byte) int64

	// leanReader is a reader that needs less memory, if there is one. leanBytes is its memory
	// without garbage; 0 means readerBytes.
	leanReader func(source *countingReader, windowBytes int64) (io.ReadCloser, error)
	leanBytes  int64

	// writer compresses a stream with up to the given number of goroutines.
	writer      func(w io.Writer, workers int) (io.WriteCloser, error)
	writerBytes func(workers int) int64 // its memory

	blocks *blockCodec // compresses blocks of spill files
}

// plainCodec is the codec of None.
var plainCodec = codec{
	name: "none",
	reader: func(r *countingReader, _ int64) (io.ReadCloser, error) {
		return io.NopCloser(r), nil
	},
	writer: func(w io.Writer, _ int) (io.WriteCloser, error) {
		return nopWriteCloser{w}, nil
	},
	writerBytes: func(int) int64 { return 0 },
}

type nopWriteCloser struct{ io.Writer }

func (nopWriteCloser) Close() error { return nil }

// perWorker returns the memory function of a writer that needs base bytes, plus each bytes per
// worker.
func perWorker(base, each int64) func(workers int) int64 {
	return func(workers int) int64 { return base + int64(workers)*each }
}

func (c *codec) isRead() bool    { return c.reader != nil }
func (c *codec) isWritten() bool { return c.writer != nil }

// NewWriter returns a writer that compresses to w with up to workers goroutines. The stream is
// complete after the writer is closed; w stays open. The output of gzip and brotli does not
// depend on workers. The output of zstd and s2 does, but decompresses to the same data. It is an
// error if the codec cannot be written.
func NewWriter(
	w io.Writer,
	c Compression,
	workers int,
) (io.WriteCloser, error) {
	if !codecs[c].isWritten() {
		return nil, fmt.Errorf("compress with %v: %w", c, errors.ErrUnsupported)
	}
	return codecs[c].writer(w, max(workers, 1))
}

// CommonWindow is the maximum window size of zstd's levels up to 19. CodecMemory assumes it for a
// reader.
const CommonWindow = 8 << 20

// StreamWindowBytes returns the window size of the first frame of a stream in bytes, but at least
// CommonWindow.
func StreamWindowBytes(c Compression, first []byte) int64 {
	if codecs[c].window == nil {
		return CommonWindow
	}
	return max(codecs[c].window(first), CommonWindow)
}

// CodecMemory returns an upper estimate of the memory of a codec in bytes, including garbage: for
// a NewWriter with the given number of workers or, if workers is 0, for a NewReader of a stream
// with a window of CommonWindow. A larger window needs correspondingly more.
func CodecMemory(c Compression, workers int) int64 {
	if workers == 0 {
		return codecs[c].readerBytes
	}
	if !codecs[c].isWritten() {
		return 0
	}
	return codecs[c].writerBytes(workers)
}
