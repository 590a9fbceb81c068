package output

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"sync/atomic"

	"github.com/extsort/extsort/chunker/input/pipe"
	"github.com/extsort/extsort/device"
	"github.com/extsort/extsort/format"
	"github.com/extsort/extsort/internal/turns"
)

// newStream returns a sink that writes sequentially: to a stream, or through a compressor to a
// file.
func newStream(ctx context.Context, to io.Writer, opt Options) (*Sink, error) {
	end := newStreamEnd(ctx, to, opt)
	var err error
	end.compressor, err = format.NewWriter(end, opt.Compression, opt.Compressors)
	if err != nil {
		return nil, errors.Join(err, end.giveUp())
	}

	w := &inOrder{end: end, opt: opt}
	w.headed = headedWriter{w: end.compressor}
	w.records = NewStreamSink(&w.headed, opt.RecordSize)
	s := &Sink{
		BlockWriter: w.records,
		Kind:        kindOf(to),
		Abort:       end.abort,
		commit:      w.commit,
		begun:       end.begun.Load,
	}
	if err := s.begin(&w.headed, opt); err != nil {
		return nil, errors.Join(err, s.Abort())
	}
	return s, nil
}

// kindOf returns the kind of an output that is written sequentially.
func kindOf(to io.Writer) Kind {
	if _, isStream := to.(*stream); isStream {
		return KindStream
	}
	if _, isOutput := to.(Output); isOutput {
		return KindOrdered
	}
	return KindStream
}

// newStreamEnd returns the end of a stream. The caller adds its compressor.
func newStreamEnd(ctx context.Context, to io.Writer, opt Options) *streamEnd {
	end := &streamEnd{
		last: pipe.NewWriter(to),
		old:  noOldContent{},
	}
	if _, canAbort := to.(interface{ Abort() error }); !canAbort {
		end.last = pipe.NewInterruptible(ctx, to)
	}
	if opt.InPlace != nil {
		end.old = newOverwrite(to, opt)
	}
	end.durable = durableFile(to, opt)
	end.behind = newSequentialFile(to)
	out, isOutput := to.(Output)
	if !isOutput {
		out = foreign{to}
	}
	end.out = out
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
	if err := w.records.turns.Finish(records); err != nil {
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

// A streamEnd is the end of an output that is written sequentially: a compressor, followed by a
// pipe or file.
type streamEnd struct {
	compressor io.WriteCloser
	last       io.WriteCloser // writes to out and leaves it open
	out        Output
	old        oldContent
	behind     *sequentialFile // nil unless the stream is a regular file
	durable    *rawFile        // the file to sync at the end; nil if the stream needs no sync
	closed     atomic.Bool     // rejects further writes
	begun      atomic.Bool     // a byte has been written
}

// Write receives the output of the compressor.
func (e *streamEnd) Write(p []byte) (int, error) {
	if e.closed.Load() {
		return 0, io.ErrClosedPipe
	}
	if err := e.old.begin(); err != nil {
		return 0, err
	}
	n, err := e.last.Write(p)
	if n > 0 {
		e.begun.Store(true)
		e.behind.noteWritten(int64(n))
	}
	return n, err
}

func (e *streamEnd) commit(ctx context.Context) error {
	if err := errors.Join(e.compressor.Close(), e.last.Close()); err != nil {
		return err
	}
	if err := e.old.finish(); err != nil {
		return err
	}
	if e.durable != nil {
		if err := Await(ctx, e.durable.sync); err != nil {
			return fmt.Errorf("sync output %s: %w", e.durable.name, device.WithoutPath(err))
		}
	}
	return e.out.Commit(ctx, -1)
}

// durableFile returns the file of a stream if the data must be durable at the end, and otherwise nil.
// If the file is also an input, the disk contains a mixture of old and new records until then. A
// disk reports errors of cached writes only to a sync.
func durableFile(to io.Writer, opt Options) *rawFile {
	file := fileOf(to)
	if file == nil {
		return nil
	}
	info, err := file.Stat()
	if err != nil {
		return nil
	}
	isDisk := info.Mode()&(fs.ModeDevice|fs.ModeCharDevice) == fs.ModeDevice
	if isDisk || opt.InPlace != nil && info.Mode().IsRegular() {
		return &rawFile{ops: newOperations(opt.Fault), file: file, name: cmp.Or(opt.Overwrites, file.Name())}
	}
	return nil
}

// fileOf returns the open file that a stream is written to, or nil if the stream is another kind of
// writer.
func fileOf(to io.Writer) *os.File {
	switch to := to.(type) {
	case *stream:
		return to.file
	case *File:
		return to.file
	case *os.File:
		return to
	}
	return nil
}

// abort gives up the stream. The compressor must not write the end of a complete stream.
func (e *streamEnd) abort() error {
	if e.closed.Swap(true) {
		return nil
	}
	e.compressor.Close() // ends its goroutines
	return e.giveUp()
}

// giveUp ends the stream. REQUIRES: the compressor is closed, or was never opened
func (e *streamEnd) giveUp() error {
	e.last.Close()
	return e.out.Abort()
}

// foreign is a stream that belongs to the caller and stays open.
type foreign struct{ io.Writer }

// Commit reports an error of the file system that occurs only when a file is closed.
func (f foreign) Commit(context.Context, int64) error {
	file, ok := f.Writer.(*os.File)
	if !ok {
		return nil
	}
	if err := closeCopy(file); err != nil {
		return fmt.Errorf("close %s: %w", file.Name(), err)
	}
	return nil
}

// Abort does nothing: written data cannot be taken back.
func (foreign) Abort() error { return nil }

// StreamSink is a BlockWriter that writes blocks in order to a stream, such as a pipe or a
// compressor. Calls wait for their turn. After the first error, which may be syscall.EPIPE, all
// calls return that error.
type StreamSink struct {
	w     io.Writer
	size  int // record size in bytes
	turns turns.Queue
}

// NewStreamSink returns a sink for records of recordSize bytes.
func NewStreamSink(w io.Writer, recordSize int) *StreamSink {
	return &StreamSink{w: w, size: recordSize}
}

// WriteBlock writes recs after all earlier records have been written.
func (s *StreamSink) WriteBlock(ctx context.Context, first int64, recs []byte) error {
	if err := s.turns.Wait(ctx, first); err != nil {
		return err
	}
	err := context.Cause(ctx)
	if err == nil && len(recs) > 0 {
		if _, err = s.w.Write(recs); err != nil {
			err = fmt.Errorf("write record %d (byte %d): %w", first, first*int64(s.size), err)
		}
	}
	s.turns.Pass(first+int64(len(recs)/s.size), err)
	return err
}
