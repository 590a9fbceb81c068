package main

import (
	"encoding/binary"
	"fmt"
	"strings"
)

// npyAlignment is what the records of a .npy file are aligned to.
const npyAlignment = 64

// encode is a file of records: its header as NumPy or SOSD write it, and the records.
func (l layout) encode(records []byte) []byte {
	return append(l.header(len(records)/l.size), records...)
}

func (l layout) header(count int) []byte {
	switch l.container {
	case "sosd":
		return binary.LittleEndian.AppendUint64(nil, uint64(count))
	case "npy":
		return npyHeader(l.dtype, count)
	}
	return nil
}

// npyHeader is what numpy.save writes: magic, version 1.0, length as u16le, and a dictionary that blanks pad so that
// a longer count could take its place, and then so that the records are aligned.
func npyHeader(dtype string, count int) []byte {
	text := fmt.Sprintf("{'descr': %s, 'fortran_order': False, 'shape': (%d,), }", dtype, count)
	text += strings.Repeat(" ", 21-len(fmt.Sprint(count)))
	text += strings.Repeat(" ", npyAlignment-(len("\x93NUMPY")+4+len(text)+1)%npyAlignment) + "\n"
	header := []byte("\x93NUMPY\x01\x00")
	header = binary.LittleEndian.AppendUint16(header, uint16(len(text)))
	return append(header, text...)
}
