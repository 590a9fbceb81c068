package output

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/extsort/extsort/chunker/spill"
	"github.com/extsort/extsort/device"
	"github.com/extsort/extsort/format"
)

// A Kind says whether written data can be changed or taken back. A greater Kind allows less.
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

	// MostRecords returns the maximum number of records if Records is negative. Its result is used
	// for the bound of a file, and after InPlace has allowed the output to overwrite a file, to
	// reserve space for the growth of that file. Overwrites is the name of that file.
	MostRecords func() int64
	Overwrites  string
	Fault       func(operation string) error // makes operations fail in tests; nil otherwise

	Warn func(message string) // called if the output is complete but leaves something behind; may be nil

	// Keep begins a run that holds the records while their number is not known, if a header must
	// announce it. If Keep is nil, this is an error.
	Keep func() (*spill.RunWriter, error)
}

// File completes the options of a file for these records. It sets Bytes or AtMost if the records are
// written at their positions.
func (o *Options) File(opt FileOptions) FileOptions {
	bytes := func(records int64) int64 { return int64(len(o.header(0))) + records*int64(o.RecordSize) }
	switch {
	case o.Compression != format.None:
	case o.Records >= 0:
		opt.Bytes = bytes(o.Records)
	case o.MostRecords != nil:
		opt.AtMost = bytes(max(o.MostRecords(), 0))
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

func (o *Options) warn(message string) {
	if o.Warn != nil {
		o.Warn(message)
	}
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

// begin sets the header, which is written before the first records. If the header needs the number
// of records and it is not known yet, the records wait in a run.
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
