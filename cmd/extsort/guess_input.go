package main

import (
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/extsort/extsort/device"
	"github.com/extsort/extsort/format"
	"github.com/extsort/extsort/internal/columnhelper"
)

// guessFormat sets the format if no flag describes the records and the inputs begin like NumPy
// arrays or archives. With such a format, -k refers to fields by name.
func (f *sortFlags) guessFormat(files []string) {
	r := &f.opt.Record
	open := r.Type+r.Format+r.Fields == "" && r.RecordSize == 0 && !f.opt.Raw &&
		f.opt.SkipBytes == 0
	if !open || len(files) == 0 {
		return
	}
	if c, ok := format.ByMagic(beginning(files[0])); ok {
		r.Format = c.Name
	}
}

// checkFirstInput returns an error if no flag describes the records, and the first input, which
// may describe them, cannot be opened.
func (f *sortFlags) checkFirstInput(files []string) error {
	r := &f.opt.Record
	isDescribed := r.Type+r.Format+r.Fields != "" || r.RecordSize != 0
	if isDescribed || len(files) == 0 {
		return nil
	}
	name := files[0]
	if isStandard(name, 0) || strings.Contains(name, "://") {
		return nil
	}
	info, err := os.Stat(name)
	if err != nil {
		return fmt.Errorf("%s: %w", name, device.WithoutPath(err))
	}
	if kind := columnhelper.KindOf(name); kind != "" {
		return fmt.Errorf("%s: is %s, which works only with a sort, -c, plan, info, print, find, union, intersect, "+
			"subtract and join", name, kind)
	}
	if info.IsDir() {
		return fmt.Errorf("%s: is a directory", name)
	}
	if !info.Mode().IsRegular() {
		return nil
	}
	file, err := os.Open(name)
	if err != nil {
		return fmt.Errorf("%s: %w", name, device.WithoutPath(err))
	}
	return file.Close()
}

// beginning returns the first bytes of a file. It skips pipes, because reading would consume the
// bytes.
func beginning(name string) []byte {
	info, err := os.Stat(name)
	if err != nil || !info.Mode().IsRegular() {
		return nil
	}
	file, err := os.Open(name)
	if err != nil {
		return nil
	}
	defer file.Close()
	first := make([]byte, format.DetectBytes)
	n, _ := io.ReadFull(file, first) // any error will recur when the file is opened again
	return first[:n]
}
