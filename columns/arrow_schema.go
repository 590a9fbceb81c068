package columns

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"errors"

	flatbuffers "github.com/google/flatbuffers/go"
)

// Slots of tables in the metadata of Arrow; see Message.fbs and Schema.fbs of its specification.
const (
	messageHeader  flatbuffers.VOffsetT = 8
	schemaFields   flatbuffers.VOffsetT = 6
	schemaMetadata flatbuffers.VOffsetT = 8
	fieldChildren  flatbuffers.VOffsetT = 14
	fieldMetadata  flatbuffers.VOffsetT = 16
)

// maxFieldDepth is the most levels of nested fields.
const maxFieldDepth = 64

var errSchema = errors.New("is damaged Arrow data: its schema is wrong")

// checkSchema checks the numbers of fields in the schema, which begins the data. The library
// allocates memory for any number.
func checkSchema(r *bufio.Reader) (err error) {
	defer func() {
		if recover() != nil { // an offset points outside
			err = errSchema
		}
	}()
	start := 8
	head, err := r.Peek(start)
	if err != nil {
		return nil // the reader reports it
	}
	if !bytes.HasPrefix(head, arrowStreamMagic) { // before version 0.15
		start = 4
	}
	size := int(int32(binary.LittleEndian.Uint32(head[start-4:])))
	if size < 8 || start+size > r.Size() {
		return errSchema
	}
	data, err := r.Peek(start + size)
	if err != nil {
		return nil // the reader reports it
	}
	data = data[start:]
	message := flatbuffers.Table{Bytes: data, Pos: flatbuffers.GetUOffsetT(data)}
	at := flatbuffers.UOffsetT(message.Offset(messageHeader))
	if at == 0 {
		return errSchema
	}
	var schema flatbuffers.Table
	message.Union(&schema, at)
	left := size / 4 // each element of a vector has 4 bytes
	if err := checkCount(&schema, schemaMetadata, &left); err != nil {
		return err
	}
	return checkFields(&schema, schemaFields, &left, 0)
}

// checkFields checks a vector of fields. left is the number of elements that the data can have.
func checkFields(t *flatbuffers.Table, slot flatbuffers.VOffsetT, left *int, depth int) error {
	if err := checkCount(t, slot, left); err != nil {
		return err
	}
	if depth > maxFieldDepth {
		return errSchema
	}
	at := flatbuffers.UOffsetT(t.Offset(slot))
	if at == 0 {
		return nil
	}
	start := t.Vector(at)
	for i := range t.VectorLen(at) {
		field := flatbuffers.Table{Bytes: t.Bytes, Pos: t.Indirect(start + flatbuffers.UOffsetT(4*i))}
		if err := checkCount(&field, fieldMetadata, left); err != nil {
			return err
		}
		if err := checkFields(&field, fieldChildren, left, depth+1); err != nil {
			return err
		}
	}
	return nil
}

// checkCount checks the number of elements of a vector.
func checkCount(t *flatbuffers.Table, slot flatbuffers.VOffsetT, left *int) error {
	at := flatbuffers.UOffsetT(t.Offset(slot))
	if at == 0 {
		return nil
	}
	n := t.VectorLen(at)
	*left -= n
	if n < 0 || *left < 0 {
		return errSchema
	}
	return nil
}
