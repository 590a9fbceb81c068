package session

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"io"
	"os"
	"slices"

	"github.com/extsort/extsort/chunker"
	"github.com/extsort/extsort/chunker/input"
	"github.com/extsort/extsort/chunker/spill"
	"github.com/extsort/extsort/internal/option"
)

// Plan returns the plan that Sort would follow with these options. It reads a sample of each input
// file and writes nothing. It does not read from pipes, because these bytes would be missing in a
// later sort. A pipe is a FIFO, a Source with a Reader, or standard input unless it is a file. For
// a pipe, the plan assumes random keys in random order.
func Plan(ctx context.Context, opt Options) (*SortPlan, error) {
	opt, err := opt.withoutPipes()
	if err != nil {
		return nil, err
	}
	opt.computed.onlyPlan = true
	s, err := prepare(ctx, opt, true)
	if err != nil {
		return nil, err
	}
	return s.run.Plan, s.close()
}

// PlanFor returns the plan for an input that does not exist yet and has the given number of
// records. It assumes an uncompressed file on a disk, uniformly random keys in random order, and
// enough space for temporary files. It ignores the inputs in opt.
func PlanFor(ctx context.Context, opt Options, records int64) (*SortPlan, error) {
	if records < 0 {
		return nil, fmt.Errorf("plan for %d records: must not be negative", records)
	}
	described := opt
	if err := described.describe(); err != nil {
		return nil, err
	}
	header, err := described.Record.NewHeader()
	if err != nil {
		return nil, err
	}
	imagined := bytes.NewReader(header.Encode(0))
	opt.Inputs = nil
	opt.Sources = []Source{{Name: "the input", At: imagined, Size: imagined.Size(), Version: "none"}}
	opt.Raw = opt.Record.Format == ""
	opt.Decompress = ""
	opt.SkipBytes = 0
	opt.Records = 0
	opt.SkipTail = 0
	opt.KeepHeader = false

	records /= max(opt.Part.N, 1)
	profile, diskOf := machineProfile()
	opt.faults.wrapDataset = func(d chunker.Dataset) chunker.Dataset { return chunker.Placeholder(d, records) }
	opt.faults.readBytes = cmp.Or(diskOf(opt.Output).Fetch, profile.DiskBytes)
	opt.faults.spillStore = spill.UncheckedDisk{}
	return Plan(ctx, opt)
}

// withoutPipes replaces each pipe with a placeholder source that is never read.
func (o Options) withoutPipes() (Options, error) {
	sources := o.sources()
	isPipe := func(s input.Source) bool { return s.IsConsumed(cmp.Or[io.Reader](o.Stdin, os.Stdin)) }
	if !slices.ContainsFunc(sources, isPipe) {
		return o, nil
	}
	if !o.Record.Container().IsPlain {
		return o, fmt.Errorf("a plan cannot read a pipe, which contains the header of %v %s: name a file",
			option.Format, o.Record.Format)
	}

	o.Inputs = nil
	o.Sources = nil
	for _, s := range sources {
		if isPipe(s) {
			s = s.Unread()
		}
		o.Sources = append(o.Sources, s)
	}

	wrap := o.faults.wrapDataset
	o.faults.wrapDataset = func(d chunker.Dataset) chunker.Dataset {
		if wrap != nil {
			d = wrap(d)
		}
		return chunker.Placeholder(d, -1)
	}
	return o, nil
}
