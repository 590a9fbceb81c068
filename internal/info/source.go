package info

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"fmt"
	"io"
	"math"

	"github.com/extsort/extsort/chunker/input"
	"github.com/extsort/extsort/format"
	"github.com/extsort/extsort/internal/option"
)

const (
	headBytes   = 1 << 20   // bytes of the beginning to read; more than the longest header
	packedBytes = 256 << 10 // bytes of compressed data per read
	maxWindow   = 1 << 30   // maximum distance to which a decompressor may refer back
)

// A source is a decompressed file or stream.
type source struct {
	name  string // for messages
	bytes int64  // of the file; -1: a stream
	codec format.Compression
	data  int64 // decompressed bytes; -1: unknown
	fault error // error that ended the head early

	head   []byte      // the first headBytes
	reader io.ReaderAt // all of the data; nil: only the head, followed by rest
	rest   io.Reader

	members []format.Member // of an archive of arrays; the data is the chosen member
	archive string          // format of that archive

	io.Closer
}

// open opens a file, an object, or stdin for "-", and reads its head.
func open(
	ctx context.Context, name string, stdin io.Reader, opt *Options,
) (*source, error) {
	content, err := input.OpenContent(ctx, name, stdin)
	if err != nil {
		return nil, err
	}
	s := &source{
		name:   content.Name,
		bytes:  -1,
		data:   -1,
		Closer: content,
	}
	if content.Stream != nil {
		err = s.beginStream(content.Stream, opt)
	} else {
		section, compressed := content.Section(opt.Recognition)
		err = s.beginSection(section, compressed, opt)
	}
	if err != nil {
		s.Close()
		return nil, fmt.Errorf("read %s: %w", s.name, err)
	}
	return s, nil
}

func (s *source) beginSection(
	section *io.SectionReader, compressed bool, opt *Options,
) error {
	s.bytes = section.Size()
	if compressed {
		return s.beginStream(bufio.NewReaderSize(section, packedBytes), opt)
	}
	if archive, err := s.beginMember(section, opt); archive || err != nil {
		return err
	}
	s.data = max(s.bytes-opt.SkipBytes-opt.SkipTail, 0)
	behind := max(s.bytes-opt.SkipBytes, 0)
	if behind < opt.SkipTail {
		s.fault = fmt.Errorf(
			"it has %d bytes, fewer than the %d to skip after its records",
			behind,
			opt.SkipTail,
		)
	}
	s.reader = io.NewSectionReader(section, opt.SkipBytes, s.data)
	s.head = make([]byte, min(s.data, headBytes))
	n, err := s.reader.ReadAt(s.head, 0)
	if s.head = s.head[:n]; err == io.EOF {
		err = nil
	}
	return err
}

// beginMember reads the head of the chosen array, if the file is an archive of arrays.
func (s *source) beginMember(
	section *io.SectionReader, opt *Options,
) (archive bool, err error) {
	spec := opt.Record
	first := make([]byte, format.DetectBytes)
	n, _ := section.ReadAt(first, 0) // an error will recur
	container, _ := format.ByMagic(first[:n])
	if opt.Recognition.Raw || !container.IsArchive ||
		spec.Type+spec.Fields != "" ||
		spec.RecordSize > 0 {
		return false, nil
	}
	s.archive = container.Name
	if s.members, err = format.Members(section, section.Size()); err != nil {
		if spec.Container().IsArchive {
			s.fault = err
		}
		return false, nil
	}
	s.data = section.Size()
	member, err := format.ChooseMember(s.members, spec.Member)
	if err != nil {
		if spec.Member != "" {
			s.fault = err
		}
		return true, nil
	}
	r, err := member.Open()
	if err != nil {
		s.fault = err
		return true, nil
	}
	err = s.beginStream(r, opt)
	s.data = member.Bytes
	return true, err
}

// beginStream reads the head of a stream. If the stream ends there, the data is complete.
func (s *source) beginStream(r io.Reader, opt *Options) error {
	how := &opt.Recognition
	buffered := bufio.NewReaderSize(r, format.DetectBytes)
	first, err := buffered.Peek(format.DetectBytes)
	if err != nil && err != io.EOF {
		return err
	}
	s.codec = how.Compression(s.name, first)
	s.rest = format.NewReader(
		buffered,
		s.codec,
		min(format.StreamWindowBytes(s.codec, first), cmp.Or(opt.WindowBytes, maxWindow)),
	)
	if opt.SkipTail > input.MaxKept {
		return fmt.Errorf(
			"it can only be read sequentially, and at most %d bytes can be skipped after its records",
			input.MaxKept,
		)
	}
	if opt.SkipTail > 0 {
		s.rest = input.SplitTail(s.rest, opt.SkipTail, func([]byte) {})
	}
	if _, err = io.CopyN(io.Discard, s.rest, opt.SkipBytes); err == nil {
		s.head, err = io.ReadAll(io.LimitReader(s.rest, headBytes))
	}
	if err == io.EOF {
		err = nil
	}
	switch {
	case err != nil && s.codec == format.None:
		return err
	case err != nil: // the data is not in this format, or is truncated
		s.fault = err
		s.rest = nil
	case len(s.head) < headBytes:
		s.reader = bytes.NewReader(s.head)
		s.data = int64(len(s.head))
		s.rest = nil
	}
	return nil
}

// read fills p from a position in the data. ok reports whether p is full.
func (s *source) read(p []byte, from int64) (ok bool, err error) {
	if s.reader == nil {
		return from+int64(len(p)) <= int64(len(s.head)) &&
			copy(p, s.head[from:]) == len(p), nil
	}
	n, err := s.reader.ReadAt(p, from)
	if err == io.EOF {
		err = nil
	}
	if err != nil {
		err = fmt.Errorf("read %s at byte %d: %w", s.name, from+int64(n), err)
	}
	return n == len(p), err
}

// clip ends the data after a number of records.
func (s *source) clip(header, records, size int64) error {
	if s.data >= 0 && (s.data-header)/size < records {
		return fmt.Errorf(
			"it has %d records, fewer than the %d of %v",
			(s.data-header)/size,
			records,
			option.Records,
		)
	}
	if records > (math.MaxInt64-header)/size {
		return nil
	}
	end := header + records*size
	s.head = s.head[:min(int64(len(s.head)), end)]
	if s.data >= 0 {
		s.data = end
	}
	if s.rest != nil {
		s.rest = io.LimitReader(s.rest, end-int64(len(s.head)))
	}
	return nil
}

// readableBytes returns the number of bytes that read can return.
func (s *source) readableBytes() int64 {
	if s.reader == nil {
		return int64(len(s.head))
	}
	return s.data
}
