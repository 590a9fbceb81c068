package main

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"slices"
)

// An oracle computes the order that the command must produce, without sharing code with it. It
// builds keys byte by byte and compares them with a sort of the standard library. The position in
// the input is the last criterion, which makes it stable.
type oracle struct {
	size   int // of a record in bytes
	fields []field
}

// An entry is a record to sort: the first bytes of its key, and its index.
type entry struct {
	prefix uint64
	index  uint32
}

// sorted returns the records in stable order.
func (o oracle) sorted(records []byte) []byte {
	keys, width := o.keys(records)
	entries := make([]entry, len(records)/o.size)
	for i := range entries {
		var first [8]byte
		copy(first[:], keys[i*width:(i+1)*width])
		entries[i] = entry{binary.BigEndian.Uint64(first[:]), uint32(i)}
	}
	slices.SortFunc(entries, func(a, b entry) int {
		if a.prefix != b.prefix {
			return cmp.Compare(a.prefix, b.prefix)
		}
		order := 0
		if width > 8 {
			order = bytes.Compare(
				keys[int(a.index)*width:][:width],
				keys[int(b.index)*width:][:width],
			)
		}
		return cmp.Or(order, cmp.Compare(a.index, b.index))
	})
	result := make([]byte, 0, len(records))
	for _, e := range entries {
		result = append(result, records[int(e.index)*o.size:][:o.size]...)
	}
	return result
}

// keys returns the keys of all records, each of width bytes.
func (o oracle) keys(records []byte) (keys []byte, width int) {
	for _, f := range o.fields {
		width += f.width()
	}
	keys = make([]byte, 0, len(records)/o.size*width)
	for at := 0; at < len(records); at += o.size {
		for _, f := range o.fields {
			keys = f.appendKey(keys, records[at:at+o.size])
		}
	}
	return keys, width
}

// unique returns the first record of each group of neighbors with equal keys.
func (o oracle) unique(records []byte) []byte {
	var result []byte
	for at := 0; at < len(records); at += o.size {
		if at == 0 ||
			compareKeys(
				o.fields, records[at-o.size:at], records[at:at+o.size],
			) != 0 {
			result = append(result, records[at:at+o.size]...)
		}
	}
	return result
}

// disorder returns the index of the first record that is out of order, or -1. With strict, equal
// neighbors are out of order.
func (o oracle) disorder(records []byte, strict bool) int {
	for at := o.size; at < len(records); at += o.size {
		order := compareKeys(
			o.fields, records[at-o.size:at], records[at:at+o.size],
		)
		if order > 0 || strict && order == 0 {
			return at / o.size
		}
	}
	return -1
}

// reversed returns the oracle of the opposite order.
func (o oracle) reversed() oracle {
	o.fields = slices.Clone(o.fields)
	for i := range o.fields {
		o.fields[i].desc = !o.fields[i].desc
	}
	return o
}
