package format

import (
	"encoding/binary"
	"errors"
	"io"

	"github.com/pierrec/lz4/v4"
)

// LZ4 is the frame format of lz4. It can only be read.
const LZ4 Compression = 4

var lz4Codec = codec{
	name:   "lz4",
	suffix: ".lz4",
	detect: isLZ4,
	reader: func(source *countingReader, _ int64) (io.ReadCloser, error) {
		return io.NopCloser(lz4.NewReader(source)), nil
	},
	unreadable: legacyLZ4,
	leanBytes:  8<<20 + 1<<19, // a block of 4 MiB, and the same compressed
	// Old frames have blocks of 8 MiB. New ones have blocks of 4 MiB and need 9 MiB.
	readerBytes: 26 << 20,
}

// isLZ4 recognizes a frame by the bytes 04 22 4d 18 and a descriptor with a correct checksum,
// even if the frame requires an unsupported feature.
func isLZ4(first []byte) bool {
	if !matches(first, "\x04\x22\x4d\x18") {
		return false
	}
	ok, err := lz4.ValidFrameHeader(first)
	return ok || errors.Is(err, lz4.ErrInvalidFrameDescriptor)
}

// legacyLZ4 recognizes a file from lz4 -l or the Linux kernel: 02 21 4c 18, followed by the size
// of a block that decompresses to at most 8 MiB. An empty file has no block.
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
	size := binary.LittleEndian.Uint32(first[4:])
	if size == 0 ||
		size > mostBytes {
		return ""
	}
	return legacy
}
