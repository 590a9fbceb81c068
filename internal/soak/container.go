package main

import (
	"encoding/binary"
	"fmt"
	"strings"
)

// container is the format of the data around the records of a file.
type container struct {
	header   func(l *layout, count int) []byte
	isPadded bool // other programs pad the header to other sizes
}

// The container formats. A file of plain records has none.
var (
	sosd = container{header: func(_ *layout, count int) []byte {
		return binary.LittleEndian.AppendUint64(nil, uint64(count))
	}}
	bigann = container{header: func(l *layout, count int) []byte {
		header := binary.LittleEndian.AppendUint32(nil, uint32(count))
		return binary.LittleEndian.AppendUint32(header, uint32(l.dimension))
	}}
	npy = container{
		header: func(l *layout, count int) []byte {
			return npyHeader(l.dtype, count)
		},
		isPadded: true,
	}
)

// encode returns a file: the header as other programs write it, followed by the records.
func (l layout) encode(records []byte) []byte {
	return append(l.header(len(records)/l.size), records...)
}

func (l layout) header(count int) []byte {
	if l.container == nil {
		return nil
	}
	return l.container.header(&l, count)
}

// npyAlignment is the alignment of the records in a .npy file.
const npyAlignment = 64

// npyHeader returns the header that numpy.save writes: magic, version 1.0, length as u16le, and a
// dictionary. Blanks after the dictionary leave room for a longer count and align the records.
func npyHeader(dtype string, count int) []byte {
	text := fmt.Sprintf(
		"{'descr': %s, 'fortran_order': False, 'shape': (%d,), }", dtype, count,
	)
	text += strings.Repeat(" ", 21-len(fmt.Sprint(count)))
	text += strings.Repeat(
		" ", npyAlignment-(len("\x93NUMPY")+4+len(text)+1)%npyAlignment,
	) + "\n"
	header := []byte("\x93NUMPY\x01\x00")
	header = binary.LittleEndian.AppendUint16(header, uint16(len(text)))
	return append(header, text...)
}
