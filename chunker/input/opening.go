package input

import (
	"io"

	"github.com/extsort/extsort/format"
)

// An opening is an Input whose content is being recognized and whose header is being read.
type opening struct {
	in          *Input
	kind        Kind
	windowBytes int64 // limits the window size of the decompressor
}

// openContent recognizes the content and reads its header.
func (o *opening) openContent(c *Content) error {
	archive := o.kind.Container().IsArchive
	compressed := c.at != nil && o.kind.Compression(c.Name, c.at.firstBytes) != format.None
	switch {
	case archive && (c.at == nil || compressed):
		return noArchive(o.in.Name)
	case archive:
		return o.openMember(c.at)
	case c.at == nil:
		return o.openStream(c.Stream)
	case compressed:
		return o.openCompressed(c.at)
	}
	return o.openAtOffsets(c.at)
}

// openAtOffsets makes the input read a source at offsets, reads its header, and finds its records.
func (o *opening) openAtOffsets(f *seekable) error {
	in := o.in
	in.access = atOffsets
	in.at = f
	head, err := o.checkStart()
	if err != nil {
		return err
	}
	in.Header, err = o.kind.ReadHeader(io.NewSectionReader(f, 0, f.size), in.Name)
	if err != nil {
		return err
	}
	if o.kind.Records != 0 {
		if err := o.cutRecords(); err != nil {
			return in.named(err)
		}
	}
	in.Records, err = format.CheckSize(in.Name, in.Header, f.size)
	if err != nil {
		return err
	}
	in.wholeRecords = in.Records
	if o.kind.Keep {
		in.noteHead(head)
	}
	return nil
}

// checkStart returns an error if the file does not begin like records of this kind, and adds a
// warning if that is only likely. It does not check skipped bytes, but returns them if they are
// kept.
func (o *opening) checkStart() (head []byte, err error) {
	err = o.kind.CheckPacked(o.in.at.firstBytes)
	if err == nil && o.kind.Skip > 0 {
		head, err = o.in.at.skip(o.kind.Skip, o.kind.Keep)
	}
	if err == nil && o.kind.Records == 0 {
		err = o.cutTail(o.kind.Tail)
	}
	if err != nil {
		return nil, o.in.named(err)
	}
	o.in.warn(o.kind.CountDoubt(o.kind.Spec, o.in.Name, o.in.at.firstBytes, o.in.at.size))
	o.in.warn(o.kind.TextDoubt(o.kind.Spec, o.in.at.firstBytes))
	return head, o.in.named(o.kind.CheckRecords(o.kind.Spec, o.in.at.firstBytes))
}

// openStream makes the input read source sequentially, decompressed if necessary, and reads its
// header. Close closes source, also after an error.
func (o *opening) openStream(source io.ReadCloser) error {
	o.in.access = inSequence
	o.in.close = append(o.in.close, source)
	if err := checkStreamTail(o.kind.Tail); err != nil {
		return o.in.named(err)
	}
	reader := &checkedReader{kind: o.kind, in: o.in}
	if err := reader.attach(source, o.windowBytes); err != nil {
		return err
	}
	var err error
	if o.in.Header, err = o.kind.ReadHeader(o.in.stream, o.in.Name); err != nil {
		return err
	}
	reader.endAfterRecords()
	return nil
}

// openCompressed makes the input decompress all bytes of a source with random access.
func (o *opening) openCompressed(at *seekable) error {
	err := o.openStream(io.NopCloser(at.sequence(0, at.size)))
	if err != nil {
		return err
	}
	o.in.stored = at.size
	// Many inputs are opened before the first is read, so the memory of the decompressor is
	// released until then. It starts again at the first byte.
	if o.in.decodes && at.remote == nil {
		format.Suspend(o.in.decoder, newLateBuffer(at.sequence(0, at.size)))
	}
	return nil
}

// openMember makes the input read an array of an archive. It is read as a stream even if it is not
// compressed, because its checksum can then be verified in a single pass.
func (o *opening) openMember(at *seekable) error {
	all, err := format.Members(at, at.size)
	if err != nil {
		return o.in.named(err)
	}
	member, err := format.ChooseMember(all, o.kind.Member)
	if err != nil {
		return o.in.named(err)
	}
	source, err := member.Open()
	if err != nil {
		return o.in.named(err)
	}
	if err := o.openStream(source); err != nil {
		return err
	}

	o.in.member = member.Name
	o.in.stored = at.size
	o.in.Records, err = format.CheckSize(o.in.Name, o.in.Header, member.Bytes)
	return err
}

// cutTail excludes the last tail bytes of a seekable input.
func (o *opening) cutTail(tail int64) (err error) {
	f := o.in.at
	if tail > f.size {
		return tooShortFor(f.size, tail)
	}
	f.size -= tail
	if !o.in.frame.Keep {
		return nil
	}
	if tail > MaxKept {
		return tooLongTail(tail)
	}
	b := make([]byte, tail)
	if _, err = f.ReadAt(b, f.size); err != nil && err != io.EOF {
		return err
	}
	o.in.frame.tail = newSurroundings(b, o.in.frame.isFirst, nil)
	return nil
}

// cutRecords excludes everything after the records that the frame counts. REQUIRES: the header
// has been read
func (o *opening) cutRecords() error {
	size := int64(o.in.Header.Layout().RecordSize)
	records := max(o.in.frame.Records, 0)
	if have := (o.in.at.size - o.in.Header.Size()) / size; have < records {
		return tooFewRecords(have, records)
	}
	tail := o.in.at.size - o.in.Header.Size() - records*size
	if err := o.in.frame.checkTail(tail); err != nil {
		return err
	}
	return o.cutTail(tail)
}
