package output

import (
	"fmt"
	"io"
	"os"

	"github.com/extsort/extsort/device"
	"github.com/extsort/extsort/format"
	"github.com/extsort/extsort/internal/human"
)

// oldContent protects the data that a stream overwrites.
type oldContent interface {
	// begin is called before each write. It returns an error if the output may not be written.
	begin() error

	// finish is called when the output has been written completely.
	finish() error
}

// nothing is the oldContent of a stream that overwrites no input.
type noOldContent struct{}

func (noOldContent) begin() error { return nil }

func (noOldContent) finish() error { return nil }

// An overwrite is the oldContent of a stream that overwrites a file which is also an input. The
// file stays intact until the whole input has been read and there is space for the output.
type overwrite struct {
	ops       operations
	to        io.Writer
	name      string                      // of the file; for messages
	allow     func(now os.FileInfo) error // Options.InPlace
	mostBytes func() int64                // maximum size of the output; at most 0 if not known
	allowed   bool                        // begin has succeeded
	reserved  bool                        // the file may have reserved space after its end
}

func newOverwrite(to io.Writer, opt Options) *overwrite {
	o := &overwrite{
		ops:       newOperations(opt.Fault),
		to:        to,
		name:      opt.Overwrites,
		allow:     opt.InPlace,
		mostBytes: opt.mostBytes,
	}
	if opt.Compression != format.None {
		o.mostBytes = func() int64 { return -1 }
	}
	return o
}

// begin checks, once, that the output may be written.
func (o *overwrite) begin() error {
	if o.allowed {
		return nil
	}
	var now os.FileInfo
	if file := fileOf(o.to); file != nil {
		var err error
		if now, err = file.Stat(); err != nil {
			return device.WithoutPath(err)
		}
	}
	if err := o.allow(now); err != nil {
		return err
	}
	if err := o.reserveGrowth(now); err != nil {
		return err
	}
	o.allowed = true
	return nil
}

// reserveGrowth reserves the space that the output needs beyond the file it overwrites, including
// the holes of that file. If the disk became full during the write, neither the old nor the new
// content would be complete.
func (o *overwrite) reserveGrowth(now os.FileInfo) error {
	if now == nil || !now.Mode().IsRegular() {
		return nil
	}
	bytes := o.mostBytes()
	if bytes <= 0 {
		return nil
	}
	file := fileOf(o.to)
	from := now.Size()
	if !appends(file) {
		var err error
		if from, err = file.Seek(0, io.SeekCurrent); err != nil {
			return device.WithoutPath(err)
		}
	}

	err := o.ops.perform("reserve growth", func() error {
		if err := checkSizeLimit(from + bytes); err != nil {
			return err
		}
		o.reserved = true
		return reserveInPlace(file, now, from, bytes)
	})
	if err != nil {
		return fmt.Errorf("%s is unchanged: an output of %s does not fit over it: %w", o.name,
			human.Bytes(bytes), device.WithoutPath(err))
	}
	return nil
}

// finish truncates an old file after the output that was written over it. Otherwise a shorter
// output would end with old records, or with garbage after a compressed stream.
func (o *overwrite) finish() error {
	if err := o.begin(); err != nil { // in case nothing was written
		return err
	}
	file := fileOf(o.to)
	if file == nil || appends(file) && !o.reserved {
		return nil
	}
	info, err := file.Stat()
	if err != nil || !info.Mode().IsRegular() {
		return device.WithoutPath(err)
	}
	end := info.Size()
	if !appends(file) {
		end, err = file.Seek(0, io.SeekCurrent)
	}
	if err == nil && (end < info.Size() || o.reserved) {
		err = file.Truncate(end)
	}
	if err != nil {
		return fmt.Errorf(
			"truncate %s to %d bytes: %w", file.Name(), end, device.WithoutPath(err),
		)
	}
	return nil
}
