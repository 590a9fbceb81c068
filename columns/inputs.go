package columns

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/apache/arrow-go/v18/parquet/file"
)

// An input is an open file or stream of rows.
type input interface {
	label() string
	// columns returns the columns of the schema, including those that cannot be read.
	columns() []*column
	// sameSchema reports whether the other input has the same schema.
	sameSchema(other input) bool
	// count returns the number of rows; negative: it is unknown.
	count() int64
	// next returns the next row group, or io.EOF.
	next() (openRows, error)
	// groupBytes estimates the memory to decode a row group.
	groupBytes() int64
	// sample adds rows from up to the given number of places.
	sample(s *sample, l *layout, places int) error
	// checkUnchanged returns an error if the file has been written to since it was opened.
	checkUnchanged() error
	// stat describes the file when it was opened; nil: it is not a regular file.
	stat() os.FileInfo
	close()
}

// openRows starts to decode a row group, at most maxRows rows at once.
type openRows func(l *layout, maxRows int, floats *floatFacts) (*rowDecoder, error)

// A parquetFile is an open Parquet file.
type parquetFile struct {
	name   string
	file   *os.File
	reader *file.Reader
	rows   int64

	readBytes int64 // size of the reads of a column chunk

	group  int         // the next row group
	before os.FileInfo // when it was opened
	memory *pageMemory // shared with the other inputs
}

var (
	magic          = []byte("PAR1")
	encryptedMagic = []byte("PARE")
)

// readBytes returns the size of the reads of a column chunk. All columns are read at the same time.
func readBytes(columns int, memoryBytes int64) int64 {
	const (
		most  = 128 << 10
		least = 4 << 10
	)
	return max(least, min(most, memoryBytes/int64(max(columns, 1))))
}

// expand replaces directories and patterns by the names of their files. The files of a directory
// are in the order of their paths. Names that begin with a period or an underscore are skipped,
// because other programs use them for temporary files.
func expand(names []string) (files []string, err error) {
	for _, name := range names {
		info, statErr := os.Stat(name)
		switch {
		case statErr == nil && info.IsDir():
			found, err := filesBelow(name)
			if err != nil {
				return nil, err
			}
			files = append(files, found...)
		case statErr != nil && strings.ContainsAny(name, "*?["):
			found, err := filepath.Glob(name)
			if err != nil || len(found) == 0 {
				return nil, fmt.Errorf("%s: no such files", name)
			}
			slices.Sort(found)
			files = append(files, found...)
		default:
			files = append(files, name)
		}
	}
	return files, nil
}

// filesBelow returns the Parquet and Arrow files in a directory and its subdirectories.
func filesBelow(folder string) (files []string, err error) {
	err = filepath.WalkDir(folder, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return fmt.Errorf("%s: %w", path, withoutPath(err))
		}
		hidden := path != folder && strings.ContainsAny(entry.Name()[:1], "._")
		switch {
		case hidden && entry.IsDir():
			return filepath.SkipDir
		case !hidden && !entry.IsDir() && isTableName(path):
			files = append(files, path)
		}
		return nil
	})
	if err == nil && len(files) == 0 {
		err = fmt.Errorf("%s: no Parquet or Arrow files in this directory", folder)
	}
	return files, err
}

// isTableName reports whether a name has a suffix of Parquet or Arrow files.
func isTableName(path string) bool {
	switch strings.ToLower(filepath.Ext(path)) {
	case ".parquet", ".parq", ".pq", ".arrow", ".feather", ".arrows", ".ipc":
		return true
	}
	return false
}

// withoutPath returns the cause of an error of package os, whose path the caller adds.
func withoutPath(err error) error {
	if pathErr, ok := errors.AsType[*fs.PathError](err); ok {
		return pathErr.Err
	}
	return err
}

// openInputs opens files that all have the schema of the first one.
func openInputs(names []string, maxPage int64) (inputs []input, err error) {
	defer func() {
		if err != nil {
			closeInputs(inputs)
		}
	}()
	pages := newPageMemory(maxPage)
	for _, name := range names {
		in, err := openInput(name, maxPage, pages)
		if err != nil && name == stdinName {
			name = "standard input"
		}
		if err != nil {
			return inputs, fmt.Errorf("%s: %w", name, err)
		}
		inputs = append(inputs, in)
		first := inputs[0]
		if !in.sameSchema(first) {
			return inputs, fmt.Errorf("%s: its schema differs from the one of %s", name, first.label())
		}
	}
	return inputs, nil
}

func closeInputs(inputs []input) {
	for _, in := range inputs {
		in.close()
	}
}

// stdinName is the name of the standard input.
const stdinName = "-"

// openInput opens a file and checks its metadata. The file is closed after an error.
func openInput(name string, maxPage int64, pages *pageMemory) (in input, err error) {
	f := os.Stdin
	if name == stdinName {
		name = "standard input"
	} else if f, err = os.Open(name); err != nil {
		return nil, withoutPath(err)
	}
	defer func() {
		if err != nil {
			f.Close() // closing a file that was only read cannot lose data
		}
	}()
	info, err := f.Stat()
	if err != nil {
		return nil, withoutPath(err)
	}
	if info.IsDir() {
		return nil, errors.New("is a directory")
	}
	head := make([]byte, len(arrowFileMagic))
	n, err := io.ReadFull(f, head)
	if err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
		return nil, withoutPath(err)
	}
	head = head[:n]
	if isArrow(head) {
		return openArrow(name, f, info, head, maxPage)
	}
	parquet := &parquetFile{name: name, file: f, before: info, memory: pages}
	if err := checkFrame(f, info, maxPage); err != nil {
		return nil, err
	}
	return parquet, parquet.readFooter(maxPage)
}

// checkUnchanged returns an error if a file has been written to since it was opened.
func checkUnchanged(name string, f *os.File, before os.FileInfo) error {
	now, err := f.Stat()
	if err != nil {
		return fmt.Errorf("%s: %w", name, withoutPath(err))
	}
	if now.Size() != before.Size() || !now.ModTime().Equal(before.ModTime()) {
		return fmt.Errorf("%s: changed while it was read", name)
	}
	return nil
}
