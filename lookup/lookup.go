package lookup

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"

	"github.com/extsort/extsort"
	"github.com/extsort/extsort/chunker/input"
	"github.com/extsort/extsort/format"
	"github.com/extsort/extsort/internal/lookup"
)

// NoIndex is a value of Source.Index: look-ups use no index, even if there is one.
const NoIndex = "none"

// A Source describes a sorted file. Record and either Path or ReaderAt are required.
type Source struct {
	Path string // the name of a file, or a URL

	// ReaderAt contains Size bytes. It must be safe for concurrent use. Table.Close does not close
	// it. Version identifies its contents: an index is only used for the version that it was made
	// from.
	ReaderAt io.ReaderAt
	Size     int64
	Version  string

	Record  extsort.Record
	Reverse bool // the file was sorted with Job.Reverse

	HeaderBytes int64 // bytes to skip before the records, as in extsort.Input
	Raw         bool  // take the bytes as they are, even if they look like a compressed file

	// Index is the path of the index. "" means Path with the suffix .idx if that file exists. For a
	// URL or a ReaderAt, "" means no index.
	Index string
}

// A Table finds records by their keys. Its methods may be called concurrently, except for Close.
type Table struct {
	file *lookup.File
}

// A Range contains the consecutive records from First (inclusive) to End (exclusive). Positions
// count from 0.
type Range struct{ First, End int64 }

// Len returns the number of records.
func (r Range) Len() int64 { return r.End - r.First }

// A Key is a key to look up, or the first fields of one. It belongs to the Table that made it. Keys
// of a table can be compared with bytes.Compare, in the order of the file.
type Key []byte

// Open opens a sorted file. Cancelling ctx also ends later reads of a URL.
func Open(ctx context.Context, source Source) (*Table, error) {
	file, err := source.open(ctx)
	if err != nil {
		return nil, public(err)
	}
	return &Table{file}, nil
}

// WriteIndex writes the index of a sorted file. It reads all records, and returns a *DisorderError
// if they are not sorted. If path is "", the index is source.Path with the suffix .idx, which must
// not be another file. The index appears under its name only when it is complete.
func WriteIndex(ctx context.Context, source Source, path string) error {
	if path == "" && source.Path == "" {
		return errors.New("lookup: the index of a ReaderAt needs a path")
	}
	isDefault := path == ""
	if isDefault {
		path = source.Path + lookup.IndexSuffix
	}
	source.Index = NoIndex
	file, err := source.open(ctx)
	if err != nil {
		return public(err)
	}
	return public(errors.Join(file.WriteIndex(ctx, path, isDefault), file.Close()))
}

func (s *Source) open(ctx context.Context) (*lookup.File, error) {
	spec := specOf(&s.Record)
	err := spec.Validate()
	switch {
	case err != nil:
	case (s.Path == "") == (s.ReaderAt == nil):
		err = errors.New("set either Path or ReaderAt")
	case s.HeaderBytes < 0:
		err = errors.New("HeaderBytes must not be negative")
	}
	if err != nil {
		return nil, &sourceError{err}
	}
	opt := lookup.Options{
		Kind: input.Kind{
			Spec:        spec,
			Recognition: format.Recognition{Raw: s.Raw},
			Frame:       input.Frame{Skip: s.HeaderBytes},
		},
		Source: input.Source{
			Name:    s.Path,
			At:      s.ReaderAt,
			Size:    s.Size,
			Version: s.Version,
		},
		Reverse: s.Reverse,
		Index:   s.index(),
		Warn:    func(string) {}, // about files that only look like another format
	}
	return lookup.Open(ctx, opt)
}

// index returns the index to use.
func (s *Source) index() lookup.IndexFile {
	switch {
	case s.Index == NoIndex:
		return lookup.IndexFile{}
	case s.Index != "":
		return lookup.IndexFile{Name: s.Index}
	case s.Path == "" || isURL(s.Path):
		return lookup.IndexFile{}
	}
	return lookup.IndexFile{Name: s.Path + lookup.IndexSuffix, IfPresent: true}
}

// Close closes the file and its index.
func (t *Table) Close() error { return t.file.Close() }

// Len returns the number of records.
func (t *Table) Len() int64 { return t.file.Table.Records() }

// Key returns the key with the given values of the key fields. The last values can be left out: the
// key then matches all keys that begin with the given values. A value can be
//
//   - an integer or a float of any type for a number; floats are rounded to the type of the field,
//   - a time.Time for a time,
//   - a []byte for bytes, which are padded with zeros,
//   - a string: the characters of a field of bytes, or any other value as extsort print writes it.
func (t *Table) Key(values ...any) (Key, error) {
	line, err := lineOf(t.file.Keys.Columns(), values)
	if err != nil {
		return nil, err
	}
	return t.ParseKey(line)
}

// ParseKey returns a key from a line of CSV, as extsort find does with its operand KEY.
func (t *Table) ParseKey(line string) (Key, error) {
	key, err := t.file.Keys.Parse(line)
	if err != nil {
		return nil, keyError{err}
	}
	return key, nil
}

// Prefix returns a key that matches all keys whose first field begins with a text. The field must
// contain bytes or characters.
func (t *Table) Prefix(text string) (Key, error) {
	key, err := t.file.Keys.ParsePrefix(text)
	if err != nil {
		return nil, keyError{err}
	}
	return key, nil
}

// KeyOf returns the key of a record. It does not allocate if dst has enough capacity.
func (t *Table) KeyOf(dst Key, record []byte) Key {
	return t.file.Keyer().Append(dst[:0], record)
}

// checkKeys returns an error if a key is longer than the keys of the table.
func (t *Table) checkKeys(keys ...Key) error {
	size := t.file.Keyer().KeySize()
	for _, key := range keys {
		if len(key) > size {
			return keyError{fmt.Errorf("has %d bytes, but the keys of this table have %d", len(key), size)}
		}
	}
	return nil
}

// Find returns the records with a key. If there are none, First and End are the position where they
// would be.
func (t *Table) Find(key Key) (Range, error) {
	if err := t.checkKeys(key); err != nil {
		return Range{}, err
	}
	found, err := t.file.Find(key)
	return Range(found), public(err)
}

// Between returns the records whose keys k satisfy from <= k < to, in the order of the file. If
// from is nil, they start with the first record of the file. If to is nil, they end with the last
// one.
func (t *Table) Between(from, to Key) (Range, error) {
	if err := t.checkKeys(from, to); err != nil {
		return Range{}, err
	}
	found, err := t.file.Between(from, to)
	return Range(found), public(err)
}

// FindAll iterates over the results of Find for many keys. If the keys are in ascending order, it
// does not read nearby records again for each key. It checks the order of fewer records than Find.
func (t *Table) FindAll(ctx context.Context, keys iter.Seq[Key]) iter.Seq2[Range, error] {
	return func(yield func(Range, error) bool) {
		cursor := t.file.NewCursor(true)
		n := 0
		for key := range keys {
			const perCheck = 1024
			if n++; n%perCheck == 1 && ctx.Err() != nil {
				yield(Range{}, context.Cause(ctx))
				return
			}
			if err := t.checkKeys(key); err != nil {
				yield(Range{}, err)
				return
			}
			found, err := cursor.Find(key)
			if !yield(Range(found), public(err)) || err != nil {
				return
			}
		}
	}
}

// Records iterates over the records of a range, in blocks. It checks their order. Each record is
// valid until the next iteration.
func (t *Table) Records(ctx context.Context, r Range) iter.Seq2[[]byte, error] {
	size := t.file.Header.Layout().RecordSize
	return func(yield func([]byte, error) bool) {
		if r.First < 0 || r.First > r.End || r.End > t.Len() {
			yield(nil, rangeError{r, t.Len()})
			return
		}
		for block, err := range t.file.All(ctx, lookup.Range(r)) {
			if err != nil {
				yield(nil, public(err))
				return
			}
			for ; len(block) > 0; block = block[size:] {
				if !yield(block[:size:size], nil) {
					return
				}
			}
		}
	}
}

// Get returns a copy of the first record with a key, or nil if there is none.
func (t *Table) Get(key Key) ([]byte, error) {
	found, err := t.Find(key)
	if err != nil || found.Len() == 0 {
		return nil, err
	}
	record := make([]byte, t.file.Header.Layout().RecordSize)
	if err := t.file.Read(record, found.First); err != nil {
		return nil, public(err)
	}
	return record, nil
}
