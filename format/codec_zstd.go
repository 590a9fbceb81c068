package format

import (
	"errors"
	"io"
	"math"
	"sync"

	"github.com/klauspost/compress/zstd"
)

// Zstd is the Zstandard format (RFC 8878): a sequence of frames and skippable frames.
const Zstd Compression = 2

var zstdCodec = codec{
	name:          "zstd",
	aliases:       []string{"zst"},
	suffix:        ".zst",
	otherSuffixes: []string{".zstd"},

	detect:      isZstd,
	reader:      newZstdReader(2),
	readerBytes: 24 << 20,
	leanReader:  newZstdReader(1),
	leanBytes:   CommonWindow + 1<<20,
	window:      zstdStreamWindow,

	writer:      newZstdWriter,
	writerBytes: zstdWriterBytes,

	blocks: &blockCodec{
		open: newZstdBlocks,
		// a header, and 3 bytes per raw block of 128 KiB
		maxBytes:   func(n int) int { return n + n>>15 + 64 },
		coderBytes: zstdBlockBytes,
		decodeCost: 0.5,
	},
}

// isZstd recognizes a frame by the bytes 28 b5 2f fd, and a skippable frame by 50 … 5f 2a 4d 18.
func isZstd(first []byte) bool {
	isSkippable := len(first) > 0 && first[0]&0xf0 == 0x50 &&
		matches(first, "?\x2a\x4d\x18")
	return isSkippable || matches(first, "\x28\xb5\x2f\xfd")
}

// A zstdReader marks errors about windows that are too large.
type zstdReader struct{ *zstd.Decoder }

// newZstdReader returns a function that opens readers. Each reader decodes blocksAtOnce blocks
// concurrently.
func newZstdReader(
	blocksAtOnce int,
) func(source *countingReader, windowBytes int64) (io.ReadCloser, error) {
	return func(source *countingReader, windowBytes int64) (io.ReadCloser, error) {
		window := uint64(max(windowBytes, zstd.MinWindowSize))
		z, err := zstd.NewReader(
			source,
			zstd.WithDecoderConcurrency(blocksAtOnce),
			zstd.WithDecoderLowmem(true),
			zstd.WithDecoderMaxWindow(window),
		)
		if err != nil {
			return nil, err
		}
		return zstdReader{z}, nil
	}
}

func (z zstdReader) Read(p []byte) (int, error) {
	n, err := z.Decoder.Read(p)
	if errors.Is(err, zstd.ErrWindowSizeExceeded) ||
		errors.Is(err, zstd.ErrDecoderSizeExceeded) {
		err = &windowError{err}
	}
	return n, err
}

func (z zstdReader) Close() error {
	z.Decoder.Close()
	return nil
}

func zstdStreamWindow(first []byte) int64 {
	var h zstd.Header
	if h.Decode(first) != nil {
		return 0
	}
	window := h.WindowSize
	if h.SingleSegment {
		window = h.FrameContentSize
	}
	return int64(min(window, math.MaxInt64/2))
}

// zstdWindow is the window size of the streams and blocks that extsort writes. A larger window
// needs more memory per worker and hardly improves the compression of records.
const zstdWindow = 128 << 10

func zstdOptions(workers int) []zstd.EOption {
	return []zstd.EOption{
		zstd.WithEncoderConcurrency(workers), zstd.WithEncoderLevel(zstd.SpeedFastest),
		zstd.WithWindowSize(zstdWindow), zstd.WithLowerEncoderMem(true),
	}
}

func newZstdWriter(w io.Writer, workers int) (io.WriteCloser, error) {
	return zstd.NewWriter(
		w, append(
			zstdOptions(workers), zstd.WithConcurrentBlocks(workers > 1),
		)...,
	)
}

func zstdWriterBytes(workers int) int64 {
	if workers == 1 {
		return 4 << 20 // without goroutines
	}
	return 16<<20 + int64(workers)*5<<19
}

// zstdBlocks creates its encoder and decoder on first use.
type zstdBlocks struct {
	encoder func() *zstd.Encoder
	decoder func() *zstd.Decoder
}

func newZstdBlocks(_ Layout, atOnce int) blockCoder {
	return &zstdBlocks{
		encoder: sync.OnceValue(func() *zstd.Encoder {
			return must(
				zstd.NewWriter(
					nil,
					append(zstdOptions(atOnce), zstd.WithEncoderCRC(false))...,
				),
			)
		}),
		decoder: sync.OnceValue(func() *zstd.Decoder {
			return must(
				zstd.NewReader(
					nil,
					zstd.WithDecoderConcurrency(atOnce),
					zstd.WithDecodeAllCapLimit(true),
				),
			)
		}),
	}
}

// must is for coders with constant options, which cannot fail.
func must[T any](coder T, err error) T {
	if err != nil {
		panic(err)
	}
	return coder
}

func (z *zstdBlocks) compress(dst, src []byte) []byte {
	return z.encoder().EncodeAll(src, dst[:0:len(dst)])
}

func (z *zstdBlocks) decompress(dst, src []byte) ([]byte, error) {
	return z.decoder().DecodeAll(src, dst[:0:len(dst)])
}

func zstdBlockBytes(blockBytes int) int {
	const kib = 1 << 10
	encoder := min(384*kib+4*blockBytes, 1250*kib)
	decoder := 128*kib + blockBytes*5/4
	return encoder + decoder
}
