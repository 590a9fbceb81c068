package format

import (
	"encoding/binary"
	"errors"
	"io"

	"github.com/pierrec/lz4/v4"
)

// LZ4 is lz4's frame format, which is read only.
const LZ4 Compression = 4

var lz4Codec = codec{
	name:   "lz4",
	suffix: ".lz4",
	detect: isLZ4,
	reader: func(source *countingReader, _ int64) (io.ReadCloser, error) {
		return io.NopCloser(lz4.NewReader(source)), nil
	},
	unreadable:  legacyLZ4,
	leanBytes:   8<<20 + 1<<19, // a block of 4 MiB, and the same compressed
	readerBytes: 26 << 20,      // blocks of 8 MiB, as old frames have them; new ones, of 4 MiB, hold 9 MiB
}

// isLZ4 recognises a frame by 04 22 4d 18 and a descriptor whose checksum is right, also one that asks for a feature
// that cannot be read.
func isLZ4(first []byte) bool {
	if !matches(first, "\x04\x22\x4d\x18") {
		return false
	}
	ok, err := lz4.ValidFrameHeader(first)
	return ok || errors.Is(err, lz4.ErrInvalidFrameDescriptor)
}

// legacyLZ4 recognises a file as lz4 -l and the Linux kernel write it: 02 21 4c 18, then the size of a block that
// decompresses to 8 MiB at most. An empty file has no block.
func legacyLZ4(first []byte) string {
	const (
		mostBytes = 8<<20 + 8<<20/255 + 16
		legacy    = "in its legacy format"
	)
	if !matches(first, "\x02\x21\x4c\x18") {
		return ""
	}
	if len(first) == 4 {
		return legacy
	}
	if len(first) < 8 {
		return ""
	}
	if size := binary.LittleEndian.Uint32(first[4:]); size == 0 || size > mostBytes {
		return ""
	}
	return legacy
}
