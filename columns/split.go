package columns

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/extsort/extsort"
)

// A splitter divides the sorted rows into several files. Rows with equal keys are in the same file.
type splitter struct {
	layout   *layout
	refiner  *refiner // compares keys of variable width; nil: the keys have fixed width
	maxRows  int64    // 0: see maxBytes
	maxBytes int64    // of the rows in memory

	rows  int64 // of the current file
	bytes int64
	last  []byte
}

// isDue reports whether the row begins a new file, and counts it.
func (s *splitter) isDue(row []byte) bool {
	isFull := s.rows > 0 && (s.maxRows > 0 && s.rows >= s.maxRows || s.maxBytes > 0 && s.bytes >= s.maxBytes)
	isDue := isFull && !s.sameKeys(row)
	if isDue {
		s.rows = 0
		s.bytes = 0
	}
	s.rows++
	s.bytes += int64(len(row) + s.layout.savedBytes)
	s.last = append(s.last[:0], row...)
	return isDue
}

// sameKeys reports whether a row has the keys of the row before.
func (s *splitter) sameKeys(row []byte) bool {
	if s.refiner != nil && len(s.layout.computed) == 0 {
		return s.refiner.sameKeys(s.last, row)
	}
	n := s.layout.keyBytes
	return bytes.Equal(s.last[:n], row[:n])
}

// newSplitter returns a splitter for the options, or nil.
func newSplitter(opt Options, l *layout, rows int64) (*splitter, error) {
	switch {
	case opt.SplitFiles == 0 && opt.SplitBytes == 0:
		return nil, nil
	case opt.Output == "":
		return nil, errors.New("Options.SplitFiles needs Options.Output, the name from which the files get theirs")
	case opt.SplitFiles > 0 && rows < 0:
		return nil, errors.New("the number of rows of Arrow data is not known: split by a size, such as 1G")
	}
	s := &splitter{layout: l, maxBytes: opt.SplitBytes}
	if n := int64(opt.SplitFiles); n > 0 {
		if opt.Limit != 0 {
			rows = min(rows, max(opt.Limit, 0))
		}
		s.maxRows = max((rows+n-1)/n, 1)
	}
	return s, nil
}

// A splitTarget is an output that consists of several files. Commit completes one after another, so after an error
// in Commit, the first files may exist and the others not.
type splitTarget struct {
	extsort.Sink // the current file

	opt   Options
	files []extsort.Sink
}

// next starts the next file.
func (t *splitTarget) next(ctx context.Context) error {
	one := t.opt
	one.Output = partName(t.opt.Output, len(t.files))
	file, err := newTarget(ctx, one)
	if err != nil {
		return err
	}
	t.files = append(t.files, file)
	t.Sink = file
	return nil
}

// partName returns the name of a file: out.000.parquet for out.parquet.
func partName(name string, index int) string {
	suffix := filepath.Ext(name)
	return fmt.Sprintf("%s.%03d%s", strings.TrimSuffix(name, suffix), index, suffix)
}

// Commit completes all files.
func (t *splitTarget) Commit(ctx context.Context) error {
	if err := checkOldParts(t.opt.Output, len(t.files)); err != nil {
		return err
	}
	for _, file := range t.files {
		if err := file.Commit(ctx); err != nil {
			return err
		}
	}
	return nil
}

// Abort discards all files that are not complete.
func (t *splitTarget) Abort() (err error) {
	for _, file := range t.files {
		err = errors.Join(err, file.Abort())
	}
	return err
}
