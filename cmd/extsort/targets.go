package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/extsort/extsort/format"
	"github.com/extsort/extsort/internal/filename"
	"github.com/extsort/extsort/merge/output"
)

// A place is a file that a command reads or writes. The user gives its name, or it is an open
// standard stream.
type place struct {
	role     string // such as "an input"
	name     string
	stream   any  // a.stdin or a.stdout; nil: name is the file
	isSet    bool // the file is split: several files have names derived from it
	isFolder bool // name is a directory, and the place is any file in it
}

// inputPlace returns the place of an input.
func inputPlace(a *app, name string) place {
	p := place{role: "an input", name: name}
	if isStandard(name, 0) {
		p.stream = a.stdin
	}
	return p
}

// A sideFile is a file that a command writes in addition to its result: a report or a plot. It is
// opened before the work begins, so that mistakes are found immediately. It appears under its name
// only when it is complete.
type sideFile struct{ out output.Output }

// openSide opens the file that a flag names. It rejects a file that the command reads or uses for
// another output.
func openSide(
	ctx context.Context, flag, name string, taken ...place,
) (*sideFile, error) {
	if err := checkSide(flag, name, taken...); err != nil {
		return nil, err
	}
	out, err := output.Open(ctx, name, output.FileOptions{})
	if err != nil {
		return nil, fmt.Errorf("%s: %w", flag, err)
	}
	return &sideFile{out}, nil
}

// checkSide makes the checks of openSide without opening the file.
func checkSide(flag, name string, taken ...place) error {
	for _, p := range taken {
		if p.isFile(name) {
			return fmt.Errorf(
				"%s: %s is also %s: name another file", flag, name, p.role,
			)
		}
	}
	return nil
}

// write writes the file and renames it into place. After an error, the name is missing or refers
// to the old file.
func (s *sideFile) write(
	ctx context.Context, write func(io.Writer) error,
) error {
	out := s.out
	s.out = nil
	if err := write(out); err != nil {
		return errors.Join(err, out.Abort())
	}
	return out.Commit(ctx, -1)
}

// discard discards the file unless write has completed it. s may be nil.
func (s *sideFile) discard() {
	if s == nil || s.out == nil {
		return
	}
	_ = s.out.Abort() // the file contains nothing of value
	s.out = nil
}

// isFile reports whether a name denotes the file of the place. Terminals and /dev/null may be
// used more than once.
func (p place) isFile(name string) bool {
	switch {
	case p.isFolder:
		return filename.IsWithin(name, p.name)
	case p.isSet:
		return inSet(name, p.name)
	case p.stream == nil:
		return filename.SameFile(p.name, name)
	}
	stream, ok := p.stream.(*os.File)
	if !ok {
		return false
	}
	open, err := stream.Stat()
	there, missing := os.Stat(name)
	return err == nil && missing == nil && filename.SameOpened(open, there)
}

// inSet reports whether a name denotes a file of the set that --split makes of an output:
// OUTPUT.000, OUTPUT.001 and so on, or OUTPUT.index.
func inSet(name, of string) bool {
	stem := strings.TrimSuffix(of, compressedSuffix(of))
	real := filename.Real(name)
	stem = filename.Real(stem)
	if !filename.Same(filepath.Dir(real), filepath.Dir(stem)) {
		return false
	}
	prefix := filepath.Base(stem) + "."
	base := filepath.Base(real)
	if len(base) <= len(prefix) || !filename.Same(base[:len(prefix)], prefix) {
		return false
	}
	rest := strings.TrimSuffix(base[len(prefix):], compressedSuffix(base))
	return rest == "index" ||
		len(rest) >= 3 && strings.Trim(rest, "0123456789") == ""
}

// compressedSuffix returns the suffix of a name that selects a compression, or "".
func compressedSuffix(name string) string {
	codec, _ := format.ParseCompression("", name)
	if codec == format.None {
		return ""
	}
	return filepath.Ext(name)
}
