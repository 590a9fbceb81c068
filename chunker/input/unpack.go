package input

import (
	"bufio"
	"cmp"
	"context"
	"io"

	"github.com/extsort/extsort/format"
)

// File is a temporary file that an input is decompressed to.
type File interface {
	io.ReaderAt
	io.WriterAt
}

// unpackBytes is how much is decompressed at a time.
const unpackBytes = 64 << 10

// DecoderMemory returns what the decompressor of the input holds at most, in bytes: with garbage, or as little as it
// can after Economize, without.
func (in *Input) DecoderMemory() (full, lean int64) {
	if in.decoder == nil {
		return 0, 0
	}
	return format.CodecMemory(in.Compression, 0) + in.ExtraWindow,
		format.LeanMemory(in.Compression) + in.ExtraWindow
}

// StoredBytes returns the size of the file that a stream is read from, before decompression; 0: it is not known.
func (in *Input) StoredBytes() int64 {
	if in.file == nil {
		return 0
	}
	return in.file.bytes
}

// Economize has decompressors take as little memory as they can. REQUIRES: no records have been read.
func Economize(all []*Input) {
	for _, in := range all {
		if in.decoder != nil {
			format.Economize(in.decoder)
		}
	}
}

// Unpack decompresses the records of a stream to a file, from byte at on, and closes the decompressor. From then on
// they are read from the file, which must stay open. bytes is the room that they take. REQUIRES: no records have been
// read.
func Unpack(ctx context.Context, in *Input, file File, at int64) (bytes int64, err error) {
	records := in.Sequence()
	part := make([]byte, unpackBytes)
	for err == nil {
		var n int
		n, err = ReadFull(records, part)
		if _, failed := file.WriteAt(part[:n], at+bytes); failed != nil {
			return bytes, failed
		}
		bytes += int64(n)
		err = cmp.Or(err, context.Cause(ctx))
	}
	if err != io.EOF {
		return bytes, err
	}
	in.stream = io.NewSectionReader(file, at, bytes)
	in.Records = bytes / int64(in.Header.Layout().RecordSize)
	in.ExtraWindow = 0
	return bytes, nil
}

// suspend gives the memory of a decompressor back that has begun, to read a header. Many inputs are opened before the
// first is read. REQUIRES: the input is compressed as a whole and can be read again from its start.
func suspend(in *Input) {
	if f := in.file; in.decoder != nil && f.requests == nil {
		format.Suspend(in.decoder, newLateBuffer(f.sequence(0, f.bytes)))
	}
}

// lateBuffer is a reader of which the first bytes can be looked at. It takes a buffer of streamBuffer bytes for what is
// read of it, but not before that.
type lateBuffer struct {
	first *bufio.Reader
	large *bufio.Reader // nil until the first Read
}

func newLateBuffer(source io.Reader) *lateBuffer {
	return &lateBuffer{first: bufio.NewReaderSize(&movingReader{r: source}, format.DetectBytes)}
}

func (l *lateBuffer) Read(p []byte) (int, error) {
	if l.large == nil {
		l.large = bufio.NewReaderSize(l.first, streamBuffer)
	}
	return l.large.Read(p)
}
