package format

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
)

// blockCodec is how a codec compresses blocks on their own.
type blockCodec struct {
	open       func(l Layout, atOnce int) blockCoder // nil: it cannot compress records of that layout
	maxBytes   func(n int) int                       // the most bytes that n become, n < 2^31
	coderBytes func(blockBytes int) int              // memory for each block at work, in addition to its buffer
	decodeCost float64                               // time to decompress a block, as a multiple of that to compress it
	trial      int                                   // place among the codecs that auto tries, from 1; 0: it is not tried
	packs      bool                                  // the blocks are those of a Packer
}

// blockCoder compresses and decompresses blocks as BlockCoder does, for one codec.
type blockCoder interface {
	compress(dst, src []byte) []byte
	decompress(dst, src []byte) ([]byte, error)
}

// BlockCompressions returns the names of the codecs for blocks, in alphabetical order.
func BlockCompressions() []string {
	names := namesOf(func(c *codec) bool { return c.blocks != nil }, false)
	slices.Sort(names)
	return names
}

// ParseBlockCompression returns the codec for blocks of that name. ok is false if there is none.
func ParseBlockCompression(name string) (c Compression, ok bool) {
	c = find(func(c *codec) bool { return c.blocks != nil && c.name == name })
	return c, c != None
}

// TrialCompressions returns the codecs for blocks that are worth a trial where no codec was named.
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

// Packs reports whether the blocks of c are those of a Packer, which predicts their size.
func (c Compression) Packs() bool { return codecs[c].blocks != nil && codecs[c].blocks.packs }

// DecodeCost returns how long it takes to decompress a block, as a multiple of the time to compress it.
// REQUIRES: c is a codec for blocks.
func (c Compression) DecodeCost() float64 { return codecs[c].blocks.decodeCost }

// BlockCoder compresses and decompresses blocks on their own, so that spill can be read at any block. A block does
// not carry its compression: who writes it notes that. Its methods are safe for concurrent use.
type BlockCoder struct {
	coders []blockCoder // by Compression; nil: not for blocks, or not for these records
}

// NewBlockCoder makes a coder for blocks of records of a layout. It holds what zstd needs for atOnce blocks at the
// same time: further callers wait.
func NewBlockCoder(l Layout, atOnce int) *BlockCoder {
	b := &BlockCoder{coders: make([]blockCoder, len(codecs))}
	for i, c := range codecs {
		if c.blocks != nil {
			b.coders[i] = c.blocks.open(l, atOnce)
		}
	}
	return b
}

// Supports reports whether blocks of the records can be compressed by c.
func (b *BlockCoder) Supports(c Compression) bool { return b.coders[c] != nil }

// BlockMemory is an upper estimate, in bytes, of what atOnce blocks of blockBytes that are compressed or decompressed
// at the same time take, each with a buffer of MaxCompressed bytes. A third of it is for garbage.
func BlockMemory(c Compression, atOnce, blockBytes int) int64 {
	blocks := codecs[c].blocks
	if blocks == nil {
		return 0
	}
	each := blocks.maxBytes(blockBytes) + blocks.coderBytes(blockBytes)
	return int64(atOnce) * int64(each) * 3 / 2
}

// MaxCompressed is the most bytes that Compress makes of n, n < 2^31; n for a codec that is not for blocks.
func MaxCompressed(n int, c Compression) int {
	if codecs[c].blocks == nil {
		return n
	}
	return codecs[c].blocks.maxBytes(n)
}

// Compress compresses src into the memory of dst and returns it.
// REQUIRES: len(dst) ≥ MaxCompressed(len(src), c); the coder supports c; src has whole records; dst and src do
// not overlap.
func (b *BlockCoder) Compress(dst, src []byte, c Compression) ([]byte, error) {
	if need := MaxCompressed(len(src), c); len(dst) < need {
		return nil, fmt.Errorf("compress block of %d bytes: %d bytes of room, %d needed", len(src), len(dst), need)
	}
	if !b.Supports(c) {
		return nil, fmt.Errorf("compress %v block: %w", c, errors.ErrUnsupported)
	}
	return b.coders[c].compress(dst, src), nil
}

// Decompress is the inverse of Compress. A block that holds more than len(dst) bytes is an error, found without
// allocating them. Of Delta, dst has to have the size of what was compressed, and src is copied where it has not the
// capacity of MaxCompressed.
func (b *BlockCoder) Decompress(dst, src []byte, c Compression) ([]byte, error) {
	if !b.Supports(c) {
		return nil, fmt.Errorf("decompress %v block: %w", c, errors.ErrUnsupported)
	}
	out, err := b.coders[c].decompress(dst, src)
	if err != nil {
		return nil, fmt.Errorf("decompress %v block: %w", c, err)
	}
	return out, nil
}
