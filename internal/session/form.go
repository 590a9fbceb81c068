package session

import (
	"slices"

	"github.com/extsort/extsort/chunker"
	"github.com/extsort/extsort/format"
	"github.com/extsort/extsort/internal/engine"
	"github.com/extsort/extsort/internal/option"
	"github.com/extsort/extsort/merge/output"
)

// argsortBytes are the kinds of indexes and their sizes.
var argsortBytes = map[string]int{"u32": 4, "u64": 8}

// validateForm reports what cannot be written in place of the records.
func (o *Options) validateForm(check func(ok bool, f option.Field, format string, args ...any)) {
	check(slices.Contains([]string{"", "first", "last"}, o.Keep), option.Keep, " %q: use first or last",
		o.Keep)
	check(o.Unique || o.Keep == "", option.Keep, ": needs %v, which writes one record of each key",
		option.Unique)
	check(o.Unique || !o.Count, option.Count, ": needs %v, which writes one record of each key",
		option.Unique)
	check(!o.Unique || !o.Duplicates, option.Unique, " and %v cannot be combined: one record of each "+
		"key, or of those that occur more than once", option.Duplicates)
	check(o.Argsort == "" || argsortBytes[o.Argsort] > 0, option.Argsort, " %q: use u32 or u64", o.Argsort)
	check(o.Argsort == "" || !o.Count && !o.KeepHeader && !o.Verify, option.Argsort, " writes bare "+
		"indexes: leave %v, %v and %v out", option.Count, option.KeepHeader, option.Verify)
	check(!o.Shuffle || !o.Unique && !o.Duplicates && o.Argsort == "" && !o.Reverse && !o.Verify, "",
		"a shuffle ignores keys: it cannot be combined with %v, %v, %v, %v or %v", option.Unique,
		option.Duplicates, option.Argsort, option.Reverse, option.Verify)
	_, redirected := output.Descriptor(o.Output)
	check(o.SplitFiles >= 0 && o.SplitFiles <= MaxSplitFiles && o.SplitBytes >= 0, "",
		"split: must be at least 1, and make no more than %d files", MaxSplitFiles)
	check(o.SplitFiles == 0 || o.SplitBytes == 0, "", "split: give a number of files or their size, not both")
	check(o.split() == output.Split{} || !o.toStdout() && !redirected, "", "split: needs a name for "+
		"its files (%v)", option.Output)
}

// split says how the output is cut into files.
func (o *Options) split() output.Split { return output.Split{Files: o.SplitFiles, Bytes: o.SplitBytes} }

// remake says what is sorted in place of the records; nil: they are.
func (o *Options) remake() func(format.Layout) (*chunker.Remaking, error) {
	switch {
	case o.Argsort != "":
		return func(l format.Layout) (*chunker.Remaking, error) { return chunker.Indexed(l, argsortBytes[o.Argsort]) }
	case o.Shuffle:
		return func(l format.Layout) (*chunker.Remaking, error) { return chunker.Shuffled(l.RecordSize, o.Seed), nil }
	}
	return nil
}

// described is the description of a record, with any key where none is needed.
func (o *Options) described() format.Spec {
	spec := o.Record
	if o.Shuffle && len(spec.Keys) == 0 && spec.Type == "" && (spec.RecordSize > 0 || spec.Container().HasFields) {
		spec.Keys = []string{"0:u8"}
	}
	return spec
}

// form is what is written in place of the records.
func (o *Options) form(in *engine.Input) engine.Form {
	form := engine.Form{Groups: output.GroupForm{Last: o.Keep == "last", Count: o.Count, Repeated: o.Duplicates}}
	size := in.Keyer.Layout().RecordSize
	switch {
	case o.Argsort != "":
		form.From, form.To, form.Bare = size-argsortBytes[o.Argsort], size, true
	case o.Shuffle:
		form.From, form.To = chunker.ShuffleKeyBytes, size
	}
	return form
}

// beside is the number of bytes that are written beside each record; negative: only a part of it is.
func (o *Options) beside(in *engine.Input) int {
	form := o.form(in)
	switch {
	case form.Groups.Count:
		return output.CountBytes
	case form.To > 0:
		return form.To - form.From - in.Keyer.Layout().RecordSize
	}
	return 0
}
