package format

import (
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/klauspost/compress/s2"
)

// S2 is the framing format of s2. Its predecessor, the format of Snappy, can be read as well.
const S2 Compression = 3

var s2Codec = codec{
	name:          "s2",
	suffix:        ".s2",
	otherSuffixes: []string{".sz"},

	detect: func(first []byte) bool {
		return matches(
			first, "\xff\x06\x00\x00S2sTwO",
		) || matches(first, "\xff\x06\x00\x00sNaPpY")
	},
	reader:      newS2Reader,
	readerBytes: 10 << 20,

	writer:      newS2Writer,
	writerBytes: perWorker(6<<20, 1<<20),

	blocks: &blockCodec{
		open:       func(Layout, int) blockCoder { return s2Blocks{} },
		maxBytes:   s2.MaxEncodedLen,
		coderBytes: func(int) int { return 64 << 10 },
		decodeCost: 0.5,
		trial:      2,
	},
}

// s2Block is the number of bytes compressed independently. Larger blocks need more memory per
// worker and hardly improve the compression of records.
const s2Block = 256 << 10

type s2Blocks struct{}

func (s2Blocks) compress(dst, src []byte) []byte {
	return s2.Encode(dst, src)
}

func (s2Blocks) decompress(dst, src []byte) ([]byte, error) {
	size, err := s2.DecodedLen(src)
	if err != nil {
		return nil, err
	}
	if size > len(dst) {
		return nil, fmt.Errorf(
			"it contains %d bytes instead of %d", size, len(dst),
		)
	}
	return s2.Decode(dst[:size], src)
}

// An s2 stream has no end marker, so a stream that was truncated between two blocks looks
// complete. NewWriter therefore adds two chunks, which other readers skip. The first one
// announces the second; if the second is missing, the stream was truncated. Other programs write
// only the identifier for empty data.
//
//	ff 06 00 00 "S2sTwO"         the identifier
//	80 07 00 00 "extsort"        an end will come
//	00|01 …                      blocks
//	80 0b 00 00 "extsort end"    the end
const (
	s2Chunk = 0x80
	s2Begin = "extsort"
	s2End   = "extsort end"
)

var errS2Cut = fmt.Errorf(
	"the end that extsort wrote is missing: %w", io.ErrUnexpectedEOF,
)

// An s2Writer writes these chunks around the blocks. It delays the first one until the first
// block or the end.
type s2Writer struct {
	blocks *s2.Writer
	begun  bool
}

func newS2Writer(w io.Writer, workers int) (io.WriteCloser, error) {
	return &s2Writer{blocks: s2.NewWriter(
		w,
		s2.WriterConcurrency(workers),
		s2.WriterBlockSize(s2Block),
	)}, nil
}

func (z *s2Writer) Write(p []byte) (int, error) {
	if err := z.begin(); err != nil {
		return 0, err
	}
	return z.blocks.Write(p)
}

func (z *s2Writer) begin() error {
	if z.begun {
		return nil
	}
	z.begun = true
	return z.blocks.AddSkippableBlock(s2Chunk, []byte(s2Begin))
}

func (z *s2Writer) Close() error {
	err := z.begin()
	if err == nil {
		err = z.blocks.Flush() // otherwise the chunk would overtake data still waiting for a block
	}
	if err == nil {
		err = z.blocks.AddSkippableBlock(s2Chunk, []byte(s2End))
	}
	closeErr := z.blocks.Close()
	if err == nil { // otherwise Close repeats err
		err = closeErr
	}
	return err
}

// An s2Reader reads a sequence of s2 streams and returns an error if an announced end is missing.
type s2Reader struct {
	blocks *s2.Reader
	source *countingReader
	// cut is the error to return if the stream ends here. It is nil if the stream may be
	// complete.
	cut error
}

func newS2Reader(source *countingReader, _ int64) (io.ReadCloser, error) {
	z := &s2Reader{source: source}
	z.blocks = s2.NewReader(source, s2.ReaderSkippableCB(s2Chunk, z.skip))
	return io.NopCloser(z), nil
}

func (z *s2Reader) Read(p []byte) (int, error) {
	n, err := z.blocks.Read(p)
	if z.cut != nil && err == io.EOF ||
		z.cut == errS2Cut && z.source.ended && errors.Is(err, s2.ErrCorrupt) {
		err = z.cut
	}
	return n, err
}

// skip examines a chunk of the kind that s2Writer writes. A prefix of s2Begin means that the
// chunk was truncated.
func (z *s2Reader) skip(r io.Reader) error {
	content, err := io.ReadAll(io.LimitReader(r, int64(len(s2End)+1)))
	if err == nil {
		_, err = io.Copy(io.Discard, r)
	}
	missing := false // bytes of the chunk, which the s2 package does not check
	chunk, ok := r.(*io.LimitedReader)
	if ok {
		missing = chunk.N > 0
	}

	text := string(content)
	switch {
	case err != nil:
		return err
	case missing:
		return fmt.Errorf("a chunk ends too early: %w", io.ErrUnexpectedEOF)
	case text == s2End:
		z.cut = nil
	case strings.HasPrefix(s2Begin, text):
		if z.cut == errS2Cut || text != s2Begin {
			return errS2Cut
		}
		z.cut = errS2Cut
	}

	return nil
}
