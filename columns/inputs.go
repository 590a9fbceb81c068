package columns

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/apache/arrow-go/v18/parquet"
	"github.com/apache/arrow-go/v18/parquet/file"
)

// An input is an open Parquet file.
type input struct {
	name   string
	file   *os.File
	reader *file.Reader
	rows   int64
	before os.FileInfo // when it was opened
}

var (
	magic          = []byte("PAR1")
	encryptedMagic = []byte("PARE")
)

// readBytes is the size of the reads of a column chunk.
const readBytes = 128 << 10

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

// filesBelow returns the Parquet files in a directory and its subdirectories.
func filesBelow(folder string) (files []string, err error) {
	err = filepath.WalkDir(folder, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return fmt.Errorf("%s: %w", path, withoutPath(err))
		}
		hidden := path != folder && strings.ContainsAny(entry.Name()[:1], "._")
		switch {
		case hidden && entry.IsDir():
			return filepath.SkipDir
		case !hidden && !entry.IsDir() && isParquetName(path):
			files = append(files, path)
		}
		return nil
	})
	if err == nil && len(files) == 0 {
		err = fmt.Errorf("%s: no Parquet files in this directory", folder)
	}
	return files, err
}

func isParquetName(path string) bool {
	suffix := strings.ToLower(filepath.Ext(path))
	return suffix == ".parquet" || suffix == ".parq" || suffix == ".pq"
}

// withoutPath returns the cause of an error of package os, whose path the caller adds.
func withoutPath(err error) error {
	if pathErr, ok := errors.AsType[*fs.PathError](err); ok {
		return pathErr.Err
	}
	return err
}

// openInputs opens files that all have the schema of the first one.
func openInputs(names []string, maxPage int64) (inputs []*input, err error) {
	defer func() {
		if err != nil {
			closeInputs(inputs)
		}
	}()
	for _, name := range names {
		in, err := openInput(name, maxPage)
		if err != nil {
			return inputs, fmt.Errorf("%s: %w", name, err)
		}
		inputs = append(inputs, in)
		first := inputs[0]
		if !in.reader.MetaData().Schema.Equals(first.reader.MetaData().Schema) {
			return inputs, fmt.Errorf("%s: its schema differs from the one of %s", name, first.name)
		}
	}
	return inputs, nil
}

func closeInputs(inputs []*input) {
	for _, in := range inputs {
		in.file.Close() // closing a file that was only read cannot lose data
	}
}

// openInput opens a file and checks its metadata.
func openInput(name string, maxPage int64) (in *input, err error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, withoutPath(err)
	}
	defer func() {
		if err != nil {
			f.Close() // closing a file that was only read cannot lose data
		}
	}()
	in = &input{name: name, file: f}
	if in.before, err = f.Stat(); err != nil {
		return nil, withoutPath(err)
	}
	if err := checkFrame(f, in.before, maxPage); err != nil {
		return nil, err
	}
	return in, in.readFooter(maxPage)
}

// checkFrame checks the first and last bytes of a file, and the length of its footer.
func checkFrame(f *os.File, info os.FileInfo, maxPage int64) error {
	if !info.Mode().IsRegular() {
		return errors.New("is not a regular file: Parquet files cannot be read from pipes")
	}
	start := make([]byte, 4)
	if _, err := f.ReadAt(start, 0); err != nil && !errors.Is(err, io.EOF) {
		return withoutPath(err)
	}
	end := make([]byte, 8)
	if _, err := f.ReadAt(end, max(info.Size()-8, 0)); err != nil && !errors.Is(err, io.EOF) {
		return withoutPath(err)
	}
	footer := int64(end[0]) | int64(end[1])<<8 | int64(end[2])<<16 | int64(end[3])<<24
	switch {
	case bytes.Equal(start, encryptedMagic) || bytes.Equal(end[4:], encryptedMagic):
		return errors.New("is an encrypted Parquet file: decrypt it first")
	case !bytes.Equal(start, magic):
		return errors.New("is not a Parquet file, unlike another input")
	case !bytes.Equal(end[4:], magic):
		return errors.New("is a Parquet file without its end: it may be truncated or still being written")
	case footer+12 > info.Size():
		return errors.New("is a damaged Parquet file: its footer is longer than the file")
	case footer > maxPage:
		return fmt.Errorf("its footer has %d bytes: increase the memory limit", footer)
	}
	return nil
}

// readFooter reads the metadata. Wrong metadata can make the reader panic.
func (in *input) readFooter(maxPage int64) (err error) {
	defer func() {
		if reason := recover(); reason != nil {
			err = fmt.Errorf("is a damaged Parquet file: %v", reason)
		}
	}()
	props := parquet.NewReaderProperties(memory.NewGoAllocator())
	props.BufferedStreamEnabled = true
	props.BufferSize = readBytes
	props.MaxCompressedPageSize = maxPage
	props.MaxUncompressedPageSize = maxPage
	in.reader, err = file.NewParquetReader(in.file, file.WithReadProps(props))
	if err != nil {
		return fmt.Errorf("is a damaged Parquet file: %w", err)
	}
	meta := in.reader.MetaData()
	if meta.IsSetEncryptionAlgorithm() {
		return errors.New("is an encrypted Parquet file: decrypt it first")
	}
	for i := range meta.NumRowGroups() {
		rows := meta.RowGroup(i).NumRows()
		if rows < 0 || rows > math.MaxInt64-in.rows {
			return fmt.Errorf("is a damaged Parquet file: row group %d has %d rows", i, rows)
		}
		in.rows += rows
		for c := range meta.NumColumns() {
			if err := in.checkChunk(i, c); err != nil {
				return err
			}
		}
	}
	if rows := in.reader.NumRows(); rows != in.rows {
		return fmt.Errorf("is a damaged Parquet file: it declares %d rows, its row groups %d", rows, in.rows)
	}
	return nil
}

// checkChunk checks the metadata of a column chunk.
func (in *input) checkChunk(group, index int) error {
	rows := in.reader.MetaData().RowGroup(group)
	chunk, err := rows.ColumnChunk(index)
	if err != nil {
		return fmt.Errorf("is a damaged Parquet file: row group %d: %w", group, err)
	}
	leaf := in.reader.MetaData().Schema.Column(index)
	switch {
	case leaf.MaxRepetitionLevel() == 0 && chunk.NumValues() != rows.NumRows():
		return fmt.Errorf("is a damaged Parquet file: row group %d has %d values of column %s in %d rows", group,
			chunk.NumValues(), leaf.Path(), rows.NumRows())
	case chunk.FilePath() != "":
		return fmt.Errorf("stores its columns in other files, such as %s", chunk.FilePath())
	}
	return nil
}

// checkUnchanged returns an error if the file has been written to since it was opened.
func (in *input) checkUnchanged() error {
	now, err := in.file.Stat()
	if err != nil {
		return fmt.Errorf("%s: %w", in.name, withoutPath(err))
	}
	if now.Size() != in.before.Size() || !now.ModTime().Equal(in.before.ModTime()) {
		return fmt.Errorf("%s: changed while it was read", in.name)
	}
	return nil
}
