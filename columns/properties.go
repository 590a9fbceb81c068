package columns

import (
	"fmt"
	"io"
	"strings"

	"github.com/apache/arrow-go/v18/parquet"
	"github.com/apache/arrow-go/v18/parquet/compress"
	"github.com/apache/arrow-go/v18/parquet/file"
	"github.com/apache/arrow-go/v18/parquet/metadata"
	"github.com/apache/arrow-go/v18/parquet/schema"
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
	m budget) (*parquet.WriterProperties, error) {
	props := []parquet.WriterProperty{
		parquet.WithAllocator(newPageMemory(m.columns * 3 / 4)),
		parquet.WithPageIndexEnabled(true),
		parquet.WithDataPageSize(m.pageBytes(l)),
		parquet.WithDictionaryPageSizeLimit(m.dictionaryBytes(l)),
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

// sortingColumns returns the keys for the metadata of row groups. Rows with a null in an argument of a computed key
// are not in the order of the stored key.
func (l *layout) sortingColumns(opt Options) (all []parquet.SortingColumn) {
	for _, key := range l.order {
		c := key.column
		if key.computed != nil {
			c = l.kept
		}
		if c == nil || key.computed != nil && key.computed.hasNulls() {
			break
		}
		all = append(all, parquet.SortingColumn{
			ColumnIdx:  int32(c.index),
			Descending: key.desc,
			NullsFirst: opt.NullsFirst,
		})
	}
	return all
}

// parquetRoot returns the schema of the output, given that of the input.
func (l *layout) parquetRoot(root *schema.GroupNode) (*schema.GroupNode, error) {
	if len(l.added) == 0 {
		return root, nil
	}
	var fields schema.FieldList
	for i := range root.NumFields() {
		fields = append(fields, root.Field(i))
	}
	for _, c := range l.added {
		repetition := parquet.Repetitions.Required
		if c.maxLevel > 0 {
			repetition = parquet.Repetitions.Optional
		}
		node, err := schema.NewPrimitiveNodeLogical(c.name, repetition, c.leaf.LogicalType(), c.leaf.PhysicalType(),
			c.leaf.TypeLength(), -1)
		if err != nil {
			return nil, fmt.Errorf("column %s: %w", c.name, err)
		}
		fields = append(fields, node)
	}
	return schema.NewGroupNode(root.Name(), parquet.Repetitions.Required, fields, -1)
}

// style returns the compression of a column of the input, and whether it has a dictionary.
func (in *parquetFile) style(c *column) (codec compress.Compression, dictionary bool, err error) {
	meta := in.reader.MetaData()
	index := c.index
	if isAdded := index >= meta.Schema.NumColumns(); isAdded {
		index = 0
		defer func() { dictionary = false }()
	}
	if meta.NumRowGroups() == 0 {
		return compress.Codecs.Snappy, true, nil
	}
	chunk, err := meta.RowGroup(0).ColumnChunk(index)
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
func newWriter(w io.Writer, in *parquetFile, l *layout, props *parquet.WriterProperties) (*file.Writer, error) {
	meta := in.reader.MetaData()
	pairs := metadata.NewKeyValueMetadata()
	old := meta.KeyValueMetadata()
	values := old.Values()
	for i, key := range old.Keys() {
		if err := pairs.Append(key, values[i]); err != nil {
			return nil, err
		}
	}
	root, err := l.parquetRoot(meta.Schema.Root())
	if err != nil {
		return nil, err
	}
	return file.NewParquetWriterWithError(w, root, file.WithWriterProps(props),
		file.WithWriteMetadata(pairs))
}
