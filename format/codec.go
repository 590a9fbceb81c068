package format

import (
	"compress/bzip2"
	"errors"
	"fmt"
	"io"
	"math"

	"github.com/klauspost/compress/s2"
	"github.com/klauspost/compress/zstd"
	"github.com/klauspost/pgzip"
	"github.com/pierrec/lz4/v4"

	"github.com/extsort/extsort/internal/option"
)

// Compression is a way to compress a stream or a block.
type Compression uint8

// The compressions. S2 reads Snappy's framing format too.
const (
	None Compression = iota
	Gzip
	Zstd
	S2
	LZ4   // of inputs only
	Bzip2 // of inputs only
	Delta // of blocks of sorted records only: a BlockCoder's, see Packer
)

var compressionNames = []string{"none", "gzip", "zstd", "s2", "lz4", "bzip2", "delta"}

// String is the name that ParseCompression or Recognition reads, but for Delta.
func (c Compression) String() string { return compressionNames[c] }

// NewReader decompresses r, members or frames one after the other. Its errors tell the compressed offset. What it
// allocates is bounded by CodecMemory, but for zstd grows to the window that the stream demands: a frame that needs
// more than windowBytes is an error. Closing it does not close r.
//
// A stream that is cut short is an error. But s2 and Snappy streams that something else wrote do not say where they
// end: they look complete if they are cut between two of their blocks. Those of NewWriter have an end of their own.
//
// Where the stream is not what c says, the error names the flag with which a stream that was mistaken for a compressed
// one is read as it is.
func NewReader(r io.Reader, c Compression, windowBytes int64) io.ReadCloser {
	if c == None {
		return io.NopCloser(r)
	}
	windowBytes = max(windowBytes, zstd.MinWindowSize)
	return &decompressor{source: countingReader{r: r}, compression: c, windowBytes: uint64(windowBytes)}
}

type decompressor struct {
	source      countingReader
	compression Compression
	windowBytes uint64
	plain       io.ReadCloser // nil until the first Read
	begun       bool          // something was decompressed
	err         error         // sticks
}

type countingReader struct {
	r     io.Reader
	n     int64
	ended bool
	err   error // other than io.EOF
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
		d.err = d.explain(d.open())
	}
	if d.err == nil {
		n, err = d.plain.Read(p)
		d.begun = d.begun || n > 0
		d.err = d.explain(err)
	}
	return n, d.err
}

// explain says where decompression failed, and what to do unless the source did.
func (d *decompressor) explain(err error) error {
	if err == nil || err == io.EOF {
		return err
	}
	if errors.Is(err, zstd.ErrWindowSizeExceeded) || errors.Is(err, zstd.ErrDecoderSizeExceeded) {
		err = fmt.Errorf("it needs a window of more than %d MiB; decompress it first, or raise %v: %w",
			d.windowBytes>>20, option.MemoryBytes, err)
	}
	hint, cutShort := "", errors.Is(err, io.ErrUnexpectedEOF)
	if cutShort {
		err = fmt.Errorf("it was cut short or is damaged, get it whole again: %w", err)
	}
	if d.source.err == nil && !(cutShort && d.begun) && !errors.Is(err, errTrailing) {
		hint = fmt.Sprintf(" (if this is not %v: %v none)", d.compression, option.Decompress)
	}
	return fmt.Errorf("decompress %v near compressed byte %d: %w%s", d.compression, d.source.n, err, hint)
}

func (d *decompressor) open() error {
	switch d.compression {
	case Gzip:
		z, err := newGzipReader(&d.source)
		if err != nil {
			return err
		}
		d.plain = z
	case Zstd:
		z, err := zstd.NewReader(&d.source, zstd.WithDecoderConcurrency(2), zstd.WithDecoderLowmem(true),
			zstd.WithDecoderMaxWindow(d.windowBytes))
		if err != nil {
			return err
		}
		d.plain = z.IOReadCloser()
	case S2:
		d.plain = io.NopCloser(newS2Reader(&d.source))
	case LZ4:
		d.plain = io.NopCloser(lz4.NewReader(&d.source))
	case Bzip2:
		d.plain = io.NopCloser(bzip2.NewReader(&d.source))
	}
	return nil
}

func (d *decompressor) Close() error {
	if d.plain != nil {
		d.plain.Close() // it repeats an error of Read
	}
	return nil
}

// What is compressed with one history, and by itself: more takes memory for each worker, and makes records hardly
// smaller.
const (
	zstdWindow = 128 << 10
	s2Block    = 256 << 10
	gzipBlock  = 256 << 10
)

func zstdOptions(workers int) []zstd.EOption {
	return []zstd.EOption{
		zstd.WithEncoderConcurrency(workers), zstd.WithEncoderLevel(zstd.SpeedFastest),
		zstd.WithWindowSize(zstdWindow), zstd.WithLowerEncoderMem(true),
	}
}

// NewWriter compresses to w with up to workers goroutines. The stream is complete once it is closed; w stays
// open. The bytes of gzip do not depend on workers; those of zstd and s2 decompress to the same.
func NewWriter(w io.Writer, c Compression, workers int) (io.WriteCloser, error) {
	workers = max(workers, 1)
	switch c {
	case Gzip:
		z, err := pgzip.NewWriterLevel(w, pgzip.BestSpeed)
		if err != nil {
			return nil, err
		}
		return gzipWriter{z}, z.SetConcurrency(gzipBlock, workers)
	case Zstd:
		return zstd.NewWriter(w, append(zstdOptions(workers), zstd.WithConcurrentBlocks(workers > 1))...)
	case S2:
		return &s2Writer{blocks: s2.NewWriter(w, s2.WriterConcurrency(workers), s2.WriterBlockSize(s2Block))}, nil
	}
	return nopWriteCloser{w}, nil
}

// gzipWriter is a pgzip.Writer whose goroutines end at Close when writing has failed, too.
type gzipWriter struct{ *pgzip.Writer }

func (z gzipWriter) Close() error {
	err := z.Writer.Close()
	if err != nil {
		z.Reset(io.Discard)
	}
	return err
}

type nopWriteCloser struct{ io.Writer }

func (nopWriteCloser) Close() error { return nil }

// codecMemory has what CodecMemory is made of: of a reader, of a writer, and of each of its workers.
var codecMemory = [Delta + 1]struct{ reader, writer, worker int64 }{
	Gzip: {128 << 10, 3 << 20, 7 << 19},
	Zstd: {24 << 20, 16 << 20, 5 << 19},
	S2:   {10 << 20, 6 << 20, 1 << 20},

	LZ4:   {reader: 26 << 20}, // blocks of 8 MiB, as old frames have them; new ones, of 4 MiB, hold 9 MiB
	Bzip2: {reader: 5 << 20},  // a block of 900 kB, 4 bytes each
}

// CommonWindow is what zstd's levels up to 19 look back to at most, and what CodecMemory counts for a reader.
const CommonWindow = 8 << 20

// Window is how far the first frame of a stream that begins with first looks back, no less than CommonWindow.
func Window(c Compression, first []byte) int64 {
	var h zstd.Header
	if c != Zstd || h.Decode(first) != nil {
		return CommonWindow
	}
	window := h.WindowSize
	if h.SingleSegment {
		window = h.FrameContentSize
	}
	return int64(min(max(window, CommonWindow), math.MaxInt64/2))
}

// CodecMemory is an upper estimate, in bytes, of what a codec holds, garbage included: for a NewWriter with so many
// workers, or (workers 0) for a NewReader of a stream with a CommonWindow: a larger one takes that much more.
func CodecMemory(c Compression, workers int) int64 {
	m := &codecMemory[c]
	switch {
	case workers == 0:
		return m.reader
	case c == Zstd && workers == 1:
		return 4 << 20 // without goroutines
	}
	return m.writer + int64(workers)*m.worker
}
