package input

import (
	"bufio"
	"cmp"
	"context"
	"io"

	"github.com/extsort/extsort/format"
)

// A File is a temporary file for a decompressed input.
type File interface {
	io.ReaderAt
	io.WriterAt
}

// unpackBytes is the number of bytes decompressed at a time.
const unpackBytes = 64 << 10

// decompression is how an input is decompressed. It is zero if the input is not compressed.
type decompression struct {
	Compression format.Compression
	// WindowBytes is the window size of the first frame in bytes, at least format.CommonWindow.
	WindowBytes int64
	// ExtraWindowBytes is the window size of the decompressor in bytes beyond format.CommonWindow.
	ExtraWindowBytes int64

	decodes bool          // the decompressor is open
	decoder io.ReadCloser // REQUIRES: decodes
	stored  int64         // see StoredBytes
}

// DecoderMemory returns how much memory the decompressor of the input uses at most, in bytes:
// full by default, including garbage, and lean after ReduceMemory.
func (in *Input) DecoderMemory() (full, lean int64) {
	if !in.decodes {
		return 0, 0
	}
	return format.CodecMemory(in.Compression, 0) + in.ExtraWindowBytes,
		format.LeanMemory(in.Compression) + in.ExtraWindowBytes
}

// StoredBytes returns the size of the file that a stream is read from, before decompression, or 0
// if it is not known.
func (in *Input) StoredBytes() int64 { return in.stored }

// ReduceMemory makes decompressors use as little memory as possible. REQUIRES: no records have been
// read
func ReduceMemory(all []*Input) {
	for _, in := range all {
		if in.decodes {
			format.ReduceMemory(in.decoder)
		}
	}
}

// Unpack decompresses the records of a stream to a file, starting at offset at, and closes the
// decompressor. From then on the input is read from the file, which must stay open. Unpack
// returns the size of the records in bytes. REQUIRES: no records have been read
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
	in.access = inSequence
	in.stream = io.NewSectionReader(file, at, bytes)
	in.Records = bytes / int64(in.Header.Layout().RecordSize)
	in.ExtraWindowBytes = 0
	return bytes, nil
}

// A lateBuffer is a buffered reader whose first bytes can be peeked. It allocates its buffer of
// streamBuffer bytes only on the first Read.
type lateBuffer struct {
	first *bufio.Reader
	large *bufio.Reader // nil before the first Read
}

func newLateBuffer(source io.Reader) *lateBuffer {
	return &lateBuffer{first: bufio.NewReaderSize(&stallDetector{r: source}, format.DetectBytes)}
}

func (l *lateBuffer) Read(p []byte) (int, error) {
	if l.large == nil {
		l.large = bufio.NewReaderSize(l.first, streamBuffer)
	}
	return l.large.Read(p)
}
