package main

import (
	"bufio"
	"context"
	"encoding/hex"
	"fmt"
	"io"
	"slices"
)

// form is how a contender wants the data: raw, which is the zero form, or made from it record by record, and perhaps
// packed by a program of the contender's own. Making it and turning it back is not timed.
type form struct {
	name   string // suffix of the files; "" is raw
	encode func(dst []byte, record []byte, w workload) []byte
	decode func(record, line []byte, w workload) error
	length func(w workload) int      // bytes of an encoded record
	pack   func(file string) command // reads encoded records from standard input into file; nil: they are the file
	unpack func(file string) command // writes them to standard output
}

// hexText is a line of hexadecimal digits for each record, of which the text order is the order of the keys.
var hexText = form{
	name: "hex",
	encode: func(dst, record []byte, w workload) []byte {
		return append(hex.AppendEncode(dst, bigEndian(record, w)), '\n')
	},
	decode: func(record, line []byte, w workload) error {
		if line[len(line)-1] != '\n' {
			return fmt.Errorf("line %q does not end after %d digits", line, 2*w.recordSize)
		}
		if _, err := hex.Decode(record, line[:len(line)-1]); err != nil {
			return err
		}
		copy(record, bigEndian(record, w))
		return nil
	},
	length: func(w workload) int { return 2*w.recordSize + 1 },
}

// swapped has numbers most significant byte first, for programs that compare bytes.
var swapped = form{
	name:   "be",
	encode: func(dst, record []byte, w workload) []byte { return append(dst, bigEndian(record, w)...) },
	decode: func(record, line []byte, w workload) error {
		copy(record, bigEndian(line, w))
		return nil
	},
	length: func(w workload) int { return w.recordSize },
}

// bigEndian is the record with its most significant byte first: numbers are turned round, others stand so already.
func bigEndian(record []byte, w workload) []byte {
	if !w.isNumber() {
		return record
	}
	turned := slices.Clone(record)
	slices.Reverse(turned)
	return turned
}

// turn appends a block that is made from another one.
type turn func(dst, block []byte) ([]byte, error)

// translate reads blocks of a size, turns each into another and writes those. It ends with the context.
func translate(ctx context.Context, dst io.Writer, src io.Reader, size int, turn turn) error {
	in, out := bufio.NewReaderSize(src, 1<<20), bufio.NewWriterSize(dst, 1<<20)
	block, turned := make([]byte, size), []byte(nil)
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

// encodeAll writes the form of raw records.
func (f form) encodeAll(ctx context.Context, dst io.Writer, src io.Reader, w workload) error {
	return translate(ctx, dst, src, w.recordSize, func(dst, record []byte) ([]byte, error) {
		return f.encode(dst, record, w), nil
	})
}

// decodeAll writes the raw records of a form.
func (f form) decodeAll(ctx context.Context, dst io.Writer, src io.Reader, w workload) error {
	record := make([]byte, w.recordSize)
	return translate(ctx, dst, src, f.length(w), func(dst, line []byte) ([]byte, error) {
		err := f.decode(record, line, w)
		return append(dst, record...), err
	})
}
