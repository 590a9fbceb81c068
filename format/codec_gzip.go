package format

import (
	"bufio"
	"bytes"
	"fmt"
	"io"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/pgzip"
)

// Gzip is the format of RFC 1952, a sequence of members.
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

// isGzip recognizes a member by the bytes 1f 8b 08, flags below 20, 4 bytes of time, extra flags
// 00, 02 or 04, and a system of 00 … 0d or ff.
func isGzip(first []byte) bool {
	if len(first) < 10 || !matches(first, gzipMagic+"\x08") {
		return false
	}
	flags := first[3]
	extra := first[8]
	system := first[9]
	return flags < 0x20 && bytes.IndexByte([]byte{0, 2, 4}, extra) >= 0 &&
		(system <= 13 || system == 255)
}

// gzipBlock is the number of bytes compressed independently. Larger blocks need more memory per
// worker and hardly improve the compression of records.
const gzipBlock = 256 << 10

// A gzipWriter is a pgzip.Writer whose goroutines end on Close even if a write has failed.
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

var errGzipTrailing = fmt.Errorf("%w (gzip -dc drops them)", errTrailing)

// gzipMagic is the beginning of each member of a gzip stream.
const gzipMagic = "\x1f\x8b"

// A gzipReader decompresses the members of a gzip stream. Like gzip, it ignores trailing zeros,
// with which tapes and block devices are padded.
type gzipReader struct {
	source *bufio.Reader
	member *gzip.Reader
}

func newGzipReader(r *countingReader, _ int64) (io.ReadCloser, error) {
	source := bufio.NewReader(r)
	if _, err := source.Peek(1); err != nil {
		return nil, err
	}
	member, err := gzip.NewReader(source)
	if err != nil {
		return nil, insideMember(err)
	}
	member.Multistream(false)
	return &gzipReader{source: source, member: member}, nil
}

func (z *gzipReader) Read(p []byte) (n int, err error) {
	for {
		n, err = z.member.Read(p)
		if n > 0 && err == io.EOF {
			return n, nil // the next call returns it again
		}
		if n > 0 || err != io.EOF {
			return n, err
		}
		if err = z.next(); err != nil {
			return 0, err
		}
	}
}

// insideMember returns an error of reading the header of a member. The library returns io.EOF if the stream ends within
// the name of the file, as if there were no more members.
func insideMember(err error) error {
	if err == io.EOF {
		return io.ErrUnexpectedEOF
	}
	return err
}

// next begins the next member. It returns io.EOF if none exists.
func (z *gzipReader) next() error {
	magic, err := z.source.Peek(len(gzipMagic))
	switch {
	case string(magic) == gzipMagic:
		if err := z.member.Reset(z.source); err != nil {
			return insideMember(err)
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
