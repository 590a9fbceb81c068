package input

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
	"syscall"

	"github.com/extsort/extsort/device"
	"github.com/extsort/extsort/format"
	"github.com/extsort/extsort/internal/blockio"
	"github.com/extsort/extsort/internal/fileerr"
	"github.com/extsort/extsort/internal/safely"
)

// An Input is an opened file or stream whose header has been read.
type Input struct {
	Name    string
	Header  *format.Header
	Records int64 // -1 if not known before the end
	First   int64 // number of records of the file to skip

	Compression format.Compression // of a stream
	// window size of the first frame in bytes, at least format.CommonWindow
	Window int64
	// window size of the decompressor in bytes beyond format.CommonWindow
	ExtraWindow int64
	Replaced    bool // the input is also the output
	// Overwritten is set if the output overwrites the input in place, after the whole input has
	// been read.
	Overwritten bool

	at     *seekable // records with random access; nil for a stream
	stream io.Reader // records in sequence, decompressed

	decoder io.ReadCloser // of the stream; nil if it is not compressed
	begins  []byte        // the first compressed bytes of the stream
	file    *seekable     // the file under at or stream; nil if none exists
	close   []io.Closer

	remote *fetcher            // reads a remote input ahead; otherwise nil
	queued *fetcher            // reads ahead with direct I/O; otherwise nil
	direct *blockio.DirectFile // this file, opened for direct I/O; nil if that is not possible

	member string // name of the archive member in use

	frame    inputFrame // the bytes around the records
	whole    int64      // see Whole
	warnings []string   // see TakeWarnings
}

// Stdin is the name of standard input, and shownStdin is its name in messages.
const (
	Stdin      = "-"
	shownStdin = "standard input"
)

// Kind describes the records of the inputs, and how files of another kind are recognized.
type Kind struct {
	format.Spec
	format.Recognition
	Frame

	first bool // first of all inputs
}

// openInput opens a source. Uncompressed sources with random access are read at offsets. All
// others are streams.
func (o *opener) openInput(ctx context.Context, kind Kind, s Source) (in *Input, err error) {
	c, err := s.open(ctx, o.stdin)
	if err != nil {
		return nil, err
	}
	if s.isRemote() {
		c.at.remote = o.remote
	}
	mapped := c.at != nil && o.mapContent(c.at)
	switch {
	case c.at != nil:
		in, err = openSeekable(kind, c.at, o.windowBytes)
	case kind.Container().IsArchive:
		err = noArchive(c.Name)
	default:
		in, err = openStream(kind, c.Name, c.Stream, o.windowBytes)
	}

	if err != nil {
		if mapped {
			c.at.Close()
		}
		c.Close()
		return nil, err
	}
	in.close = append(in.close, c)
	if mapped && !o.keepsOpen {
		return in, c.closeFile()
	}
	return in, nil
}

// openSeekable opens a source with random access. If it is compressed or a member of an archive,
// the input is a stream.
func openSeekable(kind Kind, f *seekable, windowBytes int64) (*Input, error) {
	compressed := kind.Compression(f.shown, f.first) != format.None
	switch {
	case kind.Container().IsArchive && compressed:
		return nil, noArchive(f.shown)
	case kind.Container().IsArchive:
		return openMember(kind, f, windowBytes)
	case !compressed:
		return newFile(kind, f)
	}

	return openWithin(kind, f, windowBytes, func() (io.ReadCloser, error) {
		return io.NopCloser(f.sequence(0, f.bytes)), nil
	})
}

// openWithin opens a stream that is read from a source with random access.
func openWithin(
	kind Kind, f *seekable, windowBytes int64, open func() (io.ReadCloser, error),
) (in *Input, err error) {
	source, err := open()
	if err != nil {
		err = fmt.Errorf("%s: %w", f.shown, err)
	} else {
		in, err = openStream(kind, f.shown, source, windowBytes)
	}

	if err != nil {
		f.Close()
		return nil, err
	}

	in.file = f
	in.remote = f.remote
	in.close = append(in.close, f)
	suspend(in)
	return in, nil
}

// openInput opens a file that is not a directory. Opening a FIFO blocks until another process
// opens its other end, so openInput stops waiting when ctx is cancelled.
func openInput(ctx context.Context, name string) (*os.File, error) {
	file, err := openNamed(ctx, name)
	return file, plainPathError(err)
}

func openNamed(ctx context.Context, name string) (*os.File, error) {
	if name == "" {
		return nil, errors.New("the name of an input is empty")
	}
	info, err := os.Stat(name)
	switch {
	case err != nil:
		return nil, err
	case info.IsDir():
		return nil, &fs.PathError{Op: "open", Path: name, Err: syscall.EISDIR}
	case info.Mode().IsRegular():
		return os.Open(name)
	}

	var file *os.File
	opened := make(chan struct{})
	go func() {
		err = safely.Call(func() (err error) {
			file, err = os.Open(name)
			return err
		})
		select {
		case opened <- struct{}{}:
		case <-ctx.Done():
			file.Close()
		}
	}()
	select {
	case <-opened:
		return file, err
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

// plainPathError changes "stat NAME: no such file" to "NAME: no such file".
func plainPathError(err error) error {
	if pathErr, ok := errors.AsType[*fs.PathError](err); ok {
		return fmt.Errorf("%s: %w", pathErr.Path, device.WithoutPath(pathErr))
	}
	return err
}

// newFile opens a file for random access and reads its header. It closes f if that fails.
func newFile(kind Kind, f *seekable) (*Input, error) {
	in := &Input{
		Name:   f.shown,
		at:     f,
		file:   f,
		remote: f.remote,
		close:  []io.Closer{f},
		frame:  newInputFrame(&kind),
	}
	if err := in.readFile(kind); err != nil {
		f.Close()
		return nil, err
	}
	return in, nil
}

// readFile reads the header of a file with random access and finds its records.
func (in *Input) readFile(kind Kind) error {
	f := in.at
	head, err := in.checkStart(kind)
	if err != nil {
		return err
	}
	in.Header, err = kind.ReadHeader(io.NewSectionReader(f, 0, f.bytes), in.Name)
	if err != nil {
		return err
	}
	if kind.Records != 0 {
		if err := in.cutRecords(); err != nil {
			return in.named(err)
		}
	}
	in.Records, err = format.CheckSize(in.Name, in.Header, f.bytes)
	if err != nil {
		return err
	}
	in.whole = in.Records
	if kind.Keep {
		in.noteHead(head)
	}
	return nil
}

// named puts the name of the input in front of an error; nil stays nil.
func (in *Input) named(err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s: %w", in.Name, err)
}

// checkStart returns an error if the file does not begin like records of this kind, and adds a warning
// if that is only likely. It does not check skipped bytes, but returns them if they are kept.
func (in *Input) checkStart(kind Kind) (head []byte, err error) {
	err = kind.CheckPacked(in.at.first)
	if err == nil && kind.Skip > 0 {
		head, err = in.at.skip(kind.Skip, kind.Keep)
	}
	if err == nil && kind.Records == 0 {
		err = in.cutTail(kind.Tail)
	}
	if err != nil {
		return nil, in.named(err)
	}
	in.warn(kind.CountDoubt(kind.Spec, in.Name, in.at.first, in.at.bytes))
	in.warn(kind.TextDoubt(kind.Spec, in.at.first))
	return head, in.named(kind.CheckRecords(kind.Spec, in.at.first))
}

// streamBuffer is the buffer size for checking the beginning of a stream. Records are read in
// larger pieces, which bypass the buffer.
const streamBuffer = 16 << 10

// openStream opens an input that is read sequentially. It closes source if that fails.
func openStream(kind Kind, name string, source io.ReadCloser, windowBytes int64) (*Input, error) {
	in := &Input{
		Name:  name,
		close: []io.Closer{source},
		frame: newInputFrame(&kind),
		whole: -1,
	}
	reader := &checkedReader{kind: kind, in: in}
	err := in.named(checkStreamTail(kind.Tail))
	if err == nil {
		err = reader.open(source, windowBytes)
	}
	if err == nil {
		in.Header, err = kind.ReadHeader(in.stream, name)
	}
	if err != nil {
		in.Close()
		return nil, err
	}
	reader.delimit()
	return in, nil
}

// A checkedReader checks the first decompressed bytes of a stream on the first Read. It does not
// check them earlier, because a decoder allocates memory when it is first used.
type checkedReader struct {
	*bufio.Reader
	kind Kind
	in   *Input
	head []byte // the skipped bytes, if they are kept
	done bool
}

// open sets the stream of the input: the bytes of source, or what they decompress to. It checks the
// first bytes now unless they are compressed, because a decoder has to wait for its turn. A frame
// that the output keeps cannot wait.
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

	in.Window = format.StreamWindowBytes(codec, first)
	window := min(in.Window, windowBytes)
	decoder := format.NewReader(buffered, codec, window)
	c.Reader = bufio.NewReaderSize(decoder, format.DetectBytes)
	in.stream = c
	in.Compression = codec
	in.ExtraWindow = window - format.CommonWindow
	in.decoder = decoder
	in.begins = slices.Clone(first)
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

// warn adds a warning about the input, unless it is "".
func (in *Input) warn(doubt string) {
	if doubt != "" {
		in.warnings = append(in.warnings, in.Name+": "+doubt)
	}
}

// TakeWarnings returns the warnings about the input and clears them.
func (in *Input) TakeWarnings() []string {
	warnings := in.warnings
	in.warnings = nil
	return warnings
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

// Seekable reports whether the input supports random access.
func (in *Input) Seekable() bool { return in.at != nil }

// IsDisk reports whether the input is a block device, which has no modification time.
func (in *Input) IsDisk() bool {
	return in.at != nil && in.at.info != nil && isDisk(in.at.info)
}

// ReadRecords fills p with the records from index first on. REQUIRES: Seekable
func (in *Input) ReadRecords(p []byte, first int64) error {
	off := in.Offset(first)
	n, err := in.at.ReadAt(p, off)
	if n == len(p) {
		return in.Header.CheckRecords(p, first*int64(in.Header.Layout().RecordSize))
	}
	if err == io.EOF {
		err = io.ErrUnexpectedEOF
	}
	return &fileerr.Error{Op: "read", File: in.Name, Offset: off + int64(n), Err: err}
}

// Offset returns the offset of a record in the decompressed file.
func (in *Input) Offset(record int64) int64 {
	return in.Header.Size() + (in.First+record)*int64(in.Header.Layout().RecordSize)
}

// askFor asks the system to read n records from index first on. REQUIRES: Seekable
func (in *Input) askFor(first, n int64) {
	if f := in.at; f.file != nil {
		willNeed(f.file, f.start+in.Offset(first), n*int64(in.Header.Layout().RecordSize))
	}
}

// ErrChanged reports that an input that is read twice has changed in between.
var ErrChanged = errors.New("the input changed while it was read")

// Check returns an error if a file changed while it was being read. If the file only grew, Check
// calls warn, because the original records have been read. Check cannot notice a change within
// one tick of the file system's clock.
func (in *Input) Check(warn func(message string)) error {
	for _, message := range in.TakeWarnings() {
		warn(message)
	}
	if in.file == nil || in.Overwritten {
		return nil
	}
	return in.file.check(warn)
}

// CheckUnchanged returns an error if a file that is about to be overwritten has changed since it
// was opened. now describes its current state.
func (in *Input) CheckUnchanged(now os.FileInfo) error {
	if in.file == nil || in.file.info == nil || !now.Mode().IsRegular() {
		return nil
	}
	before := in.file.info
	if now.Size() == before.Size() && now.ModTime().Equal(before.ModTime()) {
		return nil
	}
	return fmt.Errorf(
		"%s: the file changed while it was read, and was not overwritten; try again", in.Name,
	)
}

// Close closes the input, once.
func (in *Input) Close() error {
	closers := in.close
	in.close = nil
	in.decoder = nil
	return joinErrors(closers, io.Closer.Close)
}
