package format

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
)

// A blockCodec compresses blocks that can be decompressed independently.
type blockCodec struct {
	// returns nil if it does not support the layout
	open     func(l Layout, atOnce int) blockCoder
	maxBytes func(n int) int // maximum compressed size of n bytes, n < 2^31
	// memory per block in progress, in addition to its buffer
	coderBytes func(blockBytes int) int
	// decompression time as a multiple of compression time
	decodeCost float64
	// position among the codecs that auto tries, from 1; 0 means not tried
	trial int
	packs bool // the blocks come from a Packer
}

// A blockCoder implements BlockCoder for one codec.
type blockCoder interface {
	compress(dst, src []byte) []byte
	decompress(dst, src []byte) ([]byte, error)
}

// BlockCompressions returns the names of the codecs for blocks in alphabetical order.
func BlockCompressions() []string {
	names := namesOf(func(c *codec) bool { return c.blocks != nil }, false)
	slices.Sort(names)
	return names
}

// ParseBlockCompression returns the codec for blocks with the given name. ok is false if there is
// none.
func ParseBlockCompression(name string) (c Compression, ok bool) {
	c = findCodec(func(c *codec) bool { return c.blocks != nil && c.name == name })
	return c, c != None
}

// TrialCompressions returns the codecs for blocks that are tried if the user names none.
func TrialCompressions() []Compression {
	var tried []Compression
	for i, c := range codecs {
		if c.blocks != nil && c.blocks.trial > 0 {
			tried = append(tried, Compression(i))
		}
	}

	slices.SortFunc(tried, func(a, b Compression) int {
		return cmp.Compare(codecs[a].blocks.trial, codecs[b].blocks.trial)
	})
	return tried
}

// Packs reports whether c uses a Packer, which predicts the size of its blocks.
func (c Compression) Packs() bool {
	return codecs[c].blocks != nil && codecs[c].blocks.packs
}

// DecodeCost returns the decompression time of a block as a multiple of its compression time.
// REQUIRES: c is a codec for blocks
func (c Compression) DecodeCost() float64 {
	return codecs[c].blocks.decodeCost
}

// A BlockCoder compresses and decompresses independent blocks, so that spill files can be read
// from any block. A block does not contain its codec; the caller has to store it. The methods of
// a BlockCoder are safe for concurrent use.
type BlockCoder struct {
	coders []blockCoder // by Compression; nil if not for blocks or not for these records
}

// NewBlockCoder returns a coder for blocks of records of a layout. Its zstd coders work on atOnce
// blocks at a time; further callers wait.
func NewBlockCoder(l Layout, atOnce int) *BlockCoder {
	b := &BlockCoder{coders: make([]blockCoder, len(codecs))}
	for i, c := range codecs {
		if c.blocks != nil {
			b.coders[i] = c.blocks.open(l, atOnce)
		}
	}
	return b
}

// Supports reports whether c can compress blocks of these records.
func (b *BlockCoder) Supports(c Compression) bool {
	return b.coders[c] != nil
}

// BlockMemory returns an upper estimate of the memory for compressing or decompressing atOnce
// blocks of blockBytes concurrently, in bytes. It includes a buffer of MaxCompressed bytes per
// block. One third of it is for garbage.
func BlockMemory(c Compression, atOnce, blockBytes int) int64 {
	blocks := codecs[c].blocks
	if blocks == nil {
		return 0
	}
	each := blocks.maxBytes(blockBytes) + blocks.coderBytes(blockBytes)
	return int64(atOnce) * int64(each) * 3 / 2
}

// MaxCompressed returns the maximum size of n compressed bytes, n < 2^31. For codecs that don't
// work on blocks, it returns n.
func MaxCompressed(n int, c Compression) int {
	if codecs[c].blocks == nil {
		return n
	}
	return codecs[c].blocks.maxBytes(n)
}

// Compress compresses src into dst and returns the compressed part of dst. REQUIRES: len(dst) ≥
// MaxCompressed(len(src), c); the coder supports c; src contains whole records; dst and src do
// not overlap
func (b *BlockCoder) Compress(dst, src []byte, c Compression) ([]byte, error) {
	need := MaxCompressed(len(src), c)
	if len(dst) < need {
		return nil, fmt.Errorf(
			"compress block of %d bytes: %d bytes of room, %d needed", len(src), len(dst),
			need,
		)
	}
	if !b.Supports(c) {
		return nil, fmt.Errorf(
			"compress %v block: %w", c, errors.ErrUnsupported,
		)
	}
	return b.coders[c].compress(dst, src), nil
}

// Decompress is the inverse of Compress. It is an error if a block contains more than len(dst)
// bytes; this is detected without allocating them. For Delta, dst must have the size of the
// original block, and src is copied unless it has a capacity of MaxCompressed.
func (b *BlockCoder) Decompress(
	dst, src []byte, c Compression,
) ([]byte, error) {
	if !b.Supports(c) {
		return nil, fmt.Errorf(
			"decompress %v block: %w", c, errors.ErrUnsupported,
		)
	}
	out, err := b.coders[c].decompress(dst, src)
	if err != nil {
		return nil, fmt.Errorf("decompress %v block: %w", c, err)
	}
	return out, nil
}
