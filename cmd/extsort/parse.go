package main

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/spf13/cobra"

	"github.com/extsort/extsort/chunker/input"
	"github.com/extsort/extsort/device"
	"github.com/extsort/extsort/format"
	"github.com/extsort/extsort/format/textform"
	"github.com/extsort/extsort/internal/human"
	"github.com/extsort/extsort/internal/turns"
)

func parseFormFlag(g group, v *flagValues) {
	v.text.form = textform.CSV
	forms := make([]string, len(textform.Forms))
	for i, form := range textform.Forms {
		forms[i] = string(form)
	}
	g.add(oneOf(&v.text.form, "FORM", forms...), "as", "form of the lines").
		hints("csv", "json", "from", "input-format")
}

func parseCommand(a *app) *cobra.Command {
	v := &flagValues{}
	return verb("parse [flags] [FILE ...]",
		"Convert lines of text to records: CSV (or one number per line), TSV, JSON\n"+
			"objects, or hexadecimal digits. It is the inverse of extsort print.",
		"  extsort parse --fields 'time=u64 value=f32' -o log.bin log.csv\n"+
			"  extsort parse -t u64 n.txt | extsort -t u64 -u | extsort print -t u64\n"+
			"  extsort parse -t bytes20 hashes.txt | extsort -t bytes20 -o hashes.bin",
		v, func(cmd *cobra.Command, files []string) error {
			return parseLines(cmd.Context(), a, v, files)
		})
}

// parseLines converts the lines of all files to records.
func parseLines(
	ctx context.Context, a *app, v *flagValues, files []string,
) error {
	if len(files) == 0 {
		files = []string{"-"}
		if isTerminal(a.stdin) {
			return errors.New(
				"not reading lines from a terminal: name a FILE, or pipe the lines in (- forces it)",
			)
		}
	}
	if err := a.checkInput(files); err != nil {
		return err
	}
	spec := format.AnyOrder(v.opt.Record)
	err := cmp.Or(mistakenForm(spec.Format), validateRecord(spec))
	if err == nil && v.text.header != "" && !v.text.form.HasHeader() {
		err = fmt.Errorf(
			"--header does not apply to --as %s: leave it out", v.text.form,
		)
	}
	if err != nil {
		return err
	}
	header, err := spec.NewHeader()
	if err != nil {
		return err
	}
	if err := a.checkOutput(v.opt.Output, files...); err != nil {
		return err
	}
	size := header.Layout().RecordSize
	sink, err := openTextSink(ctx, a, v, header, files)
	if err != nil {
		return err
	}

	var records int64
	for _, name := range files {
		p := &lineParser{
			flags:   &v.text,
			workers: v.opt.Workers,
			decoder: textform.NewDecoder(v.text.form, size, header.Columns()),
		}
		p.recognition.Decompress = v.opt.Decompress
		p.windowBytes = v.windowBytes()
		p.write = func(ctx context.Context, recs []byte) error {
			first := records
			records += int64(len(recs) / size)
			return sink.WriteBlock(ctx, first, recs)
		}
		if err = p.parseFile(ctx, a.stdin, name); err != nil {
			break
		}
	}
	if err != nil {
		return errors.Join(err, sink.Abort())
	}
	return sink.Commit(ctx, records)
}

// parseFile converts the lines of one file, after decompression.
func (p *lineParser) parseFile(
	ctx context.Context, stdin io.Reader, name string,
) error {
	content, err := input.OpenContent(ctx, name, stdin)
	if err != nil {
		return err
	}
	defer content.Close() // closing a file that was only read cannot lose data
	p.name = content.Name
	var lines io.Reader = content.Stream
	if content.Stream == nil {
		section, _ := content.Section(p.recognition)
		lines = section
	}
	lines, err = decompressed(content.Name, lines, p.recognition, p.windowBytes)
	if err == nil {
		err = p.parseAll(ctx, lines)
	}
	if bad, ok := errors.AsType[*textform.LineError](err); ok {
		return fmt.Errorf("%s: %w", content.Name, bad)
	}
	return err
}

// decompressed returns a reader of the text in a file that may be compressed.
func decompressed(
	name string, from io.Reader, how format.Recognition, windowBytes int64,
) (io.Reader, error) {
	first := make([]byte, format.DetectBytes)
	n, err := input.ReadFull(from, first)
	if err != nil && err != io.EOF {
		return nil, fmt.Errorf("read %s: %w", name, device.WithoutPath(err))
	}
	first = first[:n]
	whole := io.MultiReader(bytes.NewReader(first), from)
	codec := how.Compression(name, first)
	return format.NewReader(
		whole, codec, min(format.StreamWindowBytes(codec, first), windowBytes),
	), nil
}

// A lineParser converts the lines of one file.
type lineParser struct {
	name        string // name of the file, for messages
	flags       *textFlags
	recognition format.Recognition // how to decompress the file
	windowBytes int64              // the largest window of its decompressor
	workers     int
	decoder     *textform.Decoder
	write       func(ctx context.Context, recs []byte) error

	incompleteLine []byte // the incomplete last line of the previous block
	lineNumber     int64  // the number of the next line
	notHeader      string // why the first line is not a header
	hasEnded       bool
}

const (
	parseBlockBytes = 256 << 10
	maxLineBytes    = 64 << 20
)

// parseAll reads all lines.
func (p *lineParser) parseAll(ctx context.Context, lines io.Reader) error {
	p.lineNumber = 1
	p.incompleteLine = nil
	return turns.Conversion[textBlock]{
		Read: func(b *textBlock, number int64) (more bool, err error) {
			if more, err = p.readBlock(b, lines); err == nil && number == 0 {
				err = p.readHeader(b)
			}
			return more, err
		},
		Convert: func(b *textBlock) error {
			b.out, b.lines, b.failed = p.decoder.Append(b.out[:0], b.in, 1)
			return nil
		},
		Write: func(ctx context.Context, b *textBlock) error {
			if bad, ok := errors.AsType[*textform.LineError](b.failed); ok {
				bad.Line += p.lineNumber - 1
				if bad.Line == 1 && p.flags.form.HasHeader() &&
					p.flags.header == "" {
					bad.Text += ", and the line is not a header: " + p.notHeader
				}
				return bad
			}
			p.lineNumber += b.lines
			if len(b.out) == 0 {
				return nil
			}
			return p.write(ctx, b.out)
		},
	}.Run(ctx, p.workers)
}

// readBlock sets b to the next whole lines.
func (p *lineParser) readBlock(
	b *textBlock, lines io.Reader,
) (more bool, err error) {
	b.in = append(b.in[:0], p.incompleteLine...)
	p.incompleteLine = p.incompleteLine[:0]
	for !p.hasEnded {
		start := len(b.in)
		b.in = slices.Grow(b.in, parseBlockBytes)[:start+parseBlockBytes]
		n, err := input.ReadFull(lines, b.in[start:])
		b.in = b.in[:start+n]
		if err != nil && err != io.EOF {
			return false, fmt.Errorf(
				"read %s: %w", p.name, device.WithoutPath(err),
			)
		}
		p.hasEnded = err == io.EOF
		if whole := p.decoder.Whole(b.in); whole > 0 && !p.hasEnded {
			p.incompleteLine = append(p.incompleteLine, b.in[whole:]...)
			b.in = b.in[:whole]
			break
		}
		if len(b.in) > maxLineBytes {
			return false, fmt.Errorf(
				"%s: line %d is longer than %s: is this text, and are its quotes complete?",
				p.name,
				p.lineNumber,
				human.Bytes(maxLineBytes),
			)
		}
	}
	return len(b.in) > 0 || !p.hasEnded, nil
}

// readHeader uses the first line of the first block as names, if it is a header.
func (p *lineParser) readHeader(b *textBlock) error {
	b.in = bytes.TrimPrefix(b.in, []byte("\ufeff"))
	if !p.flags.form.HasHeader() || p.flags.header == "no" {
		return nil
	}
	length, err := p.decoder.SetHeader(b.in, p.flags.header == "yes")
	if bad, ok := errors.AsType[*textform.LineError](err); ok &&
		p.flags.header == "" {
		bad.Text += " with --header yes or no"
	}
	if length > 0 {
		p.lineNumber++
	}
	if length == 0 && err == nil {
		p.notHeader = p.decoder.HeaderProblem(b.in)
	}
	b.in = b.in[length:]
	return err
}
