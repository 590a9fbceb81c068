package columns

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"slices"

	"github.com/apache/arrow-go/v18/parquet"
	"github.com/apache/arrow-go/v18/parquet/file"
)

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
func (in *parquetFile) readFooter(maxPage int64) (err error) {
	defer func() {
		if reason := recover(); reason != nil {
			err = fmt.Errorf("is a damaged Parquet file: %v", reason)
		}
	}()
	props := parquet.NewReaderProperties(in.memory)
	props.BufferedStreamEnabled = true
	props.MaxCompressedPageSize = maxPage
	props.MaxUncompressedPageSize = maxPage
	in.reader, err = file.NewParquetReader(in.file, file.WithReadProps(props))
	if err != nil {
		return fmt.Errorf("is a damaged Parquet file: %w", err)
	}
	meta := in.reader.MetaData()
	in.readBytes = readBytes(meta.Schema.NumColumns(), maxPage)
	props.BufferSize = in.readBytes
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
func (in *parquetFile) checkChunk(group, index int) error {
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

func (in *parquetFile) checkUnchanged() error {
	return checkUnchanged(in.name, in.file, in.before)
}

func (in *parquetFile) stat() os.FileInfo { return in.before }

func (in *parquetFile) label() string { return in.name }

func (in *parquetFile) count() int64 { return in.rows }

func (in *parquetFile) columns() []*column {
	return parquetColumns(in.reader.MetaData().Schema)
}

func (in *parquetFile) sameSchema(other input) bool {
	first, ok := other.(*parquetFile)
	if !ok || !in.reader.MetaData().Schema.Equals(first.reader.MetaData().Schema) {
		return false
	}
	// The library compares columns without the names of their groups.
	return slices.EqualFunc(in.columns(), first.columns(), func(a, b *column) bool { return a.name == b.name })
}

func (in *parquetFile) close() {
	in.file.Close() // closing a file that was only read cannot lose data
}

func (in *parquetFile) next() (openRows, error) {
	if in.group == in.reader.NumRowGroups() {
		return nil, io.EOF
	}
	group := in.group
	in.group++
	return func(l *layout, maxRows int, floats *floatFacts) (*rowDecoder, error) {
		r := rowRange{group: group, end: in.reader.MetaData().RowGroup(group).NumRows()}
		return in.openRange(r, l, maxRows, floats)
	}, nil
}

// openRange starts to decode rows of a row group.
func (in *parquetFile) openRange(r rowRange, l *layout, maxRows int, floats *floatFacts) (*rowDecoder, error) {
	d := &rowDecoder{layout: l, left: r.end - r.first, maxRows: maxRows}
	if d.left == 0 {
		return d, nil
	}
	var readers columnReaders
	d.release = func() { readers.close() }
	group := in.reader.RowGroup(r.group)
	for _, c := range l.columns {
		reader, err := group.Column(c.index)
		if err != nil {
			return nil, fmt.Errorf("column %s: %w", c.name, err)
		}
		readers = append(readers, reader)
		if r.first > 0 {
			if err := reader.SeekToRow(r.first); err != nil {
				return nil, fmt.Errorf("column %s: %w", c.name, err)
			}
		}
		if strings, ok := reader.(*file.ByteArrayColumnChunkReader); ok && c.isVariable {
			d.variable = append(d.variable, newVariableDecoder(c, strings, maxRows))
			continue
		}
		f, err := newDecoder(c, l, reader, maxRows, floats)
		if err != nil {
			return nil, err
		}
		d.fixed = append(d.fixed, f)
	}
	return d, nil
}

// columnReaders are the open readers of a row group.
type columnReaders []file.ColumnChunkReader

// close frees the memory of the pages.
func (r columnReaders) close() {
	for _, reader := range r {
		reader.Close() // errors of reading have been reported
	}
}

// groupBytes estimates the memory to decode a row group: for each column a page, compressed and
// decompressed, and a dictionary.
func (in *parquetFile) groupBytes() (total int64) {
	meta := in.reader.MetaData()
	if meta.NumRowGroups() == 0 {
		return 0
	}
	for c := range meta.NumColumns() {
		chunk, err := meta.RowGroup(0).ColumnChunk(c)
		if err != nil {
			continue
		}
		total += min(max(chunk.TotalUncompressedSize(), 0), 2*typicalPage) + in.readBytes
	}
	return total
}

// sample reads the first rows of some row groups.
func (in *parquetFile) sample(s *sample, l *layout, places int) error {
	groups := in.reader.NumRowGroups()
	for place := range min(places, groups) {
		index := place * groups / min(places, groups)
		if err := in.sampleGroup(s, l, index); err != nil {
			return fmt.Errorf("row group %d: %w", index, err)
		}
	}
	return nil
}

func (in *parquetFile) sampleGroup(s *sample, l *layout, index int) (err error) {
	defer func() {
		if reason := recover(); reason != nil {
			err = fmt.Errorf("is damaged: %v", reason)
		}
	}()
	d := &rowDecoder{layout: l, left: in.reader.MetaData().RowGroup(index).NumRows(), maxRows: sampledRows}
	var readers columnReaders
	defer func() { readers.close() }()
	group := in.reader.RowGroup(index)
	for _, c := range l.variable {
		reader, err := group.Column(c.index)
		if err != nil {
			return fmt.Errorf("column %s: %w", c.name, err)
		}
		readers = append(readers, reader)
		strings, ok := reader.(*file.ByteArrayColumnChunkReader)
		if !ok {
			return fmt.Errorf("column %s: unexpected reader %T", c.name, reader)
		}
		d.variable = append(d.variable, newVariableDecoder(c, strings, sampledRows))
	}
	return s.read(d)
}
