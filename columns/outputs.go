package columns

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// checkTarget returns an error if the output is an input that it must not replace: rows that are found or printed are
// not all rows, and standard output does not replace a file but overwrites its beginning.
func (t *table) checkTarget(opt Options, mayReplace bool) error {
	var out os.FileInfo
	var err error
	stream, isFile := opt.Stdout.(*os.File)
	switch {
	case opt.Output != "" && !mayReplace:
		out, err = os.Stat(opt.Output)
	case opt.Output == "" && isFile:
		out, err = stream.Stat()
	}
	if out == nil || err != nil || !out.Mode().IsRegular() {
		return nil // opening the output reports an error
	}
	for _, in := range t.inputs {
		before := in.stat()
		switch {
		case before == nil || !os.SameFile(out, before):
		case opt.Output != "":
			return fmt.Errorf("Options.Output %s: is also an input: name another file", opt.Output)
		default:
			return fmt.Errorf("%s: is also standard output: use Options.Output", in.label())
		}
	}
	return nil
}

// checkPartitions returns an error if the names of directories contain values of a column that the files lack, as in
// year=2026/part.parquet: the output would lose them. Files that are named are accepted.
func (t *table) checkPartitions(names []string) error {
	for _, folder := range names {
		info, err := os.Stat(folder)
		if err != nil || !info.IsDir() {
			continue // opening the files has reported errors
		}
		for _, in := range t.inputs {
			path, err := filepath.Rel(folder, filepath.Dir(in.label()))
			if err != nil || !filepath.IsLocal(path) {
				continue
			}
			if column := partitionOf(path, in.columns()); column != "" {
				return fmt.Errorf("%s: the name of its directory contains the column %s, which the output would lack: "+
					"name files or a pattern to accept this", in.label(), column)
			}
		}
	}
	return nil
}

// partitionOf returns the first name in the elements NAME=VALUE of a path that is not the name of a column, or "".
func partitionOf(path string, columns []*column) string {
	for element := range strings.SplitSeq(filepath.ToSlash(path), "/") {
		name, _, isPartition := strings.Cut(element, "=")
		if isPartition && !isTaken(columns, name) {
			return name
		}
	}
	return ""
}

// checkOldParts returns an error if the name of an output of several files has files from an earlier output that are
// not among the first count ones: whoever reads all files would read their rows, too.
func checkOldParts(output string, count int) error {
	folder := filepath.Dir(output)
	entries, err := os.ReadDir(folder)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("%s: %w", folder, withoutPath(err))
	}
	suffix := filepath.Ext(output)
	stem := strings.TrimSuffix(filepath.Base(output), suffix) + "."
	for _, entry := range entries {
		rest, hasStem := strings.CutPrefix(entry.Name(), stem)
		digits, hasSuffix := strings.CutSuffix(rest, suffix)
		index, err := strconv.Atoi(digits)
		isPart := hasStem && hasSuffix && err == nil && filepath.Base(partName(output, index)) == entry.Name()
		if isPart && index >= count {
			return fmt.Errorf("%s exists, but the output has only %d files: remove it, or name another output",
				filepath.Join(folder, entry.Name()), count)
		}
	}
	return nil
}
