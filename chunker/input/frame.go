package input

import (
	"bytes"
	"cmp"
	"fmt"
	"io"

	"github.com/dustin/go-humanize/english"
	"github.com/zeebo/xxh3"

	"github.com/extsort/extsort/format"
	"github.com/extsort/extsort/internal/option"
)

// MaxKept is the maximum number of bytes before the records, and of bytes after them, that an
// output can keep. It is also the maximum length of the tail of a sequential input, because such
// a tail must be held back.
const MaxKept = 1 << 20

// A Frame describes the bytes around the records of an input. The zero Frame means that there are
// none.
type Frame struct {
	Skip int64 // number of bytes before the records, and before the header of their format
	// Records is the number of records; everything after them is the tail. 0 means not given, and
	// a negative value means no records.
	Records int64
	// Tail is the number of bytes after the records. If Records is given, the two must agree.
	Tail int64
	// Keep copies the frame of the first input to the output, at most MaxKept bytes on each side.
	Keep bool
}

// hasTail reports whether bytes may follow the records.
func (f *Frame) hasTail() bool { return f.Records != 0 || f.Tail > 0 }

// checkStreamTail returns an error if a tail is too long for a stream, which has to hold it back.
func checkStreamTail(tail int64) error {
	if tail <= MaxKept {
		return nil
	}
	return fmt.Errorf(
		"it can only be read sequentially, and at most %d bytes can be skipped after its records: "+
			"use %v, or write it to a plain file first",
		MaxKept, option.Records,
	)
}

// An inputFrame is the frame that was requested for an input, with the bytes that were found there.
type inputFrame struct {
	Frame
	isFirst bool               // first of all inputs
	head    surroundings       // before the records
	tail    surroundings       // after the records
	count   *format.CountField // the field in head that counts the records; nil if unknown
}

func newInputFrame(kind *Kind) inputFrame {
	return inputFrame{Frame: kind.Frame, isFirst: kind.first}
}

// surroundings describes the bytes on one side of the records. It is used if the frame is kept.
type surroundings struct {
	known  bool
	kept   []byte // nil unless this is the first input
	warned bool   // warned that they differ from the first input

	sum    uint64 // checksum of all bytes
	masked uint64 // checksum without the field that counts the records
}

// newSurroundings computes the checksums of b, and keeps b if this is the first input. count is a
// field that may differ, or nil.
func newSurroundings(b []byte, first bool, count *format.CountField) surroundings {
	s := surroundings{
		known:  true,
		sum:    xxh3.Hash(b),
		masked: xxh3.Hash(count.Put(b, 0)),
	}
	if first {
		s.kept = b
	}
	return s
}

// differsFrom reports whether the bytes on two sides are known and differ.
func (s *surroundings) differsFrom(from *surroundings) bool {
	return s.known && from.known && s.sum != from.sum && s.masked != from.masked
}

// noteHead records the bytes before the records. REQUIRES: the header has been read
func (in *Input) noteHead(b []byte) {
	size := in.Header.Layout().RecordSize
	records := in.Records
	if in.Header.Size() > 0 {
		size = 0 // the header of the format contains the count
	}
	in.frame.count = format.FindCount(b, size, records, in.Name)
	in.frame.head = newSurroundings(b, in.frame.isFirst, in.frame.count)
}

// checkTail returns an error if the length of the tail after the counted records differs from
// f.Tail.
func (f *Frame) checkTail(tail int64) error {
	if f.Tail == 0 || f.Tail == tail {
		return nil
	}
	return fmt.Errorf(
		"%d bytes follow its %d records, not the %d of %v", tail, max(f.Records, 0), f.Tail,
		option.SkipTail,
	)
}

func tooShortFor(bytes, tail int64) error {
	has := english.Plural(int(bytes), "byte", "")
	return fmt.Errorf("it has %s, fewer than the %d to skip after its records", has, tail)
}

func tooFewRecords(have, records int64) error {
	has := english.Plural(int(have), "record", "")
	return fmt.Errorf("it has %s, fewer than the %d of %v", has, records, option.Records)
}

func tooLongTail(tail int64) error {
	return fmt.Errorf("%d bytes follow its records, the maximum is %d: leave %v out", tail, MaxKept,
		option.KeepHeader)
}

// withoutTail returns a reader of the records of a stream whose header has been read.
func (f *inputFrame) withoutTail(r io.Reader, recordSize int) io.Reader {
	if f.Records == 0 {
		return SplitTail(r, f.Tail, f.noteTail)
	}
	return &countedReader{
		r:     r,
		frame: f,
		left:  max(f.Records, 0) * int64(recordSize),
	}
}

// noteTail records the bytes after the records of a stream.
func (f *inputFrame) noteTail(tail []byte) {
	if f.Keep {
		f.tail = newSurroundings(tail, f.isFirst, nil)
	}
}

// SplitTail returns a reader that ends tail bytes before r does, and then calls ended with these
// bytes. It needs memory for 2·tail bytes. If r is shorter than tail bytes, the reader returns an
// error.
func SplitTail(r io.Reader, tail int64, ended func(tail []byte)) io.Reader {
	return &heldReader{
		r:     r,
		tail:  int(tail),
		ended: ended,
	}
}

type heldReader struct {
	r     io.Reader
	tail  int
	held  []byte // the last bytes read; each byte waits until tail bytes follow it
	ended func(tail []byte)
	err   error // permanent
}

func (h *heldReader) Read(p []byte) (n int, err error) {
	for n == 0 && h.err == nil && len(p) > 0 {
		n, err = h.r.Read(p)
		n = h.exchange(p, n)
		if err != nil {
			h.end(err)
		}
	}
	return n, h.err
}

// exchange appends the n bytes in p to the held bytes. It then moves the bytes that need not be
// held any longer to p and returns their number.
func (h *heldReader) exchange(p []byte, n int) (ready int) {
	held := len(h.held)
	ready = max(held+n-h.tail, 0)
	if ready <= held {
		h.held = append(h.held, p[:n]...)
		copy(p, h.held[:ready])
		h.held = h.held[ready:]
		return ready
	}

	rest := bytes.Clone(p[ready-held : n])
	copy(p[held:], p[:ready-held])
	copy(p, h.held)
	h.held = rest
	return ready
}

// end handles the final error of r.
func (h *heldReader) end(err error) {
	switch h.err = err; {
	case err != io.EOF:
	case len(h.held) < h.tail:
		h.err = tooShortFor(int64(len(h.held)), int64(h.tail))
	default:
		h.ended(h.held)
	}
	h.held = nil
}

// A countedReader reads a fixed number of records, and then the bytes after them.
type countedReader struct {
	r     io.Reader
	frame *inputFrame
	left  int64 // remaining bytes of records
	err   error // permanent
}

func (c *countedReader) Read(p []byte) (n int, err error) {
	switch {
	case c.err != nil:
		return 0, c.err
	case c.left > 0:
		n, c.err = c.r.Read(p[:min(int64(len(p)), c.left)])
		c.left -= int64(n)
		return n, c.err
	}

	c.err = cmp.Or(c.drain(), io.EOF)
	return 0, c.err
}

// drain reads the bytes after the records.
func (c *countedReader) drain() error {
	var kept bytes.Buffer
	n, err := io.Copy(&tailBuffer{&kept, c.frame.Keep}, c.r)
	if err == nil {
		err = c.frame.checkTail(n)
	}
	if err == nil {
		c.frame.noteTail(kept.Bytes())
	}
	return err
}

// A tailBuffer keeps all bytes, at most MaxKept, or discards all bytes.
type tailBuffer struct {
	buffer *bytes.Buffer
	keep   bool
}

func (b *tailBuffer) Write(p []byte) (int, error) {
	switch {
	case !b.keep:
		return len(p), nil
	case b.buffer.Len()+len(p) > MaxKept:
		return 0, fmt.Errorf(
			"more than %d bytes follow its records, too many to keep: leave %v out", MaxKept,
			option.KeepHeader,
		)
	}
	return b.buffer.Write(p)
}

// CanCount reports whether the kept bytes before the records contain a field with the number of
// records, which the output updates.
func (in *Input) CanCount() bool { return in.frame.count != nil }

// KeepsFrame reports whether the output keeps the bytes around the records of the first input.
func (in *Input) KeepsFrame() bool { return in.frame.Keep }

// KeptTail returns the bytes after the records that the output keeps. ok reports whether they are
// known. In a stream they are known only at its end.
func (in *Input) KeptTail() (tail []byte, ok bool) {
	return in.frame.tail.kept, in.frame.tail.known || !in.frame.hasTail()
}

// WholeRecords returns the number of records in the whole input, even if only a part of it is
// used. It returns -1 if the input was not read to its end.
func (in *Input) WholeRecords() int64 { return in.wholeRecords }

// compareFrames adds a warning, once per input, if the surroundings of an input differ from those
// of the first one, which are kept.
func (all inputs) compareFrames() {
	for _, in := range all {
		first := all[0]
		if !in.frame.head.warned && in.frame.head.differsFrom(&first.frame.head) {
			in.frame.head.warned = true
			in.warn(
				"the bytes before its records differ from those of " + first.Name +
					", which the output keeps",
			)
		}
		if !in.frame.tail.warned && in.frame.tail.differsFrom(&first.frame.tail) {
			in.frame.tail.warned = true
			in.warn(
				"the bytes after its records differ from those of " + first.Name +
					", which the output keeps",
			)
		}
	}
}
