package format

import (
	"bufio"
	"errors"
	"io"

	"github.com/klauspost/compress/gzip"
)

// errTrailing is the error of a gzip stream with something else behind it.
var errTrailing = errors.New("other bytes follow the compressed ones: decompress it first (gzip -dc leaves them out)")

// gzipMagic is what each member of a gzip stream begins with.
const gzipMagic = "\x1f\x8b"

// gzipReader decompresses the members of a gzip stream. Zeros behind the last one, to which tapes and block devices are
// filled up, are left out, as gzip does it.
type gzipReader struct {
	source *bufio.Reader
	member *gzip.Reader
}

func newGzipReader(r io.Reader) (*gzipReader, error) {
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
	return errTrailing
}

func (z *gzipReader) skipZeros() error {
	for {
		b, err := z.source.ReadByte()
		if err != nil {
			return err
		}
		if b != 0 {
			return errTrailing
		}
	}
}

func (z *gzipReader) Close() error { return z.member.Close() }
