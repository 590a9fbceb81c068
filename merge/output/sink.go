package output

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"sync/atomic"

	"github.com/extsort/extsort/chunker/input/pipe"
	"github.com/extsort/extsort/chunker/spill"
	"github.com/extsort/extsort/device"
	"github.com/extsort/extsort/format"
)

// Kind says whether written data can be changed or taken back. A greater value is more
// restrictive.
type Kind int

const (
	// KindPlaced is a file whose blocks are written at their positions, in any order, repeatedly
	// if needed.
	KindPlaced Kind = iota
	// KindOrdered is a file that is written sequentially, such as a compressed one. It can be
	// restarted.
	KindOrdered
	// KindStream is an output whose data cannot be taken back. It may overwrite the input.
	KindStream
)

// Options describes the records of an output and how they are written.
type Options struct {
	RecordSize int
	// Keyer is set for a set, which is divided only where the key changes; nil allows any
	// position.
	Keyer   *format.Keyer
	Records int64 // number of records; negative if not known
	// Header returns the bytes before the records; their length is the same for any number of
	// records. nil means no header.
	Header     func(records int64) []byte
	MaxRecords int64 // maximum number that Header can announce; 0 means no limit
	// Tail returns the bytes after the records. It is called when all records have been written.
	// nil means none.
	Tail        func() ([]byte, error)
	Compression format.Compression
	Writers     int // number of concurrent writers of blocks
	Compressors int // number of goroutines that compress

	// InPlace is set if a stream overwrites a file that is also an input. It is called before the
	// first byte is written, with a description of the file (nil if the stream is not a file). It
	// returns an error unless the whole input has been read. When the output is complete, the
	// rest of the old file is truncated.
	InPlace func(now os.FileInfo) error

	// MostRecords returns the maximum number of records. It is called after InPlace has allowed
	// the output to overwrite a file, to reserve space for the growth of the file. Overwrites is
	// the name of that file.
	MostRecords func() int64
	Overwrites  string
	Fault       func(operation string) error // makes operations fail in tests; nil otherwise

	// Keep begins a run that holds the records while their number is not known, if a header must
	// announce it. If Keep is nil, this is an error.
	Keep func() (*spill.RunWriter, error)
}

// File adds to opt what is known of a file for these records: its size, if they are written at
// their positions.
func (o *Options) File(opt FileOptions) FileOptions {
	if o.Compression == format.None && o.Records >= 0 {
		opt.Bytes = int64(len(o.header(0))) + o.Records*int64(o.RecordSize)
	}
	opt.Writers = o.Writers
	return opt
}

func (o *Options) header(records int64) []byte {
	if o.Header == nil {
		return nil
	}
	return o.Header(records)
}

// checkCount returns an error if the header cannot announce the number of records.
func (o *Options) checkCount(records int64) error {
	if o.MaxRecords > 0 && records > o.MaxRecords {
		return fmt.Errorf("the header can count at most %d records, but the output has %d: "+
			"limit or split it, or write it without a header", o.MaxRecords, records)
	}
	return nil
}

// tail returns the bytes after the records.
func (o *Options) tail() ([]byte, error) {
	if o.Tail == nil {
		return nil, nil
	}
	return o.Tail()
}

// mostBytes returns the maximum size of the output, or -1 if it is not known.
func (o *Options) mostBytes() int64 {
	records := o.Records
	if records < 0 && o.MostRecords != nil {
		records = o.MostRecords()
	}
	if records < 0 {
		return -1
	}
	tail, _ := o.tail() // its error is reported when the tail is written
	return int64(len(o.header(records))) + records*int64(o.RecordSize) + int64(len(tail))
}

// fixedHeader reports whether the header is the same for any number of records.
func (o *Options) fixedHeader() bool {
	return bytes.Equal(o.header(0), o.header(1))
}

// A Sink receives sorted records. It is a BlockWriter that ends with Commit or Abort.
type Sink struct {
	device.BlockWriter

	Kind  Kind         // whether written data can be changed or taken back
	Abort func() error // removes the output; does nothing after Commit
	Files func() int   // number of files of a set; nil if the sink is not a set

	commit func(ctx context.Context, records int64) error
	begun  func() bool // nil if nothing is visible before Commit
}

// Begun reports whether any byte has been written to a stream.
func (s *Sink) Begun() bool { return s.begun != nil && s.begun() }

// Commit completes the output, which has the given number of records. If Commit fails or ctx is
// cancelled, it aborts the output.
func (s *Sink) Commit(ctx context.Context, records int64) error {
	if err := s.commit(ctx, records); err != nil {
		return errors.Join(err, s.Abort())
	}
	return nil
}

// NewSink returns a sink for an empty Output or for any stream. If it fails, it aborts the output.
// A write to a stream ends when ctx is cancelled, unless the stream has an Abort method.
func NewSink(ctx context.Context, to io.Writer, opt Options) (*Sink, error) {
	if file, ok := to.(*File); ok && opt.Compression == format.None {
		return newPlaced(file, opt)
	}
	return newStream(ctx, to, opt)
}

// placed writes the records of a file at their positions. It writes the header and the tail at the
// end, when their content is known.
type placed struct {
	file   *File
	opt    Options
	header int64 // size in bytes
}

func newPlaced(file *File, opt Options) (*Sink, error) {
	if err := opt.checkCount(opt.Records); err != nil {
		return nil, errors.Join(err, file.Abort())
	}
	p := &placed{
		file:   file,
		opt:    opt,
		header: int64(len(opt.header(0))),
	}
	return &Sink{
		BlockWriter: p,
		Kind:        KindPlaced,
		Abort:       file.Abort,
		commit:      p.commit,
	}, nil
}

// WriteBlock writes records at their position.
func (p *placed) WriteBlock(_ context.Context, first int64, recs []byte) error {
	_, err := p.file.WriteAt(recs, p.offset(first))
	return err
}

// offset returns the position of a record in the file.
func (p *placed) offset(record int64) int64 {
	return p.header + record*int64(p.opt.RecordSize)
}

func (p *placed) commit(ctx context.Context, records int64) error {
	tail, err := p.opt.tail()
	if err = cmp.Or(err, p.opt.checkCount(records)); err != nil {
		return err
	}
	if _, err := p.file.WriteAt(p.opt.header(records), 0); err != nil {
		return err
	}
	end := p.offset(records)
	if _, err := p.file.WriteAt(tail, end); err != nil {
		return err
	}
	return p.file.Commit(ctx, end+int64(len(tail)))
}

// newStream returns a sink that writes sequentially: to a stream, or through a compressor to a
// file.
func newStream(ctx context.Context, to io.Writer, opt Options) (*Sink, error) {
	end := newStreamEnd(ctx, to, opt)
	var err error
	end.compressor, err = format.NewWriter(end, opt.Compression, opt.Compressors)
	if err != nil {
		return nil, errors.Join(err, end.abort())
	}

	w := &inOrder{end: end, opt: opt}
	w.headed = headedWriter{w: end.compressor}
	w.records = NewStreamSink(&w.headed, opt.RecordSize)
	s := &Sink{BlockWriter: w.records, Kind: KindStream, Abort: end.abort, commit: w.commit, begun: end.begun.Load}
	if _, isStream := to.(*stream); end.whole != nil && !isStream {
		s.Kind = KindOrdered
	}
	if err := s.begin(&w.headed, opt); err != nil {
		return nil, errors.Join(err, s.Abort())
	}
	return s, nil
}

// newStreamEnd returns the end of a stream. The caller adds its compressor.
func newStreamEnd(ctx context.Context, to io.Writer, opt Options) *streamEnd {
	end := &streamEnd{
		to:      to,
		last:    pipe.NewWriter(to),
		inPlace: opt.InPlace,
		cut:     opt.InPlace != nil,
		name:    opt.Overwrites,
		fault:   opt.Fault,
	}
	if _, canAbort := to.(interface{ Abort() error }); !canAbort {
		end.last = pipe.NewInterruptible(ctx, to)
	}
	if opt.Compression == format.None {
		end.mostBytes = opt.mostBytes
	}
	end.whole, _ = to.(Output)
	return end
}

// inOrder writes an output from beginning to end: header, records, tail.
type inOrder struct {
	records *StreamSink
	headed  headedWriter
	end     *streamEnd
	opt     Options
}

// commit writes the tail after the given number of records and completes the output.
func (w *inOrder) commit(ctx context.Context, records int64) error {
	if err := w.records.turns.finish(records); err != nil {
		return err
	}
	if len(w.opt.header(0)) > 0 && w.opt.Records >= 0 && records != w.opt.Records {
		return fmt.Errorf("the header of the output says %d records, but there are %d", w.opt.Records, records)
	}
	if err := w.headed.writeHeader(); err != nil { // there were no records
		return err
	}
	tail, err := w.opt.tail()
	if err != nil {
		return err
	}
	if len(tail) > 0 {
		if _, err := w.end.compressor.Write(tail); err != nil {
			return err
		}
	}
	return w.end.commit(ctx)
}

// begin sets the header, which is written before the first records. If the header needs a count
// that is not known, the records wait in a run.
func (s *Sink) begin(to *headedWriter, opt Options) error {
	switch {
	case len(opt.header(0)) == 0:
		return nil
	case opt.Records >= 0 || opt.fixedHeader():
		if err := opt.checkCount(opt.Records); err != nil {
			return err
		}
		to.header = opt.header(max(opt.Records, 0))
		return nil
	case opt.Keep == nil:
		return errors.New("the header needs the number of records, which is unknown until the input ends: " +
			"write to a file")
	}
	return s.wait(opt.Keep, 1, func(records int64) error {
		if err := opt.checkCount(records); err != nil {
			return err
		}
		to.header = opt.header(records)
		return nil
	})
}

// A headedWriter writes a header before the first bytes it receives. Until then nothing of the
// output is written, and a file that is both input and output is intact.
type headedWriter struct {
	w      io.Writer
	header []byte // nil after it is written
}

func (h *headedWriter) Write(p []byte) (int, error) {
	if err := h.writeHeader(); err != nil {
		return 0, err
	}
	return h.w.Write(p)
}

// writeHeader writes the header unless it has been written.
func (h *headedWriter) writeHeader() error {
	header := h.header
	h.header = nil
	if len(header) == 0 {
		return nil
	}
	_, err := h.w.Write(header)
	return err
}

// wait stores the records in a run until their number is known. It then passes the number to
// begin and copies the records to the output with the given number of workers.
func (s *Sink) wait(
	keep func() (*spill.RunWriter, error), workers int, begin func(records int64) error,
) error {
	kept, err := keep()
	if err != nil {
		return err
	}
	to := s.BlockWriter
	commit := s.commit
	s.BlockWriter = kept
	s.commit = func(ctx context.Context, records int64) error {
		run, err := kept.Finish()
		if err != nil {
			return err
		}
		defer run.Close()

		if err := begin(records); err != nil {
			return err
		}
		if err := run.CopyTo(ctx, workers, to); err != nil {
			return err
		}
		return commit(ctx, records)
	}
	return nil
}

// A streamEnd is the end of an output that is written sequentially: a compressor, followed by a
// pipe or file.
type streamEnd struct {
	compressor io.WriteCloser
	last       io.WriteCloser
	to         io.Writer   // stays open
	whole      Output      // to, if it is an Output; nil for a stream that belongs to the caller
	closed     atomic.Bool // rejects further writes

	// inPlace is Options.InPlace. It is nil after it has allowed the output.
	inPlace func(os.FileInfo) error
	cut     bool        // truncate the rest of an old file
	begun   atomic.Bool // a byte has been written

	name      string                       // of the file that is overwritten
	mostBytes func() int64                 // maximum size of the output; nil if it is not known
	reserved  bool                         // the file may have reserved space after its end
	fault     func(operation string) error // Options.Fault
}

// Write receives the output of the compressor.
func (e *streamEnd) Write(p []byte) (int, error) {
	if e.closed.Load() {
		return 0, io.ErrClosedPipe
	}
	if err := e.begin(); err != nil {
		return 0, err
	}
	n, err := e.last.Write(p)
	if n > 0 {
		e.begun.Store(true)
	}
	return n, err
}

func (e *streamEnd) commit(ctx context.Context) error {
	if err := errors.Join(e.compressor.Close(), e.last.Close()); err != nil {
		return err
	}
	if e.cut {
		if err := e.cutOff(); err != nil {
			return err
		}
	}
	if e.whole != nil {
		return e.whole.Commit(ctx, -1)
	}
	if file, ok := e.to.(*os.File); ok {
		if err := closeCopy(file); err != nil {
			return fmt.Errorf("close %s: %w", file.Name(), err)
		}
	}
	return nil
}

// abort gives up the stream. The compressor must not write the end of a complete stream.
func (e *streamEnd) abort() error {
	if e.closed.Swap(true) {
		return nil
	}
	if e.compressor != nil {
		e.compressor.Close() // ends its goroutines
	}
	e.last.Close()
	if e.whole != nil {
		return e.whole.Abort()
	}
	return nil
}

// StreamSink is a BlockWriter that writes blocks in order to a stream, such as a pipe or a
// compressor. Calls wait for their turn. After the first error, which may be syscall.EPIPE, all
// calls return that error.
type StreamSink struct {
	w     io.Writer
	size  int // record size in bytes
	turns turns
}

// NewStreamSink returns a sink for records of recordSize bytes.
func NewStreamSink(w io.Writer, recordSize int) *StreamSink {
	return &StreamSink{w: w, size: recordSize}
}

// WriteBlock writes recs after all earlier records have been written.
func (s *StreamSink) WriteBlock(ctx context.Context, first int64, recs []byte) error {
	if err := s.turns.wait(ctx, first); err != nil {
		return err
	}
	err := context.Cause(ctx)
	if err == nil && len(recs) > 0 {
		if _, err = s.w.Write(recs); err != nil {
			err = fmt.Errorf("write record %d (byte %d): %w", first, first*int64(s.size), err)
		}
	}
	s.turns.pass(first+int64(len(recs)/s.size), err)
	return err
}
