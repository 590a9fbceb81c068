package format

import (
	"bufio"
	"bytes"
	"fmt"
	"io"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/pgzip"
)

// Gzip is the format of RFC 1952: members one after the other.
const Gzip Compression = 1

var gzipCodec = codec{
	name:    "gzip",
	aliases: []string{"gz"},
	suffix:  ".gz",

	detect:      isGzip,
	reader:      newGzipReader,
	readerBytes: 128 << 10,

	writer:      newGzipWriter,
	writerBytes: gzipWriterBytes,
}

// isGzip recognises a member by 1f 8b 08, flags below 20, the time in 4 bytes, the extra flags 00, 02 or 04, and the
// system 00 … 0d or ff.
func isGzip(first []byte) bool {
	if len(first) < 10 || !matches(first, gzipMagic+"\x08") {
		return false
	}
	flags, extra, system := first[3], first[8], first[9]
	return flags < 0x20 && bytes.IndexByte([]byte{0, 2, 4}, extra) >= 0 && (system <= 13 || system == 255)
}

// gzipBlock is how many bytes are compressed by themselves. Larger blocks take memory for each worker, and make records
// hardly smaller.
const gzipBlock = 256 << 10

// gzipWriter is a pgzip.Writer whose goroutines end at Close when writing has failed, too.
type gzipWriter struct{ *pgzip.Writer }

func newGzipWriter(w io.Writer, workers int) (io.WriteCloser, error) {
	if workers == 1 {
		return newSerialGzip(w)
	}
	z, err := pgzip.NewWriterLevel(w, pgzip.BestSpeed)
	if err != nil {
		return nil, err
	}
	return gzipWriter{z}, z.SetConcurrency(gzipBlock, workers)
}

func gzipWriterBytes(workers int) int64 {
	if workers == 1 {
		return 7 << 18 // without goroutines
	}
	return 3<<20 + int64(workers)*7<<19
}

func (z gzipWriter) Close() error {
	err := z.Writer.Close()
	if err != nil {
		z.Reset(io.Discard)
	}
	return err
}

var errGzipTrailing = fmt.Errorf("%w (gzip -dc leaves them out)", errTrailing)

// gzipMagic is what each member of a gzip stream begins with.
const gzipMagic = "\x1f\x8b"

// gzipReader decompresses the members of a gzip stream. Zeros behind the last one, to which tapes and block devices are
// filled up, are left out, as gzip does it.
type gzipReader struct {
	source *bufio.Reader
	member *gzip.Reader
}

func newGzipReader(r *countingReader, _ int64) (io.ReadCloser, error) {
	source := bufio.NewReader(r)
	member, err := gzip.NewReader(source)
	if err != nil {
		return nil, err
	}
	member.Multistream(false)
	return &gzipReader{source: source, member: member}, nil
}

func (z *gzipReader) Read(p []byte) (n int, err error) {
	for {
		n, err = z.member.Read(p)
		if n > 0 && err == io.EOF {
			return n, nil // the next call gets it again
		}
		if n > 0 || err != io.EOF {
			return n, err
		}
		if err = z.next(); err != nil {
			return 0, err
		}
	}
}

// next begins the next member; io.EOF: there is none.
func (z *gzipReader) next() error {
	magic, err := z.source.Peek(len(gzipMagic))
	switch {
	case string(magic) == gzipMagic:
		if err := z.member.Reset(z.source); err != nil {
			return err
		}
		z.member.Multistream(false)
		return nil
	case len(magic) > 0 && magic[0] == 0:
		return z.skipZeros()
	case err != nil && err != io.EOF:
		return err
	case len(magic) == 0:
		return io.EOF
	case len(magic) == 1 && magic[0] == gzipMagic[0]:
		return io.ErrUnexpectedEOF
	}
	return errGzipTrailing
}

func (z *gzipReader) skipZeros() error {
	for {
		b, err := z.source.ReadByte()
		if err != nil {
			return err
		}
		if b != 0 {
			return errGzipTrailing
		}
	}
}

func (z *gzipReader) Close() error { return z.member.Close() }
