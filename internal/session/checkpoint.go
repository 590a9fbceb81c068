package session

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/zeebo/xxh3"

	"github.com/extsort/extsort/chunker/input"
	"github.com/extsort/extsort/chunker/plan"
	"github.com/extsort/extsort/chunker/spill"
	"github.com/extsort/extsort/format"
	"github.com/extsort/extsort/internal/option"
	"github.com/extsort/extsort/merge/output"
)

// checkpointFormat changes with the files of a checkpoint, and with the codecs of spill.
const checkpointFormat = 3

// validateCheckpoint reports what cannot be combined together with a checkpoint.
func (o *Options) validateCheckpoint() error {
	if o.Checkpoint == "" {
		return nil
	}
	_, redirected := output.Descriptor(o.Output)
	strategy := o.Strategy.Properties()
	switch {
	case o.toStdout() || redirected:
		return fmt.Errorf("checkpoint: needs an output file (%v)", option.Output)
	case slices.ContainsFunc(o.sources(), isOnce):
		return errors.New("checkpoint: needs input files, since standard input cannot be read again")
	case slices.ContainsFunc(o.sources(), func(s input.Source) bool { return s.At != nil && s.Version == "" }):
		return fmt.Errorf("checkpoint: each of %v that implements At needs a Version", option.Sources)
	case len(o.TempDirs) > 0:
		return fmt.Errorf("checkpoint: also holds the temporary data: leave %v out", option.TempDirs)
	case strategy.Requestable && !strategy.Resumable:
		return fmt.Errorf("checkpoint: works with strategy merge only, not with strategy %s", o.Strategy)
	}
	return nil
}

// isOnce reports whether a source cannot be read again.
func isOnce(s input.Source) bool { return s.IsStdin() || s.Reader != nil }

// openCheckpoint opens the checkpoint that is asked for.
func (s *session) openCheckpoint(ctx context.Context, readOnly bool) error {
	if s.opt.Checkpoint == "" {
		return nil
	}
	if !outputOf(&s.opt).File {
		return fmt.Errorf("checkpoint: output %s is not a regular file and cannot be rewritten", s.opt.Output)
	}
	kept, err := spill.OpenCheckpoint(ctx, s.opt.Checkpoint, readOnly)
	if err != nil {
		return err
	}
	s.run.Kept, s.run.Store = kept, kept
	return nil
}

// identify makes sure that the checkpoint is of this sort, that the inputs can be read again where more is to be done,
// and enters into the facts what it has.
func (s *session) identify(f *plan.Facts) error {
	if s.run.Kept == nil {
		return nil
	}
	err := s.run.Kept.Identify(s.opt.identity(f, s.run.Input.Files), s.opt.Output)
	if f.Kept = s.run.Kept.State(); f.Kept.Complete {
		s.run.Plan = &SortPlan{Checkpoint: f.Kept} // all that is left to be done
		return err
	}
	for _, in := range s.run.Input.Files {
		if err == nil && (!in.Seekable() || in.IsDisk()) {
			err = fmt.Errorf("checkpoint: %s cannot be read at an offset (compressed, in an archive, a pipe, "+
				"or unreadable): write it to a plain file first", in.Name)
		}
	}
	return err
}

// identity is what the bytes of runs and of the output depend on.
func (o *Options) identity(f *plan.Facts, files []*input.Input) spill.Identity {
	out, _ := filepath.Abs(o.Output)                          // without a working folder it cannot be opened
	codec, _ := format.ParseCompression(o.Compress, o.Output) // which validate has seen
	id := spill.Identity{
		{"the format of checkpoints", strconv.Itoa(checkpointFormat)},
		{"the layout", f.Keyer.Layout().String()},
		{string(option.Format), cmp.Or(o.Record.Format, "none")},
		{string(option.Unique), strconv.FormatBool(o.Unique)},
		{"what is kept of equal keys", strings.TrimSpace(fmt.Sprintln(o.Keep, o.Count, o.Duplicates))},
		{string(option.Argsort), cmp.Or(o.Argsort, "none")},
		{"the shuffle", fmt.Sprint(o.Shuffle, o.Seed)},
		{"the split", fmt.Sprint(o.SplitFiles, o.SplitBytes)},
		{string(option.NaN), cmp.Or(o.Record.NaN, "total")},
		{string(option.Float), cmp.Or(o.Record.Float, "total")},
		{string(option.Part), o.Part.String()},
		{string(option.Limit), strconv.FormatInt(o.Limit, 10)},
		{string(option.SkipBytes), strconv.FormatInt(o.SkipBytes, 10)},
		{string(option.Records), strconv.FormatInt(o.Records, 10)},
		{string(option.SkipTail), strconv.FormatInt(o.SkipTail, 10)},
		{string(option.KeepHeader), strconv.FormatBool(o.KeepHeader)},
		{string(option.Verify), strconv.FormatBool(o.Verify)},
		{"the output", out},
		{"its compression", codec.String()},
		{"the number of inputs", strconv.Itoa(len(files))},
	}
	for _, in := range files {
		id = append(id, [2]string{"input " + in.Name, in.Identity()})
	}
	hash := xxh3.New()
	for _, key := range f.Sample.Prefixes {
		fmt.Fprintln(hash, key)
	}
	return append(id, [2]string{"the sample of keys", fmt.Sprintf("%016x", hash.Sum64())})
}
