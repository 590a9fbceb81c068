package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/extsort/extsort/chunker/input"
	"github.com/extsort/extsort/device"
	"github.com/extsort/extsort/format"
	"github.com/extsort/extsort/format/textform"
	"github.com/extsort/extsort/internal/lookup"
	"github.com/extsort/extsort/internal/safely"
)

// A keyList contains keys to look up, in ascending order and each once.
type keyList interface {
	len() int
	key(i int) []byte                    // a normalized key, or the beginning of one
	appendLine(dst []byte, i int) []byte // appends the text of a key and a line break
}

// givenKeys are the keys of the command line.
type givenKeys []givenKey

// A givenKey is a normalized key, or the beginning of one, and its text.
type givenKey struct {
	key  []byte
	text string
}

func (l givenKeys) len() int         { return len(l) }
func (l givenKeys) key(i int) []byte { return l[i].key }

func (l givenKeys) appendLine(dst []byte, i int) []byte {
	return append(append(dst, l[i].text...), '\n')
}

// parseKeys returns the keys of the command line.
func parseKeys(keys *lookup.Keys, texts []string) (givenKeys, error) {
	var l givenKeys
	for _, text := range texts {
		key, err := keys.Parse(text)
		if err != nil {
			return nil, fmt.Errorf("key %w", err)
		}
		l = append(l, givenKey{key, text})
	}
	byKey := func(a, b givenKey) int { return bytes.Compare(a.key, b.key) }
	slices.SortStableFunc(l, byKey)
	return slices.CompactFunc(l, func(a, b givenKey) bool { return byKey(a, b) == 0 }), nil
}

// keyRecords are keys of a file. Each record consists of a normalized key and, if its text is
// wanted, the packed key.
type keyRecords struct {
	recs    []byte
	shape   *keyShape
	encoder *textform.Encoder
}

// keyShape describes the records of keys.
type keyShape struct {
	normalized int // size of a normalized key
	packed     int // size of a packed key; 0 if its text is not wanted
}

func (s *keyShape) size() int { return s.normalized + s.packed }

func (l keyRecords) len() int         { return len(l.recs) / l.shape.size() }
func (l keyRecords) key(i int) []byte { return l.recs[i*l.shape.size():][:l.shape.normalized] }

func (l keyRecords) appendLine(dst []byte, i int) []byte {
	return l.encoder.Append(dst, l.recs[i*l.shape.size():][l.shape.normalized:l.shape.size()])
}

// A keyStream is the records of the keys in a file, in any order.
type keyStream struct {
	*io.PipeReader
	reading safely.Group
}

// openKeys begins to read the file that --keys names.
func (f *finder) openKeys(ctx context.Context, shape *keyShape) *keyStream {
	from, to := io.Pipe()
	s := &keyStream{PipeReader: from}
	s.reading.Go(func() error {
		err := safely.Call(func() error { return f.readKeys(ctx, f.keyWriter(shape, to)) })
		to.CloseWithError(err)
		return err
	})
	return s
}

// errKeysUnwanted is the error of reading keys that are no longer needed.
var errKeysUnwanted = errors.New("the keys are no longer needed")

// end ends the reading of the file and returns its error.
func (s *keyStream) end() error {
	s.CloseWithError(errKeysUnwanted)
	if err := s.reading.Wait(); !errors.Is(err, errKeysUnwanted) {
		return err
	}
	return nil
}

// A packedWriter receives packed keys, one after another.
type packedWriter func(ctx context.Context, packed []byte) error

// keyWriter returns a function that writes the records of packed keys.
func (f *finder) keyWriter(shape *keyShape, to io.Writer) packedWriter {
	keys := f.file.Keys
	var recs []byte
	return func(_ context.Context, packed []byte) error {
		recs = recs[:0]
		for one := range slices.Chunk(packed, keys.PackedSize()) {
			recs = keys.Append(recs, one)
			recs = append(recs, one[:shape.packed]...)
		}
		_, err := to.Write(recs)
		return err
	}
}

// readKeys reads the file that --keys names.
func (f *finder) readKeys(ctx context.Context, write packedWriter) error {
	switch f.keysAs {
	case keysBinary:
		return f.readPackedKeys(ctx, write)
	case keysRecords:
		return f.readKeyRecords(ctx, write)
	}
	flags := &textFlags{form: textform.Form(f.keysAs)}
	p := &lineParser{
		flags:   flags,
		workers: f.flags.opt.Workers,
		decoder: f.file.Keys.Decoder(flags.form),
		write:   write,
	}
	p.windowBytes = f.flags.windowBytes()
	return p.parseFile(ctx, f.app.stdin, f.keys)
}

// readPackedKeys reads a file that consists of packed keys.
func (f *finder) readPackedKeys(ctx context.Context, write packedWriter) error {
	content, err := input.OpenContent(ctx, f.keys, f.app.stdin)
	if err != nil {
		return err
	}
	defer content.Close() // closing a file that was only read cannot lose data
	var from io.Reader = content.Stream
	var how format.Recognition
	if content.Stream == nil {
		from, _ = content.Section(how)
	}
	if from, err = decompressed(content.Name, from, how, f.flags.windowBytes()); err != nil {
		return err
	}

	size := f.file.Keys.PackedSize()
	buffer := make([]byte, max(printBlockBytes/size, 1)*size)
	for total := int64(0); ctx.Err() == nil; {
		n, err := input.ReadFull(from, buffer)
		total += int64(n)
		switch {
		case err != nil && err != io.EOF:
			return fmt.Errorf("read %s: %w", content.Name, device.WithoutPath(err))
		case n%size != 0:
			return fmt.Errorf("%s has %d bytes, not a multiple of the %d bytes of a key: is it in another form (--keys-as)?",
				content.Name, total, size)
		}
		if failed := write(ctx, buffer[:n]); failed != nil {
			return failed
		}
		if err == io.EOF {
			return nil
		}
	}
	return context.Cause(ctx)
}

// readKeyRecords reads a file of records like those of the sorted file.
func (f *finder) readKeyRecords(ctx context.Context, write packedWriter) error {
	in, err := openRecords(ctx, f.app, f.flags, []string{f.keys})
	if err != nil {
		return err
	}
	defer in.Close() // closing a file that was only read cannot lose data
	if err := f.file.Header.Compatible(in.header); err != nil {
		return err
	}
	size := in.recordSize()
	buffer := make([]byte, max(printBlockBytes/size, 1)*size)
	var packed []byte
	read := in.reader(0, toEnd)
	for ctx.Err() == nil {
		recs, err := read(buffer)
		if err != nil {
			return err
		}
		if len(recs) == 0 {
			return in.checkUnchanged(f.app.warn)
		}
		packed = packed[:0]
		for rec := range slices.Chunk(recs, size) {
			packed = f.file.Keys.Pack(packed, rec)
		}
		if err := write(ctx, packed); err != nil {
			return err
		}
	}
	return context.Cause(ctx)
}
