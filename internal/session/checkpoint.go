package session

import (
	"cmp"
	"context"
	"fmt"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/zeebo/xxh3"

	"github.com/extsort/extsort/chunker/input"
	"github.com/extsort/extsort/chunker/plan"
	"github.com/extsort/extsort/chunker/spill"
	"github.com/extsort/extsort/format"
	"github.com/extsort/extsort/internal/option"
)

// checkpointFormat is the version of the files in a checkpoint, which includes the codecs of runs.
// After a change, older checkpoints are rejected like checkpoints of another sort.
const checkpointFormat = 6

// openCheckpoint opens the checkpoint that the options name, if any. With readOnly, it changes
// nothing on disk.
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
	s.run.Checkpoint = kept
	s.run.Store = kept
	return nil
}

// identify checks that the checkpoint belongs to this sort, and returns its state, or nil if there
// is no checkpoint. If work remains, the inputs must be readable at any offset.
func (s *session) identify(f *plan.Facts) (*plan.Checkpoint, error) {
	if s.run.Checkpoint == nil {
		return nil, nil
	}
	err := s.run.Checkpoint.Identify(s.opt.identity(f, s.run.Input.Files), s.opt.Output)
	state := s.run.Checkpoint.State()
	if err != nil || state.Complete {
		return state, err
	}
	for _, in := range s.run.Input.Files {
		if !in.Seekable() || in.IsDisk() {
			return nil, fmt.Errorf("checkpoint: %s cannot be read at an offset (compressed, in an archive, a pipe, "+
				"or unreadable): write it to a plain file first", in.Name)
		}
	}
	return state, nil
}

// identity returns everything that determines the bytes of the runs and of the output.
func (o *Options) identity(f *plan.Facts, files []*input.Input) spill.Identity {
	// validate has parsed the codec. Abs fails only without a working directory; opening the
	// output then fails, too.
	out, _ := filepath.Abs(o.Output)
	codec, _ := format.ParseCompression(o.Compress, o.Output)
	id := spill.Identity{
		{"the format of checkpoints", strconv.Itoa(checkpointFormat)},
		{"the layout", f.Keyer.Layout().String()},
		{string(option.Format), cmp.Or(o.Record.Format, "none")},
		{string(option.Sum), fieldsText(o.Sum)},
		{string(option.Min), fieldsText(o.Min)},
		{string(option.Max), fieldsText(o.Max)},
		{string(option.First), fieldsText(o.First)},
		{string(option.Last), fieldsText(o.Last)},
		{"the place or type of a combined field", o.aggregation.String()},
		{string(option.Unique), strconv.FormatBool(o.Unique)},
		{string(option.Keep), cmp.Or(o.Keep, "first")},
		{string(option.Count), strconv.FormatBool(o.Count)},
		{string(option.Duplicates), strconv.FormatBool(o.Duplicates)},
		{string(option.Argsort), cmp.Or(o.Argsort, "none")},
		{"the shuffle", o.shuffleText()},
		{"the computed keys", o.computed.program.String()},
		{string(option.KeepKey), cmp.Or(o.KeepKey, notGiven)},
		{"the split", o.splitText()},
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

// notGiven describes an option without a value. A field cannot have this text, because fieldsText
// quotes blanks.
const notGiven = "not given"

// fieldsText describes the values of an option such as Sum. Different values have different texts.
func fieldsText(fields []string) string {
	if len(fields) == 0 {
		return notGiven
	}
	texts := make([]string, len(fields))
	for i, field := range fields {
		texts[i] = field
		if strings.ContainsAny(field, " ,\"\\") {
			texts[i] = strconv.Quote(field)
		}
	}
	return strings.Join(texts, ", ")
}

// shuffleText describes the options Shuffle and Seed.
func (o *Options) shuffleText() string {
	if !o.Shuffle {
		return notGiven
	}
	return fmt.Sprintf("by seed %d", o.Seed)
}

// splitText describes the files of the output.
func (o *Options) splitText() string {
	switch {
	case o.SplitFiles > 0:
		return fmt.Sprintf("into %d files", o.SplitFiles)
	case o.SplitBytes > 0:
		return fmt.Sprintf("into files of %d bytes", o.SplitBytes)
	}
	return notGiven
}
