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

	"github.com/extsort/extsort/format"
	"github.com/extsort/extsort/internal/option"
	"github.com/extsort/extsort/internal/safely"
)

// Input is one opened file or stream whose header has been read.
type Input struct {
	Name    string
	Header  *format.Header
	Records int64 // -1: not known before the end
	First   int64 // how many of the file come before these, and are not read

	Compression format.Compression // of a stream
	Window      int64              // bytes that the first frame looks back to, no less than format.CommonWindow
	ExtraWindow int64              // bytes that its decompressor looks back to beyond format.CommonWindow
	Replaced    bool               // it is the output, too
	Overwritten bool               // the output is written over it in place, but not before the whole input has been read

	at     *placed   // records at offsets, nil for a stream
	stream io.Reader // records in sequence, decompressed

	decoder io.ReadCloser // of the stream; nil: it is not compressed
	begins  []byte        // the first compressed bytes of the stream
	file    *placed       // that both are read from; nil: it is none
	close   []io.Closer

	requests *Requests // by which it is read ahead; nil: it is not remote
	queued   *Requests // the same, where inputs go past the page cache; nil: they do not
	direct   *os.File  // by which this one does; nil: that cannot be done

	member string // of an archive, which is read

	frame    Frame              // as it was asked for
	isFirst  bool               // of all inputs
	whole    int64              // see Whole
	head     surroundings       // before the records
	tail     surroundings       // behind them
	count    *format.CountField // in the head, of the records; nil: none is known
	toldHead bool               // that it differs from that of the first input
	toldTail bool
	warnings []string // see TakeWarnings
}

// Stdin is the name that stands for standard input, and shownStdin what messages call it.
const (
	Stdin      = "-"
	shownStdin = "standard input"
)

// Kind is what is in inputs: records, and how files of another kind are told from them.
type Kind struct {
	format.Spec
	format.Recognition
	Frame

	first bool // of all inputs
}

// openInput opens a source. A regular file can be mapped without a descriptor; what is not compressed and has offsets
// can be read at them; everything else is a stream.
func (o *opener) openInput(ctx context.Context, kind Kind, s Source) (in *Input, err error) {
	c, err := s.open(ctx, o.stdin)
	if err != nil {
		return nil, err
	}
	if s.isRemote() {
		c.at.requests = o.requests
	}
	switch {
	case c.at != nil:
		in, err = openPlaced(kind, c.at, o.windowBytes, o.mapped && c.file != nil)
	case kind.Container().IsArchive:
		err = noArchive(c.Name)
	default:
		in, err = openStream(kind, c.Name, c.Stream, o.windowBytes)
	}
	switch {
	case err != nil:
		c.Close()
		return nil, err
	case c.file == nil:
		return in, nil
	case in.file != nil && in.file.from == nil:
		return in, c.Close()
	}
	in.close = append(in.close, c)
	return in, nil
}

// openPlaced opens what has offsets, as a stream if it is compressed or a member of an archive.
func openPlaced(kind Kind, f *placed, windowBytes int64, mapped bool) (*Input, error) {
	compressed := kind.Compression(f.shown, f.first) != format.None
	switch {
	case kind.Container().IsArchive && compressed:
		return nil, noArchive(f.shown)
	case kind.Container().IsArchive:
		return openMember(kind, f, windowBytes, mapped)
	case !compressed:
		return newFile(kind, f, mapped)
	}
	return openWithin(kind, f, windowBytes, mapped, func() (io.ReadCloser, error) {
		return io.NopCloser(f.sequence(0, f.bytes)), nil
	})
}

// openWithin is a stream that is made of what has offsets.
func openWithin(kind Kind, f *placed, windowBytes int64, mapped bool,
	open func() (io.ReadCloser, error)) (in *Input, err error) {
	if mapped {
		if err := f.mapWhole(); err != nil {
			return nil, err
		}
	}
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
	in.file, in.requests, in.close = f, f.requests, append(in.close, f)
	suspend(in)
	return in, nil
}

// openInput opens a file, which is no folder. The system opens a FIFO only when somebody opens its other end, too: if
// ctx is cancelled before, nobody needs it any more.
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
		return nil, fmt.Errorf("%s: is a directory", name)
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

// plainPathError says "NAME: no such file" where os says "stat NAME: no such file".
func plainPathError(err error) error {
	if pathErr, ok := errors.AsType[*fs.PathError](err); ok {
		return fmt.Errorf("%s: %w", pathErr.Path, pathErr.Err)
	}
	return err
}

// newFile maps a file, if that is wanted, and reads its header.
func newFile(kind Kind, f *placed, mapped bool) (in *Input, err error) {
	in = &Input{Name: f.shown, at: f, file: f, requests: f.requests, close: []io.Closer{f}, frame: kind.Frame,
		isFirst: kind.first}
	if mapped {
		err = f.mapWhole()
	}
	var head []byte
	if err == nil {
		head, err = in.lookAt(kind)
	}
	if err == nil {
		in.Header, err = kind.ReadHeader(io.NewSectionReader(f, 0, f.bytes), f.shown)
	}
	if err == nil && kind.Records != 0 {
		if err = in.cutRecords(); err != nil {
			err = fmt.Errorf("%s: %w", f.shown, err)
		}
	}
	if err == nil {
		in.Records, err = format.CheckSize(f.shown, in.Header, f.bytes)
	}
	if err != nil {
		f.Close()
		return nil, err
	}
	in.whole = in.Records
	if kind.Keep {
		in.noteHead(head)
	}
	return in, nil
}

// lookAt refuses what does not begin as records may, and has a warning of what only looks as if. What is skipped is not
// looked at; it is returned if it is kept.
func (in *Input) lookAt(kind Kind) (head []byte, err error) {
	err = kind.CheckPacked(in.at.first)
	if err == nil && kind.Skip > 0 {
		head, err = in.at.skip(kind.Skip, kind.Keep)
	}
	if err == nil && kind.Records == 0 {
		err = in.cutTail(kind.Tail)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", in.Name, err)
	}
	in.warn(kind.CountDoubt(kind.Spec, in.Name, in.at.first, in.at.bytes))
	in.warn(kind.TextDoubt(kind.Spec, in.at.first))
	if err = kind.CheckRecords(kind.Spec, in.at.first); err != nil {
		return nil, fmt.Errorf("%s: %w", in.Name, err)
	}
	return head, nil
}

// streamBuffer is enough to look at the first bytes of a stream. Records are read in pieces that are larger, and so
// go straight to their place.
const streamBuffer = 16 << 10

func openStream(kind Kind, name string, source io.ReadCloser, windowBytes int64) (*Input, error) {
	in := &Input{Name: name, close: []io.Closer{source}, frame: kind.Frame, isFirst: kind.first, whole: -1}
	if kind.Tail > MaxKept {
		in.Close()
		return nil, fmt.Errorf("%s: it can only be read sequentially, and at most %d bytes can be skipped "+
			"after its records: "+
			"use %v, or write it to a plain file first", name, MaxKept, option.Records)
	}
	buffered := newLateBuffer(source)
	begins, err := buffered.first.Peek(format.DetectBytes)
	if err != nil && err != io.EOF {
		in.Close()
		return nil, fmt.Errorf("read %s: %w", name, err)
	}
	begin := &checked{kind: kind, in: in}
	err = nil
	if c := kind.Compression(name, begins); c != format.None {
		in.Window = format.Window(c, begins)
		window := min(in.Window, windowBytes)
		in.Compression, in.ExtraWindow = c, window-format.CommonWindow
		decoder := format.NewReader(buffered, c, window)
		begin.Reader, in.stream = bufio.NewReaderSize(decoder, format.DetectBytes), begin
		in.decoder, in.begins = decoder, slices.Clone(begins)
		in.close = append(in.close, decoder)
	} else {
		begin.Reader = bufio.NewReaderSize(buffered.first, streamBuffer)
		in.stream = begin.Reader
		err = kind.CheckPacked(begins)
	}
	if err == nil && (in.Compression == format.None || kind.Keep && kind.first) {
		err = begin.look()
	}
	if err != nil {
		err = fmt.Errorf("%s: %w", in.Name, err)
	} else {
		in.Header, err = kind.ReadHeader(in.stream, name)
	}
	if err != nil {
		in.Close()
		return nil, err
	}
	in.Records = in.Header.Records()
	if begun := in.Header.Begun(); begun != nil {
		in.stream = io.MultiReader(bytes.NewReader(begun), in.stream)
	}
	if kind.hasTail() {
		in.stream = in.withoutTail(in.stream)
	}
	if kind.Records != 0 {
		in.Records = max(kind.Records, 0)
	}
	if kind.Keep && begin.done {
		in.noteHead(begin.head)
	}
	return in, nil
}

// checked is what a decoder gives, once its first bytes have been looked at. A decoder takes memory from then on, and
// so is not asked before its turn.
type checked struct {
	*bufio.Reader
	kind Kind
	in   *Input
	head []byte // that was skipped, if it is kept
	done bool
}

func (c *checked) Read(p []byte) (int, error) {
	if !c.done {
		if err := c.look(); err != nil {
			return 0, err
		}
	}
	return c.Reader.Read(p)
}

// look skips what comes before the records, and refuses what does not begin as records may.
func (c *checked) look() (err error) {
	c.done = true
	if c.kind.Skip > 0 {
		if c.head, err = skip(c.Reader, c.kind.Skip, c.kind.Keep); err != nil {
			return err
		}
	}
	first, _ := c.Peek(format.DetectBytes) // the reader repeats its error
	c.in.warn(c.kind.TextDoubt(c.kind.Spec, first))
	if c.in.Header != nil && c.kind.Keep { // else openStream notes it, when it has the header
		c.in.noteHead(c.head)
		c.head = nil
	}
	return c.kind.CheckRecords(c.kind.Spec, first)
}

// warn keeps a warning about the input; "" is none.
func (in *Input) warn(doubt string) {
	if doubt != "" {
		in.warnings = append(in.warnings, in.Name+": "+doubt)
	}
}

// TakeWarnings returns what the user may have overlooked, and has not been warned of.
func (in *Input) TakeWarnings() []string {
	warnings := in.warnings
	in.warnings = nil
	return warnings
}

// skip reads past n bytes, and gives them if they are to be kept.
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

// Seekable reports whether records can be read at any place.
func (in *Input) Seekable() bool { return in.at != nil }

// IsDisk reports whether the records are on a disk itself, which does not tell when it was written to.
func (in *Input) IsDisk() bool { return in.at != nil && in.at.info != nil && isDisk(in.at.info) }

// ReadRecords fills p with the records from index first on. REQUIRES: Seekable.
func (in *Input) ReadRecords(p []byte, first int64) error {
	off := in.Offset(first)
	n, err := in.at.ReadAt(p, off)
	if n == len(p) {
		return in.Header.CheckRecords(p, first*int64(in.Header.Layout().RecordSize))
	}
	if err == io.EOF {
		err = io.ErrUnexpectedEOF
	}
	return fmt.Errorf("read %s at byte %d: %w", in.Name, off+int64(n), err)
}

// Offset is the place in the file, decompressed, of a record.
func (in *Input) Offset(record int64) int64 {
	return in.Header.Size() + (in.First+record)*int64(in.Header.Layout().RecordSize)
}

// askFor has the system read n records from index first on from the disk. REQUIRES: Seekable.
func (in *Input) askFor(first, n int64) {
	if f := in.at; f.file != nil {
		willNeed(f.file, f.start+in.Offset(first), n*int64(in.Header.Layout().RecordSize))
	}
}

// RequestsOf is the memory by which all remote inputs of a run are read ahead; nil: none is remote.
func RequestsOf(all []*Input) *Requests {
	for _, in := range all {
		if in.requests != nil {
			return in.requests
		}
	}
	return nil
}

// ErrChanged is the error of an input that is read twice and is not the second time what it was.
var ErrChanged = errors.New("the input changed while it was read")

// Check reports that a file changed while it was being read, and warns of one that grew: the records that it had when
// it was opened have been read. What is written within the same tick of the file system's clock as something before it
// was opened cannot be told.
func (in *Input) Check(warn func(message string)) error {
	for _, message := range in.TakeWarnings() {
		warn(message)
	}
	if in.file == nil || in.Overwritten {
		return nil
	}
	return in.file.check(warn)
}

// CheckUnchanged returns an error if a file that is about to be overwritten is not as it was when it was opened. now
// describes it.
func (in *Input) CheckUnchanged(now os.FileInfo) error {
	if in.file == nil || in.file.info == nil || !now.Mode().IsRegular() {
		return nil
	}
	before := in.file.info
	if now.Size() == before.Size() && now.ModTime().Equal(before.ModTime()) {
		return nil
	}
	return fmt.Errorf("%s: the file changed while it was read, and was not overwritten; try again", in.Name)
}

// Close closes the input, once.
func (in *Input) Close() error {
	closers := in.close
	in.close, in.decoder = nil, nil
	return joinErrors(closers, io.Closer.Close)
}
