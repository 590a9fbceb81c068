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
	kind Kind
	in   *Input
	head []byte // the skipped bytes, if they are kept
	done bool
}

// open sets the stream of the input: the bytes of source, decompressed if necessary. It checks the
// first bytes now unless they are compressed, because a decoder has to wait for its turn. If the
// output keeps the frame of this input, the check cannot wait.
func (c *checkedReader) open(source io.Reader, windowBytes int64) error {
	in := c.in
	buffered := newLateBuffer(source)
	first, err := buffered.first.Peek(format.DetectBytes)
	if err != nil && err != io.EOF {
		return &fileerr.Error{Op: "read", File: in.Name, Offset: -1, Err: err}
	}

	codec := c.kind.Compression(in.Name, first)
	if codec == format.None {
		c.Reader = bufio.NewReaderSize(buffered.first, streamBuffer)
		in.stream = c.Reader
		if err := c.kind.CheckPacked(first); err != nil {
			return in.named(err)
		}
		return in.named(c.check())
	}

	in.WindowBytes = format.StreamWindowBytes(codec, first)
	window := min(in.WindowBytes, windowBytes)
	decoder := format.NewReader(buffered, codec, window)
	c.Reader = bufio.NewReaderSize(decoder, format.DetectBytes)
	in.stream = c
	in.Compression = codec
	in.ExtraWindowBytes = window - format.CommonWindow
	in.decoder = decoder
	in.decodes = true
	in.close = append(in.close, decoder)
	if c.kind.Keep && c.kind.first {
		return in.named(c.check())
	}
	return nil
}

// delimit ends the stream after the last record. REQUIRES: the header has been read
func (c *checkedReader) delimit() {
	in := c.in
	in.Records = in.Header.Records()
	if begun := in.Header.Begun(); begun != nil {
		in.stream = io.MultiReader(bytes.NewReader(begun), in.stream)
	}
	if c.kind.hasTail() {
		in.stream = in.frame.withoutTail(in.stream, in.Header.Layout().RecordSize)
	}
	if c.kind.Records != 0 {
		in.Records = max(c.kind.Records, 0)
	}
	if c.kind.Keep && c.done {
		in.noteHead(c.head)
	}
}

func (c *checkedReader) Read(p []byte) (int, error) {
	if !c.done {
		if err := c.check(); err != nil {
			return 0, err
		}
	}
	return c.Reader.Read(p)
}

// check skips the bytes before the records. It returns an error if the rest does not begin like
// records of this kind.
func (c *checkedReader) check() (err error) {
	c.done = true
	if c.kind.Skip > 0 {
		if c.head, err = skip(c.Reader, c.kind.Skip, c.kind.Keep); err != nil {
			return err
		}
	}
	first, _ := c.Peek(format.DetectBytes) // the reader returns the error again
	c.in.warn(c.kind.TextDoubt(c.kind.Spec, first))
	// otherwise openStream notes it after it has read the header
	if c.in.Header != nil && c.kind.Keep {
		c.in.noteHead(c.head)
		c.head = nil
	}

	return c.kind.CheckRecords(c.kind.Spec, first)
}

// skip reads n bytes, and returns them if keep is set.
func skip(r io.Reader, n int64, keep bool) (kept []byte, err error) {
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
