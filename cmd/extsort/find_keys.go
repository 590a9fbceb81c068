package main

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"io"
	"slices"

	"github.com/extsort/extsort/chunker/input"
	"github.com/extsort/extsort/device"
	"github.com/extsort/extsort/format"
	"github.com/extsort/extsort/format/textform"
	"github.com/extsort/extsort/internal/human"
	"github.com/extsort/extsort/internal/lookup"
)

// A keyList contains the keys to look up, in ascending order and each once.
type keyList struct {
	keys []wantedKey

	// The packed and the normalized keys of a file, one after another in the order of the file.
	packed     []byte
	normalized []byte
	packedSize int
	size       int // of a normalized key
	encoder    *textform.Encoder

	given []givenKey // the keys of the command line
}

// A wantedKey is a key of a keyList.
type wantedKey struct {
	word  uint64 // the first bytes of the normalized key
	index int    // its position in the file, or in the given keys
}

// A givenKey is a key of the command line: a normalized key, or the beginning of one, and its text.
type givenKey struct {
	key  []byte
	text string
}

func (l *keyList) len() int { return len(l.keys) }

// key returns a normalized key, or the beginning of one.
func (l *keyList) key(i int) []byte {
	if l.given != nil {
		return l.given[l.keys[i].index].key
	}
	return l.normalizedAt(l.keys[i])
}

// appendLine appends a key as a line of CSV.
func (l *keyList) appendLine(dst []byte, i int) []byte {
	at := l.keys[i].index
	if l.given != nil {
		return append(append(dst, l.given[at].text...), '\n')
	}
	return l.encoder.Append(dst, l.packed[at*l.packedSize:][:l.packedSize])
}

// parseKeys returns the keys of the command line.
func parseKeys(keys *lookup.Keys, texts []string) (*keyList, error) {
	l := &keyList{}
	for _, text := range texts {
		key, err := keys.Parse(text)
		if err != nil {
			return nil, fmt.Errorf("key %w", err)
		}
		l.given = append(l.given, givenKey{key, text})
	}
	byKey := func(a, b givenKey) int { return bytes.Compare(a.key, b.key) }
	slices.SortStableFunc(l.given, byKey)
	l.given = slices.CompactFunc(l.given, func(a, b givenKey) bool { return byKey(a, b) == 0 })
	for i := range l.given {
		l.keys = append(l.keys, wantedKey{index: i})
	}
	return l, nil
}

// maxKeyBytes limits the memory of the keys of a file.
const maxKeyBytes = 1 << 30

// readKeys reads the keys of the file that --keys names.
func (f *finder) readKeys(ctx context.Context) (*keyList, error) {
	keys := f.file.Keys
	l := &keyList{
		packedSize: keys.PackedSize(),
		size:       keys.Size(),
		encoder:    keys.Encoder(textform.CSV),
	}
	add := func(_ context.Context, packed []byte) error {
		l.packed = append(l.packed, packed...)
		if len(l.packed) > maxKeyBytes {
			return fmt.Errorf("--keys %s has more than %s of keys: use extsort intersect or extsort subtract instead",
				f.keys, human.Bytes(maxKeyBytes))
		}
		return nil
	}
	var err error
	switch f.keysAs {
	case keysPacked:
		err = f.readPackedKeys(ctx, add)
	case keysRecords:
		err = f.readKeyRecords(ctx, add)
	default:
		flags := &textFlags{form: textform.Form(f.keysAs)}
		p := &lineParser{
			flags:   flags,
			workers: f.flags.opt.Workers,
			decoder: keys.Decoder(flags.form),
			write:   add,
		}
		err = p.parseFile(ctx, f.app.stdin, f.keys)
	}
	if err != nil {
		return nil, err
	}
	l.sort(keys)
	return l, nil
}

// readPackedKeys reads a file that consists of packed keys.
func (f *finder) readPackedKeys(ctx context.Context, add func(context.Context, []byte) error) error {
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
	if from, err = decompressed(content.Name, from, how); err != nil {
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
		if more := add(ctx, buffer[:n]); more != nil {
			return more
		}
		if err == io.EOF {
			return nil
		}
	}
	return context.Cause(ctx)
}

// readKeyRecords reads a file of records like those of the sorted file.
func (f *finder) readKeyRecords(ctx context.Context, add func(context.Context, []byte) error) error {
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
		if err := add(ctx, packed); err != nil {
			return err
		}
	}
	return context.Cause(ctx)
}

// sort sorts the keys of a file, and removes those that are equal to another.
func (l *keyList) sort(keys *lookup.Keys) {
	n := len(l.packed) / l.packedSize
	l.normalized = make([]byte, 0, n*l.size)
	l.keys = make([]wantedKey, n)
	isSorted := true
	for i := range n {
		l.normalized = keys.Append(l.normalized, l.packed[i*l.packedSize:])
		l.keys[i] = wantedKey{index: i}
		l.keys[i].word = format.PrefixOf(l.key(i))
		isSorted = isSorted && (i == 0 || bytes.Compare(l.key(i-1), l.key(i)) <= 0)
	}
	if !isSorted {
		slices.SortFunc(l.keys, func(a, b wantedKey) int {
			return cmp.Or(cmp.Compare(a.word, b.word), bytes.Compare(l.normalizedAt(a), l.normalizedAt(b)))
		})
	}
	l.keys = slices.CompactFunc(l.keys, func(a, b wantedKey) bool {
		return bytes.Equal(l.normalizedAt(a), l.normalizedAt(b))
	})
}

// normalizedAt returns the normalized key of a key of a file.
func (l *keyList) normalizedAt(k wantedKey) []byte {
	return l.normalized[k.index*l.size:][:l.size]
}
