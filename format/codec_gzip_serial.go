package format

import (
	"bytes"
	"encoding/binary"
	"hash"
	"hash/crc32"
	"io"
	"time"

	"github.com/klauspost/compress/flate"
)

// serialGzip compresses to gzip without goroutines. It writes the same bytes as a pgzip.Writer
// with blocks of gzipBlock bytes. It holds one block and one compressor, whereas pgzip holds
// several of each even with a single worker.
type serialGzip struct {
	w          io.Writer
	compressor *flate.Writer
	packed     bytes.Buffer // the compressed block
	block      []byte       // input that has not been compressed yet
	tail       []byte       // end of the previous block: the dictionary of the next one
	digest     hash.Hash32
	size       uint32 // number of input bytes modulo 2^32, as stored in the trailer
	begun      bool   // the header has been written
	closed     bool
	err        error // permanent
}

// gzipTail is the size of the dictionary that pgzip passes from one block to the next.
const gzipTail = 16 << 10

func newSerialGzip(w io.Writer) (*serialGzip, error) {
	z := &serialGzip{
		w:      w,
		block:  make([]byte, 0, gzipBlock),
		digest: crc32.NewIEEE(),
	}
	compressor, err := flate.NewWriterDict(&z.packed, flate.BestSpeed, nil)
	z.compressor = compressor
	return z, err
}

// Write compresses each block as soon as it is full.
func (z *serialGzip) Write(p []byte) (int, error) {
	z.begin()
	for rest := p; len(rest) > 0 && z.err == nil; {
		n := min(len(rest), gzipBlock-len(z.block))
		z.block = append(z.block, rest[:n]...)
		z.digest.Write(rest[:n])
		z.size += uint32(n)
		rest = rest[n:]
		if len(z.block) == gzipBlock {
			z.compress(false)
		}
	}

	if z.err != nil {
		return 0, z.err
	}
	return len(p), nil
}

// begin writes the header, once. Like pgzip, it stores the zero time, truncated to 32 bits.
func (z *serialGzip) begin() {
	if z.begun || z.err != nil {
		return
	}
	const deflate, fastest, unknownSystem = 8, 4, 255
	z.begun = true
	header := append([]byte(gzipMagic), deflate, 0)
	header = binary.LittleEndian.AppendUint32(
		header, uint32(time.Time{}.Unix()),
	)
	_, z.err = z.w.Write(append(header, fastest, unknownSystem))
}

// compress compresses and writes the block. The last block ends the deflate stream.
func (z *serialGzip) compress(last bool) {
	z.packed.Reset()
	z.compressor.ResetDict(&z.packed, z.tail)
	_, err := z.compressor.Write(z.block)
	if err == nil {
		err = z.compressor.Flush()
	}
	if err == nil && last {
		err = z.compressor.Close()
	}
	if err == nil {
		_, err = z.w.Write(z.packed.Bytes())
	}
	z.err = err
	z.tail = append(z.tail[:0], z.block[max(len(z.block)-gzipTail, 0):]...)
	z.block = z.block[:0]
}

// Close writes the last block and the trailer. It does not close the underlying writer.
func (z *serialGzip) Close() error {
	if z.closed {
		return z.err
	}
	z.closed = true
	z.begin()
	if z.err == nil {
		z.compress(true)
	}
	if z.err == nil {
		trailer := binary.LittleEndian.AppendUint32(nil, z.digest.Sum32())
		_, z.err = z.w.Write(binary.LittleEndian.AppendUint32(trailer, z.size))
	}

	return z.err
}
