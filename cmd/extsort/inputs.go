package main

import (
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/extsort/extsort/device"
	"github.com/extsort/extsort/format"
	"github.com/extsort/extsort/internal/human"
	"github.com/extsort/extsort/internal/option"
)

func files0Flag(g group, v *flagValues) {
	g.add(single(&v.files0, "F"), "files0-from",
		"read the names of the inputs from F (- is standard input), each ending with a NUL; otherwise the operands")
}

func partFlag(g group, v *flagValues) {
	g.add(read(&v.opt.Part, "K/N", parsePart), "part",
		"sort only slice K of N equal slices of the inputs, K from 0; with -m, write only part K of N equal parts of "+
			"the result; otherwise all").
		sets(option.Part).notWith("--join")
}

func skipBytesFlag(g group, v *flagValues) {
	g.add(read(&v.opt.SkipBytes, "N", parseSize), "skip-bytes",
		"skip the first N bytes of each input, after decompression; offsets count from their end; otherwise none").
		sets(option.SkipBytes).hints("header").notWith("--join")
}

func recordsFlag(g group, v *flagValues) {
	g.add(read(&v.opt.Records, "N", parseLimit), "records",
		"read only the first N records of each input, and ignore the bytes after them; otherwise all").
		sets(option.Records).notWith("--join")
}

func skipTailFlag(g group, v *flagValues) {
	g.add(read(&v.opt.SkipTail, "N", parseSize), "skip-tail",
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
	g.add(oneOf(&v.opt.Decompress, "KIND", format.Decompressions()...), "decompress",
		"compression of the inputs; auto detects it from the first bytes; otherwise auto").
		sets(option.Decompress).notWith("--join")
}

func rawFlag(g group, v *flagValues) {
	g.bool(&v.opt.Raw, "raw",
		"sort the bytes as they are, even if they look like a compressed file or another format").
		sets(option.Raw).notWith("--join")
}

// named is the inputs: the operands, or what --files0-from names.
func (f *sortFlags) named(operands []string, stdin io.Reader) ([]string, error) {
	switch {
	case f.files0 == "":
		return operands, nil
	case len(operands) > 0:
		return nil, fmt.Errorf("%s: --files0-from lists all inputs: leave this operand out", operands[0])
	case f.files0 == "-":
		return readNames("standard input", stdin)
	}
	list, err := os.Open(f.files0)
	if err != nil {
		return nil, fmt.Errorf("--files0-from %s: %w", f.files0, device.WithoutPath(err))
	}
	defer list.Close()
	return readNames(f.files0, list)
}

// isName reports whether a name can be that of a file. One with control characters has to exist.
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

// maxNames bounds the list of names in bytes, so that a file of data by mistake does not fill the memory.
const maxNames = 64 << 20

// readNames reads names that end with a NUL; behind the last one it may be missing. GNU sort has the same rules.
func readNames(shown string, list io.Reader) ([]string, error) {
	text, err := io.ReadAll(io.LimitReader(list, maxNames+1))
	switch {
	case err != nil:
		return nil, fmt.Errorf("--files0-from: read %s: %w", shown, err)
	case len(text) == 0:
		return nil, fmt.Errorf("--files0-from: no file names in %s", shown)
	case len(text) > maxNames:
		return nil, fmt.Errorf("--files0-from: %s is longer than %s, so it is not a list of "+
			"names", shown, human.Bytes(maxNames))
	}
	names := strings.Split(strings.TrimSuffix(string(text), "\x00"), "\x00")
	for i, name := range names {
		switch {
		case !isName(name):
			return nil, fmt.Errorf("--files0-from: %s is not a NUL-separated list of names: name %d is not a "+
				"file", shown, i+1)
		case name == "":
			return nil, fmt.Errorf("--files0-from: name %d in %s is empty", i+1, shown)
		case name == "-" && shown == "standard input":
			return nil, fmt.Errorf("--files0-from: name %d in %s is -, which is where the names come "+
				"from", i+1, shown)
		}
	}
	return names, nil
}
