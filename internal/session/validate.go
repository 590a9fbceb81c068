package session

import (
	"errors"
	"fmt"
	"slices"

	"github.com/dustin/go-humanize/english"

	"github.com/extsort/extsort/chunker/input"
	"github.com/extsort/extsort/chunker/plan"
	"github.com/extsort/extsort/format"
	"github.com/extsort/extsort/internal/filename"
	"github.com/extsort/extsort/internal/human"
	"github.com/extsort/extsort/internal/option"
	"github.com/extsort/extsort/merge/output"
)

// problems collects the errors in the options of a call.
type problems struct{ errs []error }

// add adds an error, which may be nil.
func (p *problems) add(err error) { p.errs = append(p.errs, err) }

// check adds an error about field unless ok is true. The message follows the name of the field;
// "" means no field.
func (p *problems) check(ok bool, field option.Field, format string, args ...any) {
	if !ok {
		p.add(option.Errorf(field, format, args...))
	}
}

// require adds an error about field unless ok. The message does not begin with the name of the
// field.
func (p *problems) require(ok bool, field option.Field, format string, args ...any) {
	if !ok {
		p.add(&option.Error{Field: field, Text: fmt.Sprintf(format, args...)})
	}
}

// Validate returns all errors in the options at once. Every call also validates its options itself.
func (o Options) Validate() error {
	if err := o.describe(); err != nil {
		return err
	}
	return o.validate()
}

// validate returns all errors in the options at once.
func (o *Options) validate() error {
	var p problems
	p.add(o.Record.Validate())
	p.add(o.recognition().Validate(o.Record))
	o.validatePart(&p)
	_, err := format.ParseCompression(o.Compress, o.Output)
	p.add(err)
	o.validateStrategy(&p)
	p.check(o.Limit >= NoRecords, option.Limit, " %d: must be at least 1", o.Limit)
	o.validateFrame(&p)
	o.validateResources(&p)
	o.validateSelection(&p)
	o.validateTransform(&p)
	o.computed.validate(o, &p)
	o.validateSplit(&p)
	if o.Checkpoint != "" {
		o.validateCheckpoint(&p)
	}
	return errors.Join(p.errs...)
}

// validateStrategy checks the names of the strategy and of the compression of temporary data.
func (o *Options) validateStrategy(p *problems) {
	strategies := plan.Requestable()
	p.check(o.Strategy == "" || slices.Contains(strategies, string(o.Strategy)), option.Strategy,
		" %q: use %s", o.Strategy, english.WordSeries(strategies, "or"))

	codecs := plan.SpillCodecNames()
	p.check(o.SpillCompress == "" || slices.Contains(codecs, o.SpillCompress), option.SpillCompress,
		" %q: use %s", o.SpillCompress, english.WordSeries(codecs, "or"))
}

// validateFrame checks the options for the bytes before and after the records.
func (o *Options) validateFrame(p *problems) {
	p.check(o.SkipBytes >= 0, option.SkipBytes, " %d: must not be negative", o.SkipBytes)
	p.check(o.SkipTail >= 0, option.SkipTail, " %d: must not be negative", o.SkipTail)
	p.check(o.Records >= NoRecords, option.Records, " %d: must not be negative", o.Records)

	container := o.Record.Container()
	p.check(o.Records == 0 || !container.IsArchive, option.Records,
		": the archive (%v %s) already gives the number of records: leave it out", option.Format, o.Record.Format)
	p.check(o.Records == 0 || !container.HasCount || container.IsArchive, option.Records,
		": %v %s says how many records there are: use %v for bytes after them", option.Format, o.Record.Format,
		option.SkipTail)
	p.check(o.SkipTail == 0 || !container.IsArchive, option.SkipTail, ": an archive (%v %s) has no tail",
		option.Format, o.Record.Format)
	p.check(o.SkipBytes == 0 || !container.IsArchive, option.SkipBytes,
		": an array of an archive (%v %s) begins with its own header", option.Format, o.Record.Format)

	p.check(!o.KeepHeader || o.SkipBytes > 0 || o.SkipTail > 0 || o.Records != 0, option.KeepHeader,
		": needs %v N (the size of the header), or %v or %v", option.SkipBytes, option.Records, option.SkipTail)
	for _, bytes := range []int64{o.SkipBytes, o.SkipTail} {
		p.check(!o.KeepHeader || bytes <= MaxKeptHeader, option.KeepHeader, ": %d bytes are more than the maximum of %d",
			bytes, MaxKeptHeader)
	}
}

// validateResources checks the limits of memory, threads and devices, and that only one output is
// given.
func (o *Options) validateResources(p *problems) {
	if o.Workers != 0 {
		err := option.CheckWorkers(o.Workers)
		p.check(err == nil, option.Workers, " %v", err)
	}
	p.check(o.BatchSize == 0 || o.BatchSize >= 2, option.BatchSize, " %d: must be at least 2", o.BatchSize)
	if o.MemoryBytes != 0 && o.MemoryBytes < MinMemory {
		remedy := fmt.Sprintf("raise %v to at least %s", option.MemoryBytes, human.Bytes(MinMemory))
		p.add(&MemoryError{Limit: o.MemoryBytes, Least: MinMemory, Text: remedy})
	}
	p.check(o.Sink == nil || o.Output == "" && o.Stdout == nil, option.Sink,
		" is the output: leave Output and Stdout empty")
	p.check(o.DigitBits >= 0, option.DigitBits, " %d: must be at least 1", o.DigitBits)
	p.check(o.DeviceMemory >= 0, option.DeviceMemory, " %d: must not be negative", o.DeviceMemory)
}

// validateSelection checks the options that select records by their keys.
func (o *Options) validateSelection(p *problems) {
	p.check(slices.Contains([]string{"", "first", "last"}, o.Keep), option.Keep, " %q: use first or last", o.Keep)
	p.check(o.Unique || o.Keep == "", option.Keep, ": needs %v, which writes one record of each key", option.Unique)
	p.check(o.Unique || !o.Count, option.Count, ": needs %v, which writes one record of each key", option.Unique)
	aggregates := o.aggregates()
	p.require(o.Unique || aggregates.IsEmpty(), option.Unique, "%v, %v, %v, %v and %v need %v, which writes one "+
		"record of each key", option.Sum, option.Min, option.Max, option.First, option.Last, option.Unique)
	p.add(aggregates.Validate())
	p.check(!o.Unique || !o.Duplicates, option.Unique,
		" and %v cannot be combined: one record of each key, or of those that occur more than once", option.Duplicates)
}

// validateTransform rejects options that conflict with argsort or shuffle.
func (o *Options) validateTransform(p *problems) {
	p.check(o.Argsort == "" || argsortBytes[o.Argsort] > 0, option.Argsort, " %q: use u32 or u64", o.Argsort)
	p.check(o.Argsort == "" || !o.Count && !o.KeepHeader && !o.Verify, option.Argsort,
		" writes only positions: leave %v, %v and %v out", option.Count, option.KeepHeader, option.Verify)

	p.check(o.Argsort == "" || o.aggregates().IsEmpty(), option.Argsort,
		" writes only positions: leave %v, %v, %v, %v and %v out", option.Sum, option.Min, option.Max, option.First,
		option.Last)

	usesKeys := o.Unique || o.Duplicates || o.Argsort != "" || o.Reverse || o.Verify
	p.check(!o.Shuffle || !usesKeys, "",
		"a shuffle ignores keys: it cannot be combined with %v, %v, %v, %v or %v",
		option.Unique, option.Duplicates, option.Argsort, option.Reverse, option.Verify)
}

// validateSplit checks the options that split the output into files.
func (o *Options) validateSplit(p *problems) {
	p.require(o.SplitFiles >= 0 && o.SplitFiles <= MaxSplitFiles && o.SplitBytes >= 0, "",
		"split: must be at least 1, and make no more than %d files", MaxSplitFiles)
	p.require(o.SplitFiles == 0 || o.SplitBytes == 0, "", "split: give a number of files or their size, not both")

	_, redirected := output.Descriptor(o.Output)
	isNamed := !o.toStdout() && !redirected
	p.require(o.split() == output.Split{} || isNamed, option.Output,
		"split: needs a name for its files (%v)", option.Output)
}

// validatePart rejects options that conflict with a part.
func (o *Options) validatePart(p *problems) {
	if err := o.Part.Validate(); err != nil {
		p.require(false, option.Part, "%v", err)
	}
	if o.merge == nil {
		return
	}
	p.require(o.merge.Cuts == nil || int64(len(o.merge.Cuts)) == o.Part.N+1, "",
		"cuts: a merge of %d parts needs %d cuts, but there are %d", o.Part.N, o.Part.N+1, len(o.merge.Cuts))
	p.require(o.Part.N == 0 || o.Limit <= 0 || !o.Unique && !o.Duplicates, option.Part,
		"part and limit cannot be combined with unique or duplicates")
}

// validateCheckpoint rejects options that conflict with a checkpoint.
func (o *Options) validateCheckpoint(p *problems) {
	_, redirected := output.Descriptor(o.Output)
	strategy := o.Strategy.Properties()
	hasNoVersion := func(s input.Source) bool { return s.At != nil && s.Version == "" }

	p.require(!o.toStdout() && !redirected, option.Checkpoint,
		"checkpoint: needs an output file (%v)", option.Output)
	p.require(!slices.ContainsFunc(o.sources(), isReadOnce), option.Checkpoint,
		"checkpoint: needs input files, since standard input cannot be read again")
	p.require(!slices.ContainsFunc(o.sources(), hasNoVersion), option.Checkpoint,
		"checkpoint: each io.ReaderAt of %v needs a Version", option.Sources)
	p.require(len(o.TempDirs) == 0, option.Checkpoint, "checkpoint: also holds the temporary data: leave %v out",
		option.TempDirs)
	p.require(!strategy.Requestable || strategy.Resumable, option.Checkpoint,
		"checkpoint: works with strategy merge only, not with strategy %s", o.Strategy)
	validatePlaces(o, p)
}

// validatePlaces rejects inputs and outputs in the directory of the checkpoint, which is removed at
// the end. The files of a split are in the directory that Output names, even if Output is a link.
func validatePlaces(o *Options, p *problems) {
	const reason = " %s: is in the directory of %v, which is removed at the end: name another %s"
	isWithin := filename.IsWithin(o.Output, o.Checkpoint) || filename.IsWithin(o.Output+".index", o.Checkpoint)
	p.check(o.toStdout() || !isWithin, option.Output, reason, o.Output, option.Checkpoint, "output")

	for _, s := range o.sources() {
		if s.At == nil && !isReadOnce(s) && filename.IsWithin(s.Name, o.Checkpoint) {
			p.require(false, option.Checkpoint,
				"checkpoint: input %s is in its directory %s, which is removed at the end: name another directory",
				s.Name, o.Checkpoint)
			return
		}
	}
}
