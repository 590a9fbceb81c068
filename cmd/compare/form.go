package main

import (
	"bufio"
	"context"
	"encoding/hex"
	"fmt"
	"io"
	"slices"
)

// A form is a representation of the data that a contender can read. The zero form is raw. Other
// forms are encoded record by record and may be packed by a program of the contender. Conversions
// are not timed.
type form struct {
	name   string // suffix of the file names; "": raw
	encode func(dst []byte, record []byte, w workload) []byte
	decode func(record, line []byte, w workload) error
	length func(w workload) int // bytes of an encoded record
	// Command that reads encoded records from standard input into file; nil: the file consists of
	// encoded records.
	pack func(file string) command
	// Command that writes the encoded records in file to standard output.
	unpack func(file string) command
}

// hexText represents each record as a line of hexadecimal digits, whose text order is the order
// of the keys.
var hexText = form{
	name: "hex",
	encode: func(dst, record []byte, w workload) []byte {
		return append(hex.AppendEncode(dst, bigEndian(record, w)), '\n')
	},
	decode: func(record, line []byte, w workload) error {
		if line[len(line)-1] != '\n' {
			return fmt.Errorf(
				"line %q does not end after %d digits", line, 2*w.recordSize,
			)
		}
		if _, err := hex.Decode(record, line[:len(line)-1]); err != nil {
			return err
		}
		copy(record, bigEndian(record, w))
		return nil
	},
	length: func(w workload) int { return 2*w.recordSize + 1 },
}

// bigEndianForm represents numbers in big-endian order, for programs that compare bytes.
var bigEndianForm = form{
	name: "be",
	encode: func(dst, record []byte, w workload) []byte {
		return append(dst, bigEndian(record, w)...)
	},
	decode: func(record, line []byte, w workload) error {
		copy(record, bigEndian(line, w))
		return nil
	},
	length: func(w workload) int { return w.recordSize },
}

// bigEndian returns the record as bytes whose order is the order of the keys. It reverses numbers
// only.
func bigEndian(record []byte, w workload) []byte {
	if !w.isNumber() {
		return record
	}
	turned := slices.Clone(record)
	slices.Reverse(turned)
	return turned
}

// A blockConversion appends the conversion of a block to dst.
type blockConversion func(dst, block []byte) ([]byte, error)

// translate converts src block by block and writes the result to dst. It stops if ctx ends.
func translate(
	ctx context.Context, dst io.Writer, src io.Reader, size int, turn blockConversion,
) error {
	in := bufio.NewReaderSize(src, 1<<20)
	out := bufio.NewWriterSize(dst, 1<<20)
	block := make([]byte, size)
	turned := []byte(nil)
	for n := int64(0); ; n++ {
		if _, err := io.ReadFull(in, block); err == io.EOF {
			return out.Flush()
		} else if err != nil {
			return fmt.Errorf("record %d: %w", n, err)
		}
		if n%4096 == 0 && ctx.Err() != nil {
			return context.Cause(ctx)
		}
		var err error
		if turned, err = turn(turned[:0], block); err != nil {
			return fmt.Errorf("record %d: %w", n, err)
		}
		if _, err := out.Write(turned); err != nil {
			return err
		}
	}
}

// encodeAll converts raw records to the form.
func (f form) encodeAll(
	ctx context.Context, dst io.Writer, src io.Reader, w workload,
) error {
	return translate(ctx, dst, src, w.recordSize, func(dst, record []byte) ([]byte, error) {
		return f.encode(dst, record, w), nil
	})
}

// decodeAll converts the form back to raw records.
func (f form) decodeAll(
	ctx context.Context, dst io.Writer, src io.Reader, w workload,
) error {
	record := make([]byte, w.recordSize)
	return translate(ctx, dst, src, f.length(w), func(dst, line []byte) ([]byte, error) {
		err := f.decode(record, line, w)
		return append(dst, record...), err
	})
}
