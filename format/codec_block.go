package format

import (
	"errors"
	"fmt"
	"runtime"
	"sync"

	"github.com/klauspost/compress/s2"
	"github.com/klauspost/compress/zstd"
)

// Blocks are compressed on their own, so that spill can be read at any block. A block does not carry its
// compression: who writes it notes that.

// blockState is what zstd keeps for all blocks: as many encoders and decoders as there are processors, made
// when first needed. More goroutines than that wait for each other.
var blockState = sync.OnceValue(func() (state struct {
	encoder *zstd.Encoder
	decoder *zstd.Decoder
}) {
	var errs [2]error
	processors := runtime.GOMAXPROCS(0)
	state.encoder, errs[0] = zstd.NewWriter(nil, zstd.WithEncoderConcurrency(processors), zstd.WithEncoderLevel(zstd.SpeedFastest),
		zstd.WithWindowSize(zstdWindow), zstd.WithLowerEncoderMem(true), zstd.WithEncoderCRC(false))
	state.decoder, errs[1] = zstd.NewReader(nil, zstd.WithDecoderConcurrency(processors), zstd.WithDecodeAllCapLimit(true))
	if err := errors.Join(errs[:]...); err != nil {
		panic(err) // the options are constants
	}
	return state
})

// MaxCompressed is the most bytes that CompressBlock makes of n, n < 2^31.
func MaxCompressed(n int, c Compression) int {
	switch c {
	case S2:
		return s2.MaxEncodedLen(n)
	case Zstd: // a header, and 3 bytes for each raw block of 128 KiB
		return n + n>>15 + 64
	}
	return n
}

// CompressBlock compresses src into the memory of dst and returns it. It is safe for concurrent use.
// REQUIRES: len(dst) ≥ MaxCompressed(len(src), c); c is None, S2 or Zstd; dst and src do not overlap.
func CompressBlock(dst, src []byte, c Compression) ([]byte, error) {
	if need := MaxCompressed(len(src), c); len(dst) < need {
		return nil, fmt.Errorf("compress block of %d bytes: %d bytes of room, %d needed", len(src), len(dst), need)
	}
	switch c {
	case None:
		return dst[:copy(dst, src)], nil
	case S2:
		return s2.Encode(dst, src), nil
	case Zstd:
		return blockState().encoder.EncodeAll(src, dst[:0:len(dst)]), nil
	}
	return nil, fmt.Errorf("%v does not compress blocks: use none, s2 or zstd", c)
}

// DecompressBlock is the inverse of CompressBlock. A block that holds more than len(dst) bytes is an error,
// found without allocating them. It is safe for concurrent use.
func DecompressBlock(dst, src []byte, c Compression) ([]byte, error) {
	switch c {
	case None:
		if len(src) > len(dst) {
			return nil, tooLarge(len(src), len(dst))
		}
		return dst[:copy(dst, src)], nil
	case S2:
		n, err := s2.DecodedLen(src)
		if err != nil {
			return nil, fmt.Errorf("decompress s2 block: %w", err)
		}
		if n > len(dst) {
			return nil, tooLarge(n, len(dst))
		}
		out, err := s2.Decode(dst[:n], src)
		if err != nil {
			return nil, fmt.Errorf("decompress s2 block: %w", err)
		}
		return out, nil
	case Zstd:
		out, err := blockState().decoder.DecodeAll(src, dst[:0:len(dst)])
		if err != nil {
			return nil, fmt.Errorf("decompress zstd block: %w", err)
		}
		if len(out) > len(dst) {
			return nil, tooLarge(len(out), len(dst))
		}
		return out, nil
	}
	return nil, fmt.Errorf("%v does not compress blocks: use none, s2 or zstd", c)
}

func tooLarge(n, room int) error {
	return fmt.Errorf("decompress block: it holds %d bytes, where %d were expected", n, room)
}

// CodecMemory is an upper estimate, in bytes, of what a codec holds: for a NewWriter with so many workers, or
// (workers 0) for a NewReader of a stream whose window is at most 8 MiB, as zstd's levels up to 19 make.
// Blocks cost CodecMemory(c, GOMAXPROCS) once, whatever the number of calls.
func CodecMemory(c Compression, workers int) int64 {
	const kib, mib = 1 << 10, 1 << 20
	w := int64(workers)
	switch {
	case c == Gzip && workers == 0:
		return 128 * kib
	case c == Gzip:
		return w * 7 * mib / 2
	case c == Zstd && workers == 0:
		return 24 * mib
	case c == Zstd:
		return 2*mib + w*14*mib
	case c == S2 && workers == 0:
		return 10 * mib
	case c == S2:
		return 4*mib + w*4*mib
	}
	return 0
}
