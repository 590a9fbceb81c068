package columns

import (
	"encoding/binary"
	"fmt"
	"io"
	"slices"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/ipc"
	"github.com/apache/arrow-go/v18/arrow/memory"
)

// An arrowWriter writes record batches to an Arrow file or stream.
type arrowWriter struct {
	schema   *arrow.Schema
	encoders []*arrowEncoder
	writer   interface {
		Write(batch arrow.RecordBatch) error
		Close() error
	}
}

// arrowSuffixes lists the suffixes of Arrow files and streams.
var arrowSuffixes = []string{".arrow", ".arrows", ".feather", ".ipc"}

// A batchCodec is a compression of record batches.
type batchCodec struct {
	name    string
	options []ipc.Option
}

// batchCodecs lists the compressions of outputs.
var batchCodecs = []batchCodec{
	{"", nil},
	{"none", nil},
	{"lz4", []ipc.Option{ipc.WithLZ4()}},
	{"zstd", []ipc.Option{ipc.WithZstd()}},
}

// arrowOptions returns the options for a compression of record batches.
func arrowOptions(compression string) ([]ipc.Option, error) {
	for _, c := range batchCodecs {
		if c.name == compression {
			return c.options, nil
		}
	}
	return nil, fmt.Errorf("compression %q is not for Arrow files: use none, lz4 or zstd", compression)
}

// newArrowWriter starts a file or a stream.
func newArrowWriter(w io.Writer, in *arrowStream, l *layout, opt Options, isFile bool) (*arrowWriter, error) {
	codec, err := arrowOptions(opt.Compression)
	if err != nil {
		return nil, err
	}
	a := &arrowWriter{schema: withoutDictionaries(l.arrowSchema(in.reader.Schema()))}
	options := append([]ipc.Option{ipc.WithSchema(a.schema)}, codec...)
	if isFile {
		writer, err := ipc.NewFileWriter(w, options...)
		if err != nil {
			return nil, err
		}
		a.writer = writer
	} else {
		a.writer = ipc.NewWriter(w, options...)
	}
	for i, c := range l.columns {
		e := &arrowEncoder{column: c, dataType: a.schema.Field(i).Type}
		if c.isVariable {
			e.place = l.placeOf(c)
		}
		a.encoders = append(a.encoders, e)
	}
	return a, nil
}

// withoutDictionaries returns the schema of the output, in which dictionaries and views are plain.
func withoutDictionaries(s *arrow.Schema) *arrow.Schema {
	fields := s.Fields()
	for i, field := range fields {
		if dictionary, ok := field.Type.(*arrow.DictionaryType); ok {
			fields[i].Type = dictionary.ValueType
		}
		switch fields[i].Type.ID() {
		case arrow.STRING_VIEW:
			fields[i].Type = arrow.BinaryTypes.String
		case arrow.BINARY_VIEW:
			fields[i].Type = arrow.BinaryTypes.Binary
		}
	}
	pairs := s.Metadata()
	return arrow.NewSchema(fields, &pairs)
}

// arrowSchema returns the schema of the output, given that of the input.
func (l *layout) arrowSchema(s *arrow.Schema) *arrow.Schema {
	fields := slices.Clone(s.Fields())
	for _, c := range l.added {
		fields = append(fields, arrow.Field{Name: c.name, Type: c.arrowType, Nullable: c.maxLevel > 0})
	}
	pairs := s.Metadata()
	return arrow.NewSchema(fields, &pairs)
}

func (a *arrowWriter) start() (all []encoder, err error) {
	for _, e := range a.encoders {
		e.reset()
		all = append(all, e)
	}
	return all, nil
}

func (a *arrowWriter) end() error {
	var arrays []arrow.Array
	rows := 0
	for _, e := range a.encoders {
		arrays = append(arrays, e.array())
		rows = e.rows
	}
	batch := array.NewRecordBatch(a.schema, arrays, int64(rows))
	defer batch.Release()
	for _, values := range arrays {
		values.Release()
	}
	return a.writer.Write(batch)
}

func (a *arrowWriter) close() error { return a.writer.Close() }

// An arrowEncoder collects the values of a column of a record batch.
type arrowEncoder struct {
	column   *column
	dataType arrow.DataType
	place    valuePlace // of values of variable width

	rows    int
	nulls   int
	isValid []byte // a bit for each row, if the column can have nulls
	values  []byte
	ends    []byte // of values of variable width
	scratch []byte
}

func (e *arrowEncoder) reset() {
	e.rows = 0
	e.nulls = 0
	e.isValid = e.isValid[:0]
	e.values = e.values[:0]
	e.ends = e.appendEnd(e.ends[:0])
}

// isLarge reports whether the ends of values have 8 bytes.
func (e *arrowEncoder) isLarge() bool {
	id := storageType(e.dataType).ID()
	return id == arrow.LARGE_STRING || id == arrow.LARGE_BINARY
}

func (e *arrowEncoder) appendEnd(ends []byte) []byte {
	if e.isLarge() {
		return binary.LittleEndian.AppendUint64(ends, uint64(len(e.values)))
	}
	return binary.LittleEndian.AppendUint32(ends, uint32(len(e.values)))
}

func (e *arrowEncoder) encode(r rows) error {
	c := e.column
	if c.maxLevel > 0 {
		e.addLevels(r)
	}
	switch {
	case c.isVariable:
		for i := range r.count {
			var value []byte
			value, e.scratch = e.place.value(r.data[r.at(i):], e.scratch[:0])
			e.values = append(e.values, value...)
			e.ends = e.appendEnd(e.ends)
		}
	case storageType(e.dataType).ID() == arrow.BOOL:
		for i := range r.count {
			e.values = appendBit(e.values, e.rows+i, r.data[r.at(i)+c.offset] != 0)
		}
	default:
		for i := range r.count {
			at := r.at(i) + c.offset
			e.values = append(e.values, r.data[at:at+c.width]...)
		}
	}
	e.rows += r.count
	return nil
}

// addLevels adds which values are nulls.
func (e *arrowEncoder) addLevels(r rows) {
	c := e.column
	for i := range r.count {
		isValid := r.data[r.at(i)+c.levelPlace]&c.levelMask != 0
		if !isValid {
			e.nulls++
		}
		e.isValid = appendBit(e.isValid, e.rows+i, isValid)
	}
}

// appendBit sets the bit of a row in a bitmap that ends before it.
func appendBit(bits []byte, row int, isSet bool) []byte {
	if row%8 == 0 {
		bits = append(bits, 0)
	}
	if isSet {
		bits[row/8] |= 1 << (row % 8)
	}
	return bits
}

// array returns the values. It shares the memory of the encoder.
func (e *arrowEncoder) array() arrow.Array {
	buffers := []*memory.Buffer{nil}
	if e.nulls > 0 {
		buffers[0] = memory.NewBufferBytes(e.isValid)
	}
	if e.column.isVariable {
		buffers = append(buffers, memory.NewBufferBytes(e.ends))
	}
	buffers = append(buffers, memory.NewBufferBytes(e.values))
	data := array.NewData(e.dataType, e.rows, buffers, nil, e.nulls, 0)
	defer data.Release()
	return array.MakeFromData(data)
}
