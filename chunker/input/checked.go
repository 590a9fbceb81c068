package input

import (
	"bufio"
	"bytes"
	"fmt"
	"io"

	"github.com/extsort/extsort/format"
	"github.com/extsort/extsort/internal/fileerr"
)

// streamBuffer is the buffer size for checking the beginning of a stream. Records are read in
// larger pieces, which bypass the buffer.
const streamBuffer = 16 << 10

// A checkedReader checks the first decompressed bytes of a stream on the first Read. It does not
// check them earlier, because a decoder allocates memory when it is first used.
type checkedReader struct {
	*bufio.Reader
	kind      Kind
	in        *Input
	skipped   []byte // the bytes before the records, until in has them; nil if they are not kept
	isChecked bool
}

// attach makes source the stream of the input, through a decompressor if necessary. windowBytes
// limits the window of the decompressor.
func (c *checkedReader) attach(source io.Reader, windowBytes int64) error {
	in := c.in
	buffered := newLateBuffer(source)
	first, err := buffered.first.Peek(format.DetectBytes)
	if err != nil && err != io.EOF {
		return &fileerr.Error{Op: "read", File: in.Name, Offset: -1, Err: err}
	}

	codec := c.kind.Compression(in.Name, first)
	if codec == format.None {
		return in.named(c.attachPlain(buffered.first, first))
	}
	in.WindowBytes = format.StreamWindowBytes(codec, first)
	c.attachDecoder(buffered, codec, min(in.WindowBytes, windowBytes))

	// The first Read checks the start of the records, because checking it now would allocate the
	// memory of the decoder. If the output keeps the bytes before the records, it needs them now.
	if c.kind.Keep && c.kind.first {
		return in.named(c.checkStart())
	}
	return nil
}

// attachPlain makes bytes that are not compressed the stream of the input, and checks the start of
// the records. first contains the first bytes.
func (c *checkedReader) attachPlain(source io.Reader, first []byte) error {
	c.Reader = bufio.NewReaderSize(source, streamBuffer)
	c.in.stream = c.Reader
	if err := c.kind.CheckPacked(first); err != nil {
		return err
	}
	return c.checkStart()
}

// attachDecoder makes the decompressed bytes of source the stream of the input.
func (c *checkedReader) attachDecoder(
	source io.Reader,
	codec format.Compression,
	windowBytes int64,
) {
	in := c.in
	decoder := format.NewReader(source, codec, windowBytes)
	c.Reader = bufio.NewReaderSize(decoder, format.DetectBytes)
	in.stream = c
	in.Compression = codec
	in.ExtraWindowBytes = windowBytes - format.CommonWindow
	in.decoder = decoder
	in.decodes = true
	in.close = append(in.close, decoder)
}

// endAfterRecords ends the stream after the last record. REQUIRES: the header has been read
func (c *checkedReader) endAfterRecords() {
	in := c.in
	in.Records = in.Header.Records()
	if begun := in.Header.FirstBytes(); begun != nil {
		in.stream = io.MultiReader(bytes.NewReader(begun), in.stream)
	}
	if c.kind.hasTail() {
		in.stream = in.frame.withoutTail(in.stream, in.Header.Layout().RecordSize)
	}
	if c.kind.Records != 0 {
		in.Records = max(c.kind.Records, 0)
	}
	if c.kind.Keep && c.isChecked {
		in.noteHead(c.skipped)
	}
}

func (c *checkedReader) Read(p []byte) (int, error) {
	if !c.isChecked {
		if err := c.checkStart(); err != nil {
			return 0, err
		}
	}
	return c.Reader.Read(p)
}

// checkStart skips the bytes before the records. It returns an error if the rest does not begin
// like records of this kind.
func (c *checkedReader) checkStart() (err error) {
	c.isChecked = true
	if c.kind.Skip > 0 {
		if c.skipped, err = skipBytes(c.Reader, c.kind.Skip, c.kind.Keep); err != nil {
			return err
		}
	}
	first, _ := c.Peek(format.DetectBytes) // the reader returns the error again
	c.in.warn(c.kind.TextDoubt(c.kind.Spec, first))
	// without a header yet, endAfterRecords notes it
	if c.in.Header != nil && c.kind.Keep {
		c.in.noteHead(c.skipped)
		c.skipped = nil
	}

	return c.kind.CheckRecords(c.kind.Spec, first)
}

// skipBytes reads n bytes, and returns them if keep is set.
func skipBytes(r io.Reader, n int64, keep bool) (kept []byte, err error) {
	var to bytes.Buffer
	into := io.Discard
	if keep {
		into = &to
	}
	passed, err := io.CopyN(into, r, n)
	if err == io.EOF {
		err = tooShort(passed, n)
	}
	return to.Bytes(), err
}

func tooShort(bytes, skip int64) error {
	return fmt.Errorf("it has %d bytes, fewer than the %d to skip before its records", bytes, skip)
}
