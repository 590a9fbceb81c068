package dist

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"syscall"

	"github.com/extsort/extsort"
	"github.com/extsort/extsort/device"
	"github.com/extsort/extsort/format"
)

// Run sorts the slices of a share, each into a run.
func (w *Worker) Run(ctx context.Context, s Share) error { return w.each(ctx, runs, s, w.run) }

// run sorts slice k. Inputs that changed before or meanwhile are refused: other runs have other records of them.
func (w *Worker) run(ctx context.Context, k int) (*Record, error) {
	p := w.Plan
	if err := p.checkInputs(); err != nil {
		return nil, err
	}
	from, to := Share{k, p.Runs}.of(p.Records)
	slice, err := p.openSlice(from, to)
	if err != nil {
		return nil, err
	}
	defer slice.Close()
	opt := w.Options
	opt.Record, opt.Reverse, opt.Raw = p.Record, p.Reverse, p.Record.Format == ""
	opt.Stdin, opt.Output, opt.Verify = slice, p.runFile(k), true
	report, err := extsort.Sort(ctx, opt)
	if err == nil {
		err = p.checkInputs()
	}
	if err != nil {
		return nil, classed(err, syscall.ENOSPC, syscall.EDQUOT)
	}
	if report.RecordsOut != to-from {
		return nil, fmt.Errorf("%d records were sorted, but the slice has %d", report.RecordsOut, to-from)
	}
	r := &Record{File: p.runFile(k), Records: to - from, Bytes: (to - from) * int64(p.RecordBytes)}
	return r, setChecksum(&r.Checksum, report.ChecksumOut)
}

// setChecksum reads the digits of a report, which has no leading zeros.
func setChecksum(c *format.Checksum, digits string) error {
	return c.UnmarshalText([]byte(strings.Repeat("0", 32-len(digits)) + digits))
}

// slice are the inputs that records [from, to) are in, opened, and these records of them one after the other.
type slice struct {
	io.Reader
	files []*os.File
}

func (p *Plan) openSlice(from, to int64) (*slice, error) {
	s, size := &slice{}, int64(p.RecordBytes)
	var pieces []io.Reader
	first := int64(0) // record of f
	for _, f := range p.Inputs {
		at, end := max(from, first)-first, min(to, first+f.Records)-first
		if first += f.Records; at >= end {
			continue
		}
		file, err := os.Open(f.Name)
		if err != nil {
			return nil, errors.Join(fmt.Errorf("%s: %w", f.Name, device.WithoutPath(err)), s.Close())
		}
		s.files = append(s.files, file)
		pieces = append(pieces, io.NewSectionReader(file, at*size, (end-at)*size))
	}
	s.Reader = io.MultiReader(pieces...)
	return s, nil
}

func (s *slice) Close() error {
	for _, file := range s.files {
		file.Close() // which was only read
	}
	return nil
}
