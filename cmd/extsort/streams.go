package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"golang.org/x/term"

	"github.com/extsort/extsort/format"
	"github.com/extsort/extsort/merge/output"
)

func isTerminal(stream any) bool {
	f, ok := stream.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}

// checkInput rejects records from a terminal, and a closed standard input, which would look like
// an empty file. Input "-" was named explicitly, so it may be a terminal.
func (a *app) checkInput(files []string) error {
	if len(files) == 0 && isTerminal(a.stdin) {
		return errors.New(
			"not reading binary records from a terminal: name a FILE, or pipe the input in (- " +
				"forces it)",
		)
	}
	used := len(files) == 0 ||
		slices.ContainsFunc(files, func(name string) bool {
			return isStandard(name, 0)
		})
	if used && looksClosed(a.stdin) {
		return errors.New(
			"standard input is closed: name a FILE, or redirect it (</dev/null for an empty input)",
		)
	}
	return nil
}

// checkOutput rejects binary records on a terminal, and an input that the shell has emptied by
// redirecting the output to it. It warns if the output is discarded. Output "-" was named
// explicitly, so it may be a terminal.
func (a *app) checkOutput(name string, inputs ...string) error {
	if name == "" || isStandard(name, 1) {
		for _, input := range inputs {
			if inputPlace(a, input).isEmptied(a.stdout) {
				return emptiedInputError(input)
			}
		}
	}
	if name == "" && isTerminal(a.stdout) {
		return errors.New("not writing binary records to a terminal: " +
			"use -o FILE, or pipe the output to a program (-o - forces it)")
	}
	if (name == "" || isStandard(name, 1)) && looksClosed(a.stdout) {
		a.warn(
			"standard output is closed, so the records are lost: use -o FILE, or redirect it (>/dev/null " +
				"to discard them)",
		)
	}
	return nil
}

// isEmptied reports whether a place is the file of standard output and the shell has emptied it.
// For > FILE, the shell opens FILE for writing only. For 1<> FILE, it opens FILE for reading and
// writing and keeps its bytes; if FILE is empty, it was empty before.
func (p place) isEmptied(stdout any) bool {
	out, ok := stdout.(*os.File)
	if !ok {
		return false
	}
	to, err := out.Stat()
	return err == nil && to.Size() == 0 && !isReadable(out) && p.isOpenAs(out)
}

// isOpenAs reports whether a place is the regular file of standard output.
func (p place) isOpenAs(stdout any) bool {
	out, ok := stdout.(*os.File)
	if !ok {
		return false
	}
	to, err := out.Stat()
	if err != nil || !to.Mode().IsRegular() {
		return false
	}
	if in, ok := p.stream.(*os.File); ok {
		from, err := in.Stat()
		return err == nil && os.SameFile(to, from)
	}
	from, err := os.Stat(p.name)
	return err == nil && os.SameFile(to, from)
}

func emptiedInputError(input string) error {
	if isStandard(input, 0) {
		return errors.New("standard input and output are the same file: the shell has emptied it " +
			"(use extsort -o FILE FILE)")
	}
	return fmt.Errorf(
		"%s is also standard output: the shell has emptied it (use -o %s to sort a file in place)",
		input,
		input,
	)
}

// misnamed returns a warning if the suffix of an output promises another format, or "".
func misnamed(name, compress string, isArray bool) string {
	suffix := filepath.Ext(name)
	named, foreign := format.ParseCompression("", name)
	promises := foreign != nil || named != format.None
	switch codec, _ := format.ParseCompression(compress, name); {
	case promises && codec != format.None && codec != named &&
		suffix != "."+codec.String():
		return fmt.Sprintf(
			"%s will be compressed with %v, although its name says otherwise",
			name,
			codec,
		)
	case (suffix == ".npy" || suffix == ".npz") && !isArray:
		return name + " will have no NumPy header: read it with numpy.fromfile and the dtype"
	case suffix == ".npz" && isArray:
		return name + " will be a single array as in .npy files, not an archive"
	}
	return ""
}

// isStandard reports whether a file name denotes the standard stream with this number.
func isStandard(name string, stream int) bool {
	number, ok := output.Descriptor(name)
	return name == "-" || ok && number == stream
}
