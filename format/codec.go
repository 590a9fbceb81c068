package format

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/s2"
	"github.com/klauspost/compress/zstd"
	"github.com/klauspost/pgzip"
)

// Compression is a way to compress a stream or a block.
type Compression uint8

// The compressions. S2 reads Snappy's framing format too.
const (
	None Compression = iota
	Gzip
	Zstd
	S2
	Delta // of blocks of sorted records only: a BlockCoder's, see Packer
)

var (
	compressionNames    = []string{"none", "gzip", "zstd", "s2", "delta"}
	compressionSuffixes = []string{"", ".gz", ".zst", ".s2"}
)

// String is the name that ParseCompression reads, but for Delta.
func (c Compression) String() string { return compressionNames[c] }

// ParseCompression reads none, gzip, zstd or s2. Where s is empty the suffix of a file's name asks for one: .gz, .zst,
// .s2, else None.
func ParseCompression(s, name string) (Compression, error) {
	if s == "" {
		return Compression(max(slices.Index(compressionSuffixes, filepath.Ext(name)), 0)), nil
	}
	if at := slices.Index(compressionNames[:Delta], s); at >= 0 {
		return Compression(at), nil
	}
	return None, fmt.Errorf("unknown compression %q: use none, gzip, zstd or s2", s)
}

// DetectBytes is how many of the first bytes of a stream Detect wants to see. A shorter stream is given whole.
const DetectBytes = 10

// Detect recognises a compressed stream by its first bytes. Records may begin with any bytes, so it asks for
// as much as each format fixes: uniform random data is mistaken for gzip once in about 2^36 files, and for
// zstd once in 2^28.
//
//	gzip    1f 8b 08, flags below 20, time (4), extra flags 00 02 04, system 00 … 0d ff
//	zstd    28 b5 2f fd, or 50 … 5f 2a 4d 18 for a skippable frame
//	s2      ff 06 00 00 "S2sTwO", and Snappy's ff 06 00 00 "sNaPpY"
func Detect(first []byte) Compression {
	begins := func(magic string) bool { return bytes.HasPrefix(first, []byte(magic)) }
	switch {
	case begins("\x1f\x8b\x08") && len(first) >= 10 && first[3] < 0x20 &&
		bytes.IndexByte([]byte{0, 2, 4}, first[8]) >= 0 && (first[9] <= 13 || first[9] == 255):
		return Gzip
	case begins("\x28\xb5\x2f\xfd"), len(first) >= 4 && first[0]&0xf0 == 0x50 && string(first[1:4]) == "\x2a\x4d\x18":
		return Zstd
	case begins("\xff\x06\x00\x00S2sTwO"), begins("\xff\x06\x00\x00sNaPpY"):
		return S2
	}
	return None
}

// NewReader decompresses r, members or frames one after the other. Its errors tell the compressed offset. What it
// allocates is bounded by CodecMemory, but for zstd grows to the window that the stream demands: a frame that needs
// more than windowBytes is an error. Closing it does not close r.
//
// A gzip or zstd stream that is cut short is an error. An s2 stream does not say where it ends: one that is
// cut between two of its blocks looks complete.
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
}

type countingReader struct {
	r io.Reader
	n int64
}

func (c *countingReader) Read(p []byte) (int, error) {
	n, err := c.r.Read(p)
	c.n += int64(n)
	return n, err
}

func (d *decompressor) Read(p []byte) (n int, err error) {
	if d.plain == nil {
		err = d.open()
	}
	if err == nil {
		n, err = d.plain.Read(p)
	}
	if err == nil || err == io.EOF {
		return n, err
	}
	if errors.Is(err, zstd.ErrWindowSizeExceeded) || errors.Is(err, zstd.ErrDecoderSizeExceeded) {
		err = fmt.Errorf("it needs a window of more than %d MiB; decompress it first: %w", d.windowBytes>>20, err)
	}
	return n, fmt.Errorf("decompress %v near compressed byte %d: %w", d.compression, d.source.n, err)
}

func (d *decompressor) open() error {
	switch d.compression {
	case Gzip:
		z, err := gzip.NewReader(&d.source)
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
		d.plain = io.NopCloser(s2.NewReader(&d.source))
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
		return newGzipWriter(w, workers)
	case Zstd:
		return zstd.NewWriter(w, append(zstdOptions(workers), zstd.WithConcurrentBlocks(workers > 1))...)
	case S2:
		return s2.NewWriter(w, s2.WriterConcurrency(workers), s2.WriterBlockSize(s2Block)), nil
	}
	return nopWriteCloser{w}, nil
}

// gzipWriter is a pgzip.Writer whose goroutines end at Close when writing has failed, too.
type gzipWriter struct{ *pgzip.Writer }

func newGzipWriter(w io.Writer, workers int) (io.WriteCloser, error) {
	z, err := pgzip.NewWriterLevel(w, pgzip.BestSpeed)
	if err != nil {
		return nil, err
	}
	return gzipWriter{z}, z.SetConcurrency(gzipBlock, workers)
}

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
}

// CodecMemory is an upper estimate, in bytes, of what a codec holds, garbage included: for a NewWriter with so many
// workers, or (workers 0) for a NewReader of a stream whose window is at most 8 MiB, as zstd's levels up to 19 make.
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
