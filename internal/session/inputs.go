package session

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os"

	"github.com/extsort/extsort/chunker"
	"github.com/extsort/extsort/chunker/input"
	"github.com/extsort/extsort/format"
	"github.com/extsort/extsort/internal/engine"
	"github.com/extsort/extsort/internal/option"
	"github.com/extsort/extsort/internal/remote"
	"github.com/extsort/extsort/merge/output"
)

// windowShare limits the zstd window of an input to 1/windowShare of the memory limit. Windows of
// the common size are always accepted.
const windowShare = 4

// openInputs opens the inputs and determines the layout of a record.
//
// With unpack, all records are about to be read, so inputs whose decompressors exceed the memory
// limit are decompressed to temporary files first. The temporary files must stay open as long as
// the inputs.
func openInputs(ctx context.Context, opt *Options, meter *engine.Meter, unpack bool) (
	in *engine.Input, temporary *unpacked, err error) {
	sources := opt.sources()
	windowBytes := max(opt.MemoryBytes/windowShare, format.CommonWindow)
	kind := input.Kind{
		Spec:        opt.Record,
		Recognition: opt.recognition(),
		Frame:       input.Frame{Skip: opt.SkipBytes, Records: opt.Records, Tail: opt.SkipTail, Keep: opt.KeepHeader},
	}
	files, err := openFiles(ctx, opt, kind, sources, windowBytes)
	if err != nil {
		return nil, nil, err
	}
	temporary = &unpacked{}
	defer func() {
		if err != nil {
			err = errors.Join(err, temporary.Close())
		}
	}()

	markReplaced(opt, files, sources)
	for _, file := range files {
		for _, message := range file.TakeWarnings() {
			opt.Warn(message)
		}
	}

	err = checkWindows(opt, files, windowBytes)
	if err == nil && unpack {
		temporary, err = unpackInputs(ctx, opt, meter, files)
	}
	if err == nil {
		in, err = inputOf(ctx, opt, files, meter)
	}
	if err == nil {
		err = opt.setAggregation(in)
	}
	if err != nil {
		for _, file := range files {
			err = errors.Join(err, file.Close())
		}
	}
	return in, temporary, err
}

// openFiles opens the sources, unless one of them is part of a set that is incomplete.
func openFiles(
	ctx context.Context, opt *Options, kind input.Kind, sources []input.Source, windowBytes int64,
) ([]*input.Input, error) {
	for _, source := range sources {
		if isReadOnce(source) || remote.IsURL(source.Name) {
			continue
		}
		if err := output.CheckInput(source.Name); err != nil {
			return nil, err
		}
	}
	return input.Open(ctx, kind, sources, opt.Stdin, windowBytes)
}

// inputOf returns the records of opened files as the sort reads them: the requested slice, with the
// requested order, and transformed if the options require it.
func inputOf(ctx context.Context, opt *Options, files []*input.Input, meter *engine.Meter) (*engine.Input, error) {
	if err := opt.computed.bind(files[0].Header, opt.KeepKey); err != nil {
		return nil, err
	}
	transforms, layout, err := opt.transforms(files[0].Header.Layout())
	if err != nil {
		return nil, err
	}
	keyer, err := format.NewKeyer(layout)
	if err != nil {
		return nil, err
	}
	before, err := opt.restrict(ctx, files, keyer)
	if err != nil {
		return nil, err
	}

	data := chunker.NewDataset(files)
	if wrap := opt.faults.wrapDataset; wrap != nil {
		data = wrap(data)
	}
	if err := opt.computed.observe(ctx, opt, files, data); err != nil {
		return nil, err
	}
	for _, transform := range transforms {
		if err := checkPositions(transform, before+data.Records()); err != nil {
			return nil, err
		}
		data = chunker.Transformed(data, transform, before)
	}
	in := engine.NewInput(files, keyer, data, meter)
	in.Before = before
	in.Summed = opt.Verify
	return in, nil
}

// checkPositions returns an error if there are more records than a transformation can number.
func checkPositions(transform *chunker.Transform, records int64) error {
	if most := transform.MaxRecords; most > 0 && records > most {
		return fmt.Errorf(
			"there are %d records, but positions of type u32 can number only %d: use u64",
			records, most,
		)
	}
	return nil
}

// checkWindows returns an error if an input needs a larger window than windowBytes. The error names
// a sufficient memory limit.
func checkWindows(opt *Options, files []*input.Input, windowBytes int64) error {
	for _, in := range files {
		if in.WindowBytes <= windowBytes {
			continue
		}
		text := fmt.Sprintf("input %s needs a window of more than %d MiB: decompress it first, or raise %v",
			in.Name, windowBytes>>20, option.MemoryBytes)
		e := &MemoryError{Limit: opt.MemoryBytes, Text: text}
		if in.WindowBytes < math.MaxInt64/(2*windowShare) {
			e.Least = windowShare * in.WindowBytes
			e.Text += fmt.Sprintf(" to at least %d MiB", (e.Least-1)>>20+1)
		}
		return e
	}
	return nil
}

// markReplaced marks the inputs that are also the output. If the output is a descriptor or a disk,
// the sort overwrites such an input in place.
func markReplaced(opt *Options, files []*input.Input, sources []input.Source) {
	out, inPlace, err := existingOutput(opt)
	if err != nil {
		return
	}
	for i, opened := range files {
		in, missing := sources[i].Stat(opt.Stdin)
		opened.Replaced = missing == nil && input.SameContent(out, in)
		opened.Overwritten = opened.Replaced && inPlace
	}
}

// existingOutput describes the file that the output replaces. inPlace reports whether the output
// overwrites its content.
func existingOutput(o *Options) (file os.FileInfo, inPlace bool, err error) {
	if o.toStdout() {
		file, err = input.Stat(o.Stdout)
		return file, true, err
	}
	_, redirected := output.Descriptor(o.Output)
	file, err = os.Stat(o.Output)
	return file, err == nil && (redirected || !file.Mode().IsRegular()), err
}
