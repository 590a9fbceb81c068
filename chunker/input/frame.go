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

// MaxKept is the greatest number of bytes before the records, and of bytes behind them, that an output can keep. It is
// also the longest tail of an input that is read in sequence, where the tail has to be held back.
const MaxKept = 1 << 20

// Frame says which bytes of an input surround its records. The zero Frame says that none do.
type Frame struct {
	Skip    int64 // bytes before the records, and before the header of their format
	Records int64 // the number of records after that; all that follows is no record. 0: not given; negative: none
	Tail    int64 // bytes behind the records; with Records it is compared with what there is
	Keep    bool  // the output gets the frame of the first input; MaxKept bytes on each side at most
}

// hasTail reports whether bytes may follow the records.
func (f *Frame) hasTail() bool { return f.Records != 0 || f.Tail > 0 }

// surroundings are the bytes on one side of the records, where the frame is kept.
type surroundings struct {
	known bool
	kept  []byte // nil unless this is the first input

	sum    uint64 // of all bytes
	masked uint64 // of all but a field that counts the records
}

// newSurroundings sums bytes, and keeps them if this is the first input. count is the place of a field that may differ;
// nil: there is none.
func newSurroundings(b []byte, first bool, count *format.CountField) surroundings {
	s := surroundings{known: true, sum: xxh3.Hash(b), masked: xxh3.Hash(count.Put(b, 0))}
	if first {
		s.kept = b
	}
	return s
}

// differs reports whether both are known and are not alike.
func (s *surroundings) differs(from *surroundings) bool {
	return s.known && from.known && s.sum != from.sum && s.masked != from.masked
}

// noteHead takes the bytes before the records. REQUIRES: the header has been read.
func (in *Input) noteHead(b []byte) {
	size, records := in.Header.Layout().RecordSize, in.Records
	if in.Header.Size() > 0 {
		size = 0 // the header of the format counts
	}
	in.count = format.FindCount(b, size, records, in.Name)
	in.head = newSurroundings(b, in.isFirst, in.count)
}

// cutTail ends a file that can be read at offsets before its last tail bytes.
func (in *Input) cutTail(tail int64) (err error) {
	f := in.at
	if tail > f.bytes {
		return tooShortFor(f.bytes, tail)
	}
	f.bytes -= tail
	if !in.frame.Keep {
		return nil
	}
	if tail > MaxKept {
		return tooLongTail(tail)
	}
	b := make([]byte, tail)
	if _, err = f.ReadAt(b, f.bytes); err != nil && err != io.EOF {
		return err
	}
	in.tail = newSurroundings(b, in.isFirst, nil)
	return nil
}

// cutRecords leaves the records that the frame counts. REQUIRES: the header has been read.
func (in *Input) cutRecords() error {
	size, records := int64(in.Header.Layout().RecordSize), max(in.frame.Records, 0)
	if have := (in.at.bytes - in.Header.Size()) / size; have < records {
		return tooFewRecords(have, records)
	}
	tail := in.at.bytes - in.Header.Size() - records*size
	if err := in.frame.checkTail(tail); err != nil {
		return err
	}
	return in.cutTail(tail)
}

// checkTail reports a tail that follows the counted records and has another length than was given.
func (f *Frame) checkTail(tail int64) error {
	if f.Tail == 0 || f.Tail == tail {
		return nil
	}
	return fmt.Errorf("%d bytes follow its %d records, not the %d of %v", tail, max(f.Records, 0), f.Tail,
		option.SkipTail)
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

// withoutTail returns the records of a stream whose header has been read.
func (in *Input) withoutTail(r io.Reader) io.Reader {
	if in.frame.Records == 0 {
		return HoldBack(r, in.frame.Tail, in.noteTail)
	}
	return &countedReader{r: r, in: in, left: max(in.frame.Records, 0) * int64(in.Header.Layout().RecordSize)}
}

// noteTail takes the bytes behind the records of a stream.
func (in *Input) noteTail(tail []byte) {
	if in.frame.Keep {
		in.tail = newSurroundings(tail, in.isFirst, nil)
	}
}

// HoldBack returns a reader that ends tail bytes before r does, and then calls ended with these bytes. It needs memory
// for twice as many. If r has fewer bytes, that is an error.
func HoldBack(r io.Reader, tail int64, ended func(tail []byte)) io.Reader {
	return &heldReader{r: r, tail: int(tail), ended: ended}
}

type heldReader struct {
	r     io.Reader
	tail  int
	held  []byte // the last bytes that were read: each waits until tail bytes follow it
	ended func(tail []byte)
	err   error // sticks
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

// exchange lets the n bytes in p follow those that are held, and puts the first ones into p that need not be held.
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

// end takes the error that r ended with.
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

// countedReader reads a number of records, and ends when it has read the bytes behind them, too.
type countedReader struct {
	r    io.Reader
	in   *Input
	left int64 // bytes of records
	err  error // sticks
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

// drain reads the bytes behind the records.
func (c *countedReader) drain() error {
	var kept bytes.Buffer
	frame := &c.in.frame
	n, err := io.Copy(&tailBuffer{&kept, frame.Keep}, c.r)
	if err == nil {
		err = frame.checkTail(n)
	}
	if err == nil {
		c.in.noteTail(kept.Bytes())
	}
	return err
}

// tailBuffer takes MaxKept bytes, or drops any number.
type tailBuffer struct {
	to   *bytes.Buffer
	keep bool
}

func (b *tailBuffer) Write(p []byte) (int, error) {
	switch {
	case !b.keep:
		return len(p), nil
	case b.to.Len()+len(p) > MaxKept:
		return 0, fmt.Errorf("more than %d bytes follow its records, too many to keep: leave %v out", MaxKept,
			option.KeepHeader)
	}
	return b.to.Write(p)
}

// CanCount reports whether the kept bytes before the records have a field for their number, which is kept true.
func (in *Input) CanCount() bool { return in.count != nil }

// KeepsFrame reports whether the output keeps what surrounds the records of the input, if it is the first one.
func (in *Input) KeepsFrame() bool { return in.frame.Keep }

// KeptTail returns the bytes behind the records that the output keeps. ok reports whether they are known: those of a
// stream are known at its end.
func (in *Input) KeptTail() (tail []byte, ok bool) {
	return in.tail.kept, in.tail.known || !in.frame.hasTail()
}

// Whole is the number of records of the input, of which a part may be read; -1: it was not read to its end.
func (in *Input) Whole() int64 { return in.whole }

// compareFrames warns, once, of each input whose surroundings are not those of the first one, which are kept.
func (all inputs) compareFrames() {
	for _, in := range all {
		first := all[0]
		if !in.toldHead && in.head.differs(&first.head) {
			in.toldHead = true
			in.warn("the bytes before its records differ from those of " + first.Name + ", which the output keeps")
		}
		if !in.toldTail && in.tail.differs(&first.tail) {
			in.toldTail = true
			in.warn("the bytes after its records differ from those of " + first.Name + ", which the output keeps")
		}
	}
}
