package main

import (
	"fmt"
	"io"
	"os"
	"runtime"
	"strings"

	"github.com/spf13/pflag"

	"github.com/extsort/extsort/device"
	"github.com/extsort/extsort/format"
	"github.com/extsort/extsort/internal/human"
	"github.com/extsort/extsort/internal/option"
)

// A nameList is a file that contains the names of the inputs.
type nameList struct {
	file       string // "": the operands are the inputs; -: standard input
	flag       string // the flag that named it
	terminator string // terminator of each name
	kind       string // kind of file, for messages
}

// reader returns the value of a flag that names a list of files.
func (l nameList) reader(to *nameList) pflag.Value {
	parse := func(file string) (nameList, error) {
		l.file = file
		_, err := notEmpty(file)
		return l, err
	}
	return &value[nameList]{
		target:   to,
		kind:     "F",
		onlyOnce: true,
		parse:    parse,
	}
}

func files0Flag(g group, v *flagValues) {
	list := nameList{
		flag:       "--files0-from",
		terminator: "\x00",
		kind:       "a NUL-separated list of names",
	}
	g.add(list.reader(&v.names), "files0-from",
		"read the names of the inputs from F (- is standard input), each terminated by a NUL byte; otherwise the operands")
}

func filesFlag(g group, v *flagValues) {
	list := nameList{
		flag:       "--files-from",
		terminator: "\n",
		kind:       "a list of names, one per line",
	}
	g.add(list.reader(&v.names), "files-from",
		"read the names of the inputs from F (- is standard input), one per line; otherwise the operands").
		hints("file-list", "input-list", "list").notWith("--files0-from")
}

func partFlag(g group, v *flagValues) {
	g.add(parsed(&v.opt.Part, "K/N", parsePart), "part",
		"sort only slice K of N equal slices of the inputs, K from 0; with -m, write only part K of N equal parts of "+
			"the result; otherwise all").
		sets(option.Part).notWith("--join")
}

func skipBytesFlag(g group, v *flagValues) {
	g.add(parsed(&v.opt.SkipBytes, "N", parseSize), "skip-bytes",
		"skip the first N bytes of each input, after decompression; key offsets count from there; otherwise none").
		sets(option.SkipBytes).hints("header").notWith("--join")
}

func recordsFlag(g group, v *flagValues) {
	g.add(parsed(&v.opt.Records, "N", parseLimit), "records",
		"read only the first N records of each input, and ignore the bytes after them; otherwise all").
		sets(option.Records).notWith("--join")
}

func skipTailFlag(g group, v *flagValues) {
	g.add(parsed(&v.opt.SkipTail, "N", parseSize), "skip-tail",
		"skip the last N bytes of each input, after decompression; otherwise none").
		sets(option.SkipTail).notWith("--join")
}

func keepHeaderFlag(g group, v *flagValues) {
	g.bool(&v.opt.KeepHeader, "keep-header",
		"copy the skipped bytes of the first input to the output; updates the number of records in .fbin, .u8bin, .ibin "+
			"and IDX headers").
		sets(option.KeepHeader).notWith("-c")
}

func decompressFlag(g group, v *flagValues) {
	g.add(oneOf(
		&v.opt.Decompress, "KIND", format.Decompressions()...,
	), "decompress",
		"compression of the inputs; auto detects it from the first bytes; otherwise auto").
		sets(option.Decompress).notWith("--join")
}

func rawFlag(g group, v *flagValues) {
	g.bool(&v.opt.Raw, "raw",
		"read the bytes as they are, even if they look like a compressed file or another format").
		sets(option.Raw).notWith("--join")
}

// inputNames returns the inputs: the operands, or the names in a list.
func (f *sortFlags) inputNames(
	operands []string, stdin io.Reader,
) ([]string, error) {
	return f.names.orOperands(operands, stdin)
}

// orOperands returns the names in the list if there is one, and otherwise the operands.
func (l nameList) orOperands(
	operands []string, stdin io.Reader,
) ([]string, error) {
	switch {
	case l.file == "":
		return operands, nil
	case len(operands) > 0:
		return nil, fmt.Errorf(
			"%s: %s lists all inputs: leave this operand out",
			operands[0],
			l.flag,
		)
	case l.file == "-":
		return l.readNames("standard input", stdin)
	}
	file, err := os.Open(l.file)
	if err != nil {
		return nil, fmt.Errorf(
			"%s %s: %w", l.flag, l.file, device.WithoutPath(err),
		)
	}
	defer file.Close() // closing a file that was only read cannot lose data
	return l.readNames(l.file, file)
}

// isName reports whether a string can be the name of a file. A name with control characters must
// exist.
func isName(name string) bool {
	const longest = 4096
	if len(name) > longest {
		return false
	}
	if printable(name) == name {
		return true
	}
	_, err := os.Lstat(name)
	return err == nil
}

// maxNames limits the bytes of the list, so that a data file given by mistake does not fill the
// memory.
const maxNames = 64 << 20

// readNames reads the names. The terminator of the last one may be missing. GNU sort's
// --files0-from has the same rules.
func (l nameList) readNames(shown string, from io.Reader) ([]string, error) {
	text, err := io.ReadAll(io.LimitReader(from, maxNames+1))
	switch {
	case err != nil:
		return nil, fmt.Errorf("%s: read %s: %w", l.flag, shown, err)
	case len(text) == 0:
		return nil, fmt.Errorf("%s: no file names in %s", l.flag, shown)
	case len(text) > maxNames:
		return nil, fmt.Errorf(
			"%s: %s is longer than %s, so it is not a list of names",
			l.flag,
			shown,
			human.Bytes(maxNames),
		)
	}
	names := strings.Split(strings.TrimSuffix(string(text), l.terminator), l.terminator)
	for i, name := range names {
		if runtime.GOOS == "windows" && l.terminator == "\n" {
			name = strings.TrimSuffix(name, "\r")
			names[i] = name
		}
		switch {
		case !isName(name):
			return nil, fmt.Errorf(
				"%s: %s is not %s: name %d is not a file",
				l.flag,
				shown,
				l.kind,
				i+1,
			)
		case name == "":
			return nil, fmt.Errorf(
				"%s: name %d in %s is empty", l.flag, i+1, shown,
			)
		case name == "-" && shown == "standard input":
			return nil, fmt.Errorf(
				"%s: name %d in %s is -, which is where the names come from",
				l.flag,
				i+1,
				shown,
			)
		}
	}
	return names, nil
}
