package format

import (
	"bufio"
	"fmt"
	"io"

	"github.com/extsort/extsort/internal/compressor"
)

// Brotli is the format of RFC 7932. A stream has neither a magic number nor a checksum. Therefore
// inputs are recognized by their suffix, and damage may go unnoticed. A truncated stream is an
// error. A program must import format/brotli to use this format.
const Brotli Compression = 7

var brotliCodec = codec{
	name:    "brotli",
	aliases: []string{"br"},
	suffix:  ".br",

	reader:      newBrotliReader,
	readerBytes: 24 << 20, // the window grows by copying, plus up to 4 MiB of tables
	window:      brotliStreamWindow,

	writer:      newBrotliWriter,
	writerBytes: perWorker(4<<20, 0),
}

// newBrotliWriter returns a writer that uses one goroutine, whatever the number of workers.
func newBrotliWriter(w io.Writer, _ int) (io.WriteCloser, error) {
	library, err := compressor.Find("brotli")
	if err != nil {
		return nil, err
	}
	return library.NewWriter(w), nil
}

// newBrotliReader decompresses a single stream. Data after it is an error, as for the command
// brotli.
func newBrotliReader(
	source *countingReader, windowBytes int64,
) (io.ReadCloser, error) {
	library, err := compressor.Find("brotli")
	if err != nil {
		return nil, err
	}

	buffered := bufio.NewReader(source)
	first, err := buffered.Peek(1)
	if err == io.EOF {
		return nil, io.ErrUnexpectedEOF
	}
	if err != nil {
		return nil, err
	}
	window := brotliStreamWindow(first)
	if window > max(windowBytes, CommonWindow) {
		return nil, &windowError{fmt.Errorf(
			"its window has %d MiB", window>>20,
		)}
	}
	return io.NopCloser(library.NewReader(buffered)), nil
}

// brotliStreamWindow returns the window size (RFC 7932, section 9.1), which is encoded in the
// lowest bits of the first byte:
//
//	0        16 bits
//	nnn1     17 + n bits, where n > 0
//	nnn0001  8 + n bits, where n > 1; 17 bits, where n = 0
func brotliStreamWindow(first []byte) int64 {
	if len(first) == 0 || first[0]&1 == 0 {
		return 1 << 16
	}
	if n := first[0] >> 1 & 7; n > 0 {
		return 1 << (17 + n)
	}
	if n := first[0] >> 4 & 7; n > 1 {
		return 1 << (8 + n)
	}
	return 1 << 17
}
