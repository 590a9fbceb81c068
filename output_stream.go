package extsort

import (
	"context"
	"errors"
	"io"
	"sync/atomic"
	"syscall"

	"github.com/extsort/extsort/chunker"
	"github.com/extsort/extsort/chunker/input/pipe"
	"github.com/extsort/extsort/format"
	sinks "github.com/extsort/extsort/merge/output"
)

// toStream writes blocks in their order. When a header has to stand before the records and their number is not
// known, they are kept as spill until it is.
func (o *output) toStream(j *job, w io.Writer, codec format.Compression) error {
	if conn, ok := w.(syscall.Conn); ok {
		pipe.Enlarge(conn)
	}
	end := &streamEnd{file: o.file, last: pipe.NewWriter(w, j.pipeBytes)}
	var err error
	if end.compressor, err = format.NewWriter(end, codec, max(j.codecWorkers, 1)); err != nil {
		return err
	}
	if j.opt.Verify {
		o.checked = &orderWatch{keyer: j.keyer}
	}
	header := func(records int64) error {
		_, err := end.compressor.Write(j.header.Encode(records))
		return err
	}
	var records io.Writer = end.compressor
	if codec == format.None {
		records = end
	}
	sink := sinks.NewStreamSink(records, j.size)
	o.abort = func() error {
		sink.Close() // it has failed, or nobody wants its records
		return end.abort()
	}
	commit := func() error {
		if err := sink.Close(); err != nil {
			return err
		}
		return end.commit()
	}
	if len(j.header.Encode(0)) > 0 && j.expected() < 0 {
		return o.toSpill(j, sink, header, commit)
	}
	o.sink = sink
	o.finish = func(int64) error { return commit() }
	if len(j.header.Encode(0)) > 0 {
		return header(j.expected())
	}
	return nil
}

// streamEnd is the end of an output that is written in order: the compressor, and behind it the pipe or file.
type streamEnd struct {
	compressor io.WriteCloser
	last       io.WriteCloser
	file       *sinks.Output // nil: a stream that the caller gave
	closed     atomic.Bool   // lets no more bytes through
}

// Write takes what the compressor makes.
func (e *streamEnd) Write(p []byte) (int, error) {
	if e.closed.Load() {
		return 0, io.ErrClosedPipe
	}
	return e.last.Write(p)
}

// Takes reports whether the pipe, if it is one, takes memory over.
func (e *streamEnd) Takes() bool {
	taker, ok := e.last.(pipe.Taker)
	return ok && taker.Takes()
}

// Take gives memory to the pipe. It is Write where there is none.
func (e *streamEnd) Take(p []byte) (int, error) {
	taker, ok := e.last.(pipe.Taker)
	if !ok || e.closed.Load() {
		return e.Write(p)
	}
	return taker.Take(p)
}

func (e *streamEnd) commit() error {
	if err := errors.Join(e.compressor.Close(), e.last.Close()); err != nil || e.file == nil {
		return err
	}
	return e.file.Commit(-1)
}

// abort gives the stream up. A compressor must not end it as if it were complete.
func (e *streamEnd) abort() error {
	e.closed.Store(true)
	e.compressor.Close() // ends its goroutines
	e.last.Close()
	if e.file != nil {
		return e.file.Abort()
	}
	return nil
}

// toSpill keeps the sorted records until their number is known.
func (o *output) toSpill(j *job, sink *sinks.StreamSink, header func(int64) error, end func() error) error {
	if err := j.openSpill(-1, 0); err != nil {
		return err
	}
	kept := j.spill.NewRun()
	o.sink = kept
	o.finish = func(records int64) error {
		run, err := kept.Finish()
		if err != nil {
			return err
		}
		defer run.Close()
		if err := header(records); err != nil {
			return err
		}
		if err := copyPart(context.Background(), &chunker.Part{Run: run}, 1, sink); err != nil {
			return err
		}
		return end()
	}
	return nil
}
