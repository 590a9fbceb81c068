package lookup

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"strings"

	"github.com/extsort/extsort/chunker/input"
	"github.com/extsort/extsort/format"
	"github.com/extsort/extsort/internal/filename"
	"github.com/extsort/extsort/internal/option"
	"github.com/extsort/extsort/internal/remote"
	"github.com/extsort/extsort/merge/output"
)

// IndexSuffix is the suffix of the index of a file.
const IndexSuffix = ".idx"

// Options describes a sorted file.
type Options struct {
	Kind    input.Kind
	Source  input.Source
	Stdin   io.Reader
	Reverse bool

	Index IndexFile

	Warn func(message string)
}

// An IndexFile names an index. The zero value means that there is none.
type IndexFile struct {
	Name      string
	IfPresent bool // it need not exist
}

// A File is an open sorted file. Its methods may be called concurrently, except for Close.
type File struct {
	*Table
	Header *format.Header
	Keys   *Keys

	path     string // "" for an io.ReaderAt
	files    *input.Files
	identity Identity
	index    *input.Content // nil if there is no index
}

// A SequentialError reports an input that cannot be read at any position.
type SequentialError struct {
	Name   string
	IsPipe bool // otherwise the file is compressed, or an archive
}

func (e *SequentialError) Error() string {
	if e.IsPipe {
		return e.Name + " is a pipe, but look-ups read at any position: save it to a file first"
	}
	return e.Name + " is compressed or an archive, but look-ups read at any position: decompress it to a file first"
}

// Open opens a sorted file and its index.
func Open(ctx context.Context, opt Options) (*File, error) {
	name := opt.Source.Name
	if opt.Source.IsStdin() {
		name = "standard input"
	}
	if opt.Source.IsConsumed(opt.Stdin) {
		return nil, &SequentialError{name, true}
	}
	const maxWindow = 1 << 20 // for decompressors, which are not used here
	opened, err := input.Open(ctx, opt.Kind, []input.Source{opt.Source}, opt.Stdin, maxWindow)
	if bad, ok := errors.AsType[*option.Error](err); ok && bad.Field == option.Member {
		return nil, &SequentialError{Name: name} // an archive does not support look-ups
	}
	if err != nil {
		return nil, err
	}
	in := opened[0]
	if !in.Seekable() {
		return nil, errors.Join(&SequentialError{Name: in.Name}, in.Close())
	}
	f := &File{Header: in.Header, files: input.NewFiles(opened)}
	if opt.Source.At == nil {
		f.path = opt.Source.Name
	}
	if err := f.open(ctx, in, opt); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	for _, message := range in.TakeWarnings() {
		opt.Warn(message)
	}
	return f, nil
}

func (f *File) open(ctx context.Context, in *input.Input, opt Options) error {
	layout := in.Header.Layout()
	if opt.Reverse {
		layout = layout.Reverse()
	}
	keyer, err := format.NewKeyer(layout)
	if err != nil {
		return err
	}
	if f.Keys, err = NewKeys(layout, in.Header.KeyColumns()); err != nil {
		return err
	}
	f.identity = Identity{
		Stamp:   in.Stamp(),
		Layout:  describe(layout, in, &opt.Kind.Frame),
		Records: in.Records,
	}
	index, err := f.openIndex(ctx, keyer, opt)
	f.Table = NewTable(in.Name, f.files, keyer, index)
	return err
}

// describe describes the records, their order and their place in the file.
func describe(layout format.Layout, in *input.Input, frame *input.Frame) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%d-byte records from byte %d", layout.RecordSize, in.Offset(0)+frame.Skip)
	for _, key := range layout.Key {
		fmt.Fprintf(&b, ", %v", key)
		if key.HasNaNs() {
			fmt.Fprintf(&b, " nan=%d numeric=%t nat=%t", key.NaN, key.Numeric, key.NaT)
		}
	}
	return b.String()
}

// openIndex opens the index, or returns nil if there is none.
func (f *File) openIndex(ctx context.Context, keyer *format.Keyer, opt Options) (*Index, error) {
	if opt.Index.Name == "" {
		return nil, nil
	}
	content, err := input.OpenContent(ctx, opt.Index.Name, nil)
	if opt.Index.IfPresent && errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("index %w", err)
	}
	f.index = content
	if content.Stream != nil {
		return nil, fmt.Errorf("index %s: it is not a file", opt.Index.Name)
	}
	section, _ := content.Section(format.Recognition{Raw: true})
	return readIndex(content.Name, section, section.Size(), f.identity, keyer)
}

// Check returns an error if the file changed after it was opened.
func (f *File) Check(warn func(string)) error { return f.files.Check(warn) }

// Close closes the file and its index.
func (f *File) Close() error {
	var err error
	if f.index != nil {
		err = f.index.Close()
	}
	return errors.Join(f.files.Close(), err)
}

// checkReplaceable returns an error if a file exists that is not an index, and that an index would replace.
func checkReplaceable(ctx context.Context, name string) error {
	content, err := input.OpenContent(ctx, name, nil)
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, remote.ErrMissing) {
		return nil
	}
	if err != nil {
		return err
	}
	defer content.Close() // closing a file that was only read cannot lose data
	if content.Stream == nil {
		section, _ := content.Section(format.Recognition{Raw: true})
		head := make([]byte, min(section.Size(), int64(len(anyMagic))))
		if _, err := io.ReadFull(section, head); err != nil {
			return err
		}
		if strings.HasPrefix(anyMagic, string(head)) {
			return nil
		}
	}
	return fmt.Errorf("%s exists and is not an index: name another file for the index", name)
}

// WriteIndex writes the index of the file to a new file or object, which must not be the file itself.
// With isDefault, nobody has given the name, so it replaces nothing but an index.
func (f *File) WriteIndex(ctx context.Context, name string, isDefault bool) error {
	const part, parts = 16 << 20, 4 // part size of an upload, and parts uploaded in parallel
	if filename.SameFile(f.path, name) {
		return fmt.Errorf("index %s: it would replace the sorted file: name another file for the index", name)
	}
	if isDefault {
		if err := checkReplaceable(ctx, name); err != nil {
			return err
		}
	}
	if err := remote.Writable(name); err != nil {
		return err
	}
	to, err := output.Create(ctx, name, output.FileOptions{}, part, parts)
	if err != nil {
		return err
	}
	err = writeIndex(ctx, f.Table, f.identity, to)
	if err == nil {
		err = f.Check(func(string) {})
	}
	if err != nil {
		return errors.Join(err, to.Abort())
	}
	return to.Commit(ctx, -1)
}
