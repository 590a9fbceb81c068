package output

import (
	"context"
	"errors"
	"fmt"

	"github.com/extsort/extsort/device"
)

// Sink is where sorted records end: a BlockWriter that is finished by Commit, or given up by Abort.
type Sink interface {
	device.BlockWriter

	// Commit completes the output, which has that many records.
	Commit(records int64) error
	// Abort leaves no trace of the output. It does nothing after Commit.
	Abort() error
}

// SinkOptions describes the records of an output and what stands before them.
type SinkOptions struct {
	RecordSize int
	Records    int64 // how many will come; negative: not known

	// Header makes the HeaderBytes bytes that stand before the records; nil if there are none. Where the output
	// is a stream it is called before the first record, with Records, else by Commit.
	HeaderBytes int
	Header      func(records int64) ([]byte, error)
}

// CreateFile begins an output of records under name. What an Output guarantees holds for it.
func CreateFile(name string, fsys FS, opt SinkOptions) (Sink, error) {
	out, err := Open(name, fsys)
	if err != nil {
		return nil, err
	}
	sink, err := NewSink(out, opt)
	if err != nil {
		return nil, errors.Join(err, out.Abort())
	}
	return sink, nil
}

// NewSink makes a sink of an output that holds nothing yet.
func NewSink(out *Output, opt SinkOptions) (Sink, error) {
	if out.IsStream() {
		return newStreamOutput(out, opt)
	}
	if opt.Records >= 0 {
		if err := out.Reserve(int64(opt.HeaderBytes) + opt.Records*int64(opt.RecordSize)); err != nil {
			return nil, err
		}
	}
	return &fileSink{out: out, opt: opt}, nil
}

// fileSink writes blocks at their offsets, for any number of goroutines at once.
type fileSink struct {
	out *Output
	opt SinkOptions
}

func (s *fileSink) offset(record int64) int64 {
	return int64(s.opt.HeaderBytes) + record*int64(s.opt.RecordSize)
}

func (s *fileSink) WriteBlock(_ context.Context, first int64, recs []byte) error {
	_, err := s.out.WriteAt(recs, s.offset(first))
	return err
}

func (s *fileSink) Commit(records int64) error {
	header, err := s.opt.header(records)
	if err == nil && len(header) > 0 {
		_, err = s.out.WriteAt(header, 0)
	}
	if err != nil {
		return errors.Join(err, s.out.Abort())
	}
	return s.out.Commit(s.offset(records))
}

func (s *fileSink) Abort() error { return s.out.Abort() }

func (o *SinkOptions) header(records int64) ([]byte, error) {
	if o.HeaderBytes == 0 {
		return nil, nil
	}
	header, err := o.Header(records)
	if err == nil && len(header) != o.HeaderBytes {
		err = fmt.Errorf("the header for %d records has %d bytes where %d were planned", records, len(header), o.HeaderBytes)
	}
	return header, err
}

// streamOutput is a sink of an output that is a stream.
type streamOutput struct {
	*StreamSink
	out  *Output
	want int64 // records that the header promised; negative: none
}

func newStreamOutput(out *Output, opt SinkOptions) (Sink, error) {
	s := &streamOutput{StreamSink: NewStreamSink(out, opt.RecordSize), out: out, want: -1}
	if opt.HeaderBytes == 0 {
		return s, nil
	}
	if opt.Records < 0 {
		return nil, fmt.Errorf("output %s: its header needs the number of records before the first one, and that is not known: write to a file",
			out.Name())
	}
	s.want = opt.Records
	header, err := opt.header(opt.Records)
	if err == nil {
		_, err = out.Write(header)
	}
	return s, err
}

func (s *streamOutput) Commit(records int64) error {
	if s.want >= 0 && s.want != records {
		return errors.Join(s.Abort(),
			fmt.Errorf("output %s: its header says %d records, and %d came", s.out.Name(), s.want, records))
	}
	return s.out.Commit(-1)
}

func (s *streamOutput) Abort() error { return s.out.Abort() }
