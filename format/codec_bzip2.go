package format

import (
	"compress/bzip2"
	"io"
)

// Bzip2 is the format of bzip2. It can only be read.
const Bzip2 Compression = 5

var bzip2Codec = codec{
	name:   "bzip2",
	suffix: ".bz2",
	detect: isBzip2,
	reader: func(source *countingReader, _ int64) (io.ReadCloser, error) {
		return io.NopCloser(bzip2.NewReader(source)), nil
	},
	readerBytes: 5 << 20, // a block of 900 kB, 4 bytes per byte
}

// isBzip2 recognizes a stream by "BZh", the block size, and the magic number of a block or of the
// end.
func isBzip2(first []byte) bool {
	return matches(first, "BZh?1AY&SY") || matches(
		first, "BZh?\x17\x72\x45\x38\x50\x90",
	)
}
