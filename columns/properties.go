package columns

import (
	"fmt"
	"io"
	"strings"

	"github.com/apache/arrow-go/v18/parquet"
	"github.com/apache/arrow-go/v18/parquet/compress"
	"github.com/apache/arrow-go/v18/parquet/file"
	"github.com/apache/arrow-go/v18/parquet/metadata"
)

// A pageCodec is a compression of pages.
type pageCodec struct {
	name  string
	codec compress.Compression
}

// pageCodecs lists the compressions of outputs.
var pageCodecs = []pageCodec{
	{"none", compress.Codecs.Uncompressed},
	{"snappy", compress.Codecs.Snappy},
	{"gzip", compress.Codecs.Gzip},
	{"zstd", compress.Codecs.Zstd},
	{"lz4", compress.Codecs.Lz4Raw},
	{"brotli", compress.Codecs.Brotli},
}

// Codecs returns the names of the compressions.
func Codecs() (names []string) {
	for _, c := range pageCodecs {
		names = append(names, c.name)
	}
	return names
}

// codecNamed returns the compression of a name.
func codecNamed(name string) (compress.Compression, error) {
	for _, c := range pageCodecs {
		if c.name == name {
			return c.codec, nil
		}
	}
	return 0, fmt.Errorf("compression %q is not for Parquet files: use %s", name, strings.Join(Codecs(), ", "))
}

// writerProperties returns properties for an output like the input.
func writerProperties(in *parquetFile, l *layout, opt Options, floats *floatFacts,
	pageBytes int64) (*parquet.WriterProperties, error) {
	props := []parquet.WriterProperty{
		parquet.WithPageIndexEnabled(true),
		parquet.WithDataPageSize(pageBytes),
		parquet.WithDictionaryPageSizeLimit(pageBytes),
		parquet.WithDictionaryDefault(false),
		parquet.WithMaxRowGroupLength(1 << 40), // the sink ends row groups
		parquet.WithSortingColumns(l.sortingColumns(opt)),
	}
	for _, c := range l.columns {
		codec, dictionary, err := in.style(c)
		if err != nil {
			return nil, err
		}
		if opt.Compression != "" {
			if codec, err = codecNamed(opt.Compression); err != nil {
				return nil, err
			}
		}
		path := c.name
		props = append(props, parquet.WithCompressionFor(path, codec),
			parquet.WithDictionaryFor(path, dictionary && !floats.columns[c.index].Load()))
	}
	return parquet.NewWriterProperties(props...), nil
}

// sortingColumns returns the keys for the metadata of row groups.
func (l *layout) sortingColumns(opt Options) (all []parquet.SortingColumn) {
	for _, key := range opt.Keys {
		all = append(all, parquet.SortingColumn{
			ColumnIdx:  int32(l.named(key.Column).index),
			Descending: key.Desc,
			NullsFirst: opt.NullsFirst,
		})
	}
	return all
}

// style returns the compression of a column of the input, and whether it has a dictionary.
func (in *parquetFile) style(c *column) (codec compress.Compression, dictionary bool, err error) {
	meta := in.reader.MetaData()
	if meta.NumRowGroups() == 0 {
		return compress.Codecs.Snappy, true, nil
	}
	chunk, err := meta.RowGroup(0).ColumnChunk(c.index)
	if err != nil {
		return codec, false, err
	}
	codec = chunk.Compression()
	if codec == compress.Codecs.Lz4 || codec == compress.Codecs.Lzo { // not defined well enough to be written
		codec = compress.Codecs.Lz4Raw
	}
	for _, encoding := range chunk.Encodings() {
		dictionary = dictionary || encoding == parquet.Encodings.RLEDict || encoding == parquet.Encodings.PlainDict
	}
	return codec, dictionary, nil
}

// newWriter starts a file with the schema and the key-value metadata of the input.
func newWriter(w io.Writer, in *parquetFile, props *parquet.WriterProperties) (*file.Writer, error) {
	meta := in.reader.MetaData()
	pairs := metadata.NewKeyValueMetadata()
	old := meta.KeyValueMetadata()
	values := old.Values()
	for i, key := range old.Keys() {
		if err := pairs.Append(key, values[i]); err != nil {
			return nil, err
		}
	}
	return file.NewParquetWriterWithError(w, meta.Schema.Root(), file.WithWriterProps(props),
		file.WithWriteMetadata(pairs))
}
