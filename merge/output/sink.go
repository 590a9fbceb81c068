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

// Kind says what can be done about what has been written to an output. A greater one can do less.
type Kind int

const (
	Placed  Kind = iota // a file whose blocks are written at their places, in any order, and again if need be
	Ordered             // a file that is written from its beginning, as where it is compressed; it can be begun anew
	Stream              // what has been written cannot be taken back, and may have ended where the input is read from
)

// Options describes the records of an output and how they are written.
type Options struct {
	RecordSize  int
	Keyer       *format.Keyer              // of them, for a set: it is cut where the key changes; nil: anywhere
	Records     int64                      // how many will come; negative: not known
	Header      func(records int64) []byte // what stands before them, of the same size for any number; nil: nothing
	MaxRecords  int64                      // the greatest number that Header can announce; 0: any
	Tail        func() ([]byte, error)     // returns the bytes behind the records, when all are written; nil: none
	Compression format.Compression
	Writers     int   // that write blocks at the same time
	Compressors int   // goroutines that compress
	PipeBytes   int64 // memory for the writer of a pipe

	Queue *spill.Queue // by which a file goes past the page cache; nil: it goes through it

	// InPlace is set where a stream overwrites a file that is also an input. It is called before the first byte is
	// written, with a description of the file if it is one, and returns an error unless the whole input has been read.
	// When the output is complete, the rest of the old file is cut off.
	InPlace func(now os.FileInfo) error

	// MostRecords returns the greatest number of records that can come. It is called when InPlace has allowed the
	// output to overwrite a file, to make sure that there is room for what the file grows by. Overwrites is its name.
	MostRecords func() int64
	Overwrites  string
	Fault       func(operation string) error // fails the operations of that; for tests, else nil

	// Keep begins a run that keeps the records where a header must tell their number before the first of them, and it
	// is not known; nil: then that is an error.
	Keep func() (*spill.RunWriter, error)
}

func (o *Options) header(records int64) []byte {
	if o.Header == nil {
		return nil
	}
	return o.Header(records)
}

// checkCount reports more records than the header can announce.
func (o *Options) checkCount(records int64) error {
	if o.MaxRecords > 0 && records > o.MaxRecords {
		return fmt.Errorf("the header can count at most %d records, and the output has %d: "+
			"limit or split it, or write it without a header", o.MaxRecords, records)
	}
	return nil
}

// tail returns the bytes behind the records.
func (o *Options) tail() ([]byte, error) {
	if o.Tail == nil {
		return nil, nil
	}
	return o.Tail()
}

// mostBytes returns the greatest size that the output can have, or -1 if it is not known.
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

// fixedHeader reports whether what stands before the records is the same for any number of them.
func (o *Options) fixedHeader() bool { return bytes.Equal(o.header(0), o.header(1)) }

// Sink is where sorted records end: a BlockWriter that is finished by Commit, or given up by Abort.
type Sink struct {
	device.BlockWriter

	Kind  Kind         // what can be done about what has been written
	Abort func() error // leaves no trace of the output, and does nothing after Commit
	Files func() int   // the number of files of a set; nil: it is none

	commit func(ctx context.Context, records int64) error
	begun  func() bool // nil: nothing that is written before Commit is visible
}

// Begun reports whether a byte has been written to a stream.
func (s *Sink) Begun() bool { return s.begun != nil && s.begun() }

// Commit completes the output, which has that many records. After an error, or when ctx is cancelled, it is given up.
func (s *Sink) Commit(ctx context.Context, records int64) error {
	if err := s.commit(ctx, records); err != nil {
		return errors.Join(err, s.Abort())
	}
	return nil
}

// NewSink makes a sink of an Output that holds nothing yet, of another output that appears whole, or of any stream.
// After an error an output is given up. A write to a stream does not outlast ctx, unless the stream can Abort.
func NewSink(ctx context.Context, to io.Writer, opt Options) (*Sink, error) {
	out, _ := to.(*Output)
	if out == nil || out.IsStream || opt.Compression != format.None {
		return newStream(ctx, to, out, opt)
	}
	header := int64(len(opt.header(0)))
	if err := opt.checkCount(opt.Records); err != nil {
		return nil, errors.Join(err, out.Abort())
	}
	if opt.Records >= 0 {
		if err := out.Reserve(header+opt.Records*int64(opt.RecordSize), opt.Writers); err != nil {
			return nil, errors.Join(err, out.Abort())
		}
	}
	goPast(out, opt.Queue)
	return &Sink{
		Kind: Placed, Abort: out.Abort,
		BlockWriter: device.BlockWriterFunc(func(_ context.Context, first int64, recs []byte) error {
			_, err := out.WriteAt(recs, header+first*int64(opt.RecordSize))
			return err
		}),
		commit: func(ctx context.Context, records int64) error {
			tail, err := opt.tail()
			if err = cmp.Or(err, opt.checkCount(records)); err != nil {
				return err
			}
			end := header + records*int64(opt.RecordSize)
			if _, err := out.WriteAt(opt.header(records), 0); err != nil {
				return err
			}
			if _, err := out.WriteAt(tail, end); err != nil {
				return err
			}
			return out.Commit(ctx, end+int64(len(tail)))
		},
	}, nil
}

// newStream makes a sink of what is written in order: a stream, or a file through a compressor.
func newStream(ctx context.Context, to io.Writer, out *Output, opt Options) (*Sink, error) {
	end := &streamEnd{to: to, last: pipe.NewWriter(to, opt.PipeBytes), inPlace: opt.InPlace, cut: opt.InPlace != nil}
	if _, ends := to.(interface{ Abort() error }); !ends {
		end.last = pipe.Interruptible(ctx, end.last, to)
	}
	end.fault = opt.Fault
	end.name = opt.Overwrites
	if opt.Compression == format.None {
		end.mostBytes = opt.mostBytes
	}
	end.whole, _ = to.(Whole)
	var err error
	if end.compressor, err = format.NewWriter(end, opt.Compression, opt.Compressors); err != nil {
		return nil, errors.Join(err, end.abort())
	}
	headed := &headedWriter{w: end.compressor}
	stream := NewStreamSink(headed, opt.RecordSize)
	s := &Sink{BlockWriter: stream, Kind: Stream, begun: end.begun.Load}
	if end.whole != nil && (out == nil || !out.IsStream) {
		s.Kind = Ordered
	}
	s.Abort = end.abort
	s.commit = func(ctx context.Context, records int64) error {
		if err := stream.turns.finish(records); err != nil {
			return err
		}
		if len(opt.header(0)) > 0 && opt.Records >= 0 && records != opt.Records {
			return fmt.Errorf("the output's header says %d records, and %d came", opt.Records, records)
		}
		if err := headed.writeHeader(); err != nil {
			return err
		}
		tail, err := opt.tail()
		if err == nil && len(tail) > 0 {
			_, err = end.compressor.Write(tail)
		}
		if err != nil {
			return err
		}
		return end.commit(ctx)
	}
	if err := s.begin(headed, opt); err != nil {
		return nil, errors.Join(err, s.Abort())
	}
	return s, nil
}

// begin sets the header, which goes out with the first records. If it needs their number, they wait until it is known.
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
		return errors.New("the header needs the number of records before the first one, and that is not known: " +
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

// headedWriter writes a header before the first bytes it gets, not earlier: until then nothing of the output is
// written, and a file that is both an input and the output is intact.
type headedWriter struct {
	w      io.Writer
	header []byte // nil once it is written
}

func (h *headedWriter) Write(p []byte) (int, error) {
	if err := h.writeHeader(); err != nil {
		return 0, err
	}
	return h.w.Write(p)
}

// writeHeader writes the header unless that has been done.
func (h *headedWriter) writeHeader() error {
	header := h.header
	h.header = nil
	if len(header) == 0 {
		return nil
	}
	_, err := h.w.Write(header)
	return err
}

// wait lets the records wait in a run until their number is known. Then begin is told it, and workers copy them.
func (s *Sink) wait(keep func() (*spill.RunWriter, error), workers int, begin func(records int64) error) error {
	kept, err := keep()
	if err != nil {
		return err
	}
	to, commit := s.BlockWriter, s.commit
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

// streamEnd is the end of an output that is written in order: the compressor, and behind it the pipe or file.
type streamEnd struct {
	compressor io.WriteCloser
	last       io.WriteCloser
	to         io.Writer   // stays open
	whole      Whole       // the same, if it is one; nil: a stream that the caller gave
	closed     atomic.Bool // lets no more bytes through

	inPlace func(os.FileInfo) error // as in Options; nil also once it has allowed the output
	cut     bool                    // the rest of an old file is to be cut off
	begun   atomic.Bool             // a byte has been written

	name      string                       // of the file that is overwritten
	mostBytes func() int64                 // the greatest size that the output can have; nil: it is not known
	reserved  bool                         // the file may have room behind its end
	fault     func(operation string) error // as in Options
}

// Write takes what the compressor makes.
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

// abort gives the stream up. A compressor must not end it as if it were complete.
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

// StreamSink is a BlockWriter that writes blocks in order to a stream: a pipe, or a compressor on top of a file. Calls
// wait for their turn. After the first error, which may be syscall.EPIPE, all calls return it.
type StreamSink struct {
	w     io.Writer
	size  int // record size
	turns turns
}

// NewStreamSink makes a sink of records of recordSize bytes.
func NewStreamSink(w io.Writer, recordSize int) *StreamSink {
	return &StreamSink{w: w, size: recordSize}
}

// WriteBlock writes recs when all records before them have been written.
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
