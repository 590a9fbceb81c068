package format

import (
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/klauspost/compress/s2"
	"github.com/klauspost/compress/zstd"
)

// BlockCoder compresses and decompresses blocks on their own, so that spill can be read at any block. A block does
// not carry its compression: who writes it notes that. Its methods are safe for concurrent use.
type BlockCoder struct {
	packer  *Packer              // nil: it cannot Delta
	encoder func() *zstd.Encoder // made when first needed, as is the decoder
	decoder func() *zstd.Decoder
}

// NewBlockCoder makes a coder for blocks of records of a layout. It holds what zstd needs for atOnce blocks at the
// same time: further callers wait.
func NewBlockCoder(l Layout, atOnce int) *BlockCoder {
	return &BlockCoder{
		packer: NewPacker(l),
		encoder: sync.OnceValue(func() *zstd.Encoder {
			return must(zstd.NewWriter(nil, append(zstdOptions(atOnce), zstd.WithEncoderCRC(false))...))
		}),
		decoder: sync.OnceValue(func() *zstd.Decoder {
			return must(zstd.NewReader(nil, zstd.WithDecoderConcurrency(atOnce), zstd.WithDecodeAllCapLimit(true)))
		}),
	}
}

// must is for coders whose options are constants.
func must[T any](coder T, err error) T {
	if err != nil {
		panic(err)
	}
	return coder
}

// Packs reports whether the records can be compressed by Delta.
func (b *BlockCoder) Packs() bool { return b.packer != nil }

// BlockMemory is an upper estimate, in bytes, of what atOnce blocks of blockBytes that are compressed or decompressed
// at the same time take, each with a buffer of MaxCompressed bytes. A third of it is for garbage.
func BlockMemory(c Compression, atOnce, blockBytes int) int64 {
	const kib = 1 << 10
	each := MaxCompressed(blockBytes, c)
	switch c {
	case None:
		return 0
	case S2:
		each += 64 * kib
	case Zstd:
		encoder, decoder := min(384*kib+4*blockBytes, 1250*kib), 128*kib+blockBytes*5/4
		each += encoder + decoder
	}
	return int64(atOnce) * int64(each) * 3 / 2
}

// MaxCompressed is the most bytes that Compress makes of n, n < 2^31; n for what it does not know.
func MaxCompressed(n int, c Compression) int {
	switch c {
	case S2:
		return s2.MaxEncodedLen(n)
	case Zstd: // a header, and 3 bytes for each raw block of 128 KiB
		return n + n>>15 + 64
	case Delta: // with the padding that Unpack needs
		return n + maxPackHeaders(n) + packPadding
	}
	return n
}

// Compress compresses src into the memory of dst and returns it.
// REQUIRES: len(dst) ≥ MaxCompressed(len(src), c); c is S2, Zstd or, for whole records, Delta; dst and src do
// not overlap.
func (b *BlockCoder) Compress(dst, src []byte, c Compression) ([]byte, error) {
	if need := MaxCompressed(len(src), c); len(dst) < need {
		return nil, fmt.Errorf("compress block of %d bytes: %d bytes of room, %d needed", len(src), len(dst), need)
	}
	switch c {
	case S2:
		return s2.Encode(dst, src), nil
	case Zstd:
		return b.encoder().EncodeAll(src, dst[:0:len(dst)]), nil
	case Delta:
		if b.Packs() {
			return b.packer.Pack(dst, src), nil
		}
	}
	return nil, fmt.Errorf("compress %v block: %w", c, errors.ErrUnsupported)
}

// Decompress is the inverse of Compress. A block that holds more than len(dst) bytes is an error, found without
// allocating them. Of Delta, dst has to have the size of what was compressed, and src is copied where it has not the
// capacity of MaxCompressed.
func (b *BlockCoder) Decompress(dst, src []byte, c Compression) (out []byte, err error) {
	switch {
	case c == S2:
		var size int
		if size, err = s2.DecodedLen(src); err == nil && size > len(dst) {
			err = fmt.Errorf("it holds %d bytes, where %d were expected", size, len(dst))
		}
		if err == nil {
			out, err = s2.Decode(dst[:size], src)
		}
	case c == Zstd:
		out, err = b.decoder().DecodeAll(src, dst[:0:len(dst)])
	case c == Delta && b.Packs():
		out, err = dst, b.packer.Unpack(dst, slices.Grow(src, packPadding))
	default:
		err = errors.ErrUnsupported
	}
	if err != nil {
		return nil, fmt.Errorf("decompress %v block: %w", c, err)
	}
	return out, nil
}
