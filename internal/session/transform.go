package session

import (
	"slices"

	"github.com/extsort/extsort/chunker"
	"github.com/extsort/extsort/format"
	"github.com/extsort/extsort/internal/engine"
	"github.com/extsort/extsort/internal/option"
	"github.com/extsort/extsort/merge/output"
)

// An argsort, a shuffle or a sort by computed keys sorts transformed records. It writes only a part
// of each one: the index, or the record without its random or computed key.

// argsortBytes lists the types of Options.Argsort and their sizes.
var argsortBytes = map[string]int{"u32": 4, "u64": 8}

// transforms returns the transformations of the records before the sort, in order, and the layout of
// their result. layout is that of the input.
func (o *Options) transforms(layout format.Layout) (all []*chunker.Transform, result format.Layout, err error) {
	add := func(t *chunker.Transform, failed error) {
		if err = failed; err == nil {
			all = append(all, t)
			layout = t.Layout
		}
	}
	size := layout.RecordSize
	if o.computed.program != nil {
		layout = o.computed.program.Layout
	}
	if o.Reverse {
		layout = layout.Reverse()
	}
	if o.computed.program != nil {
		add(chunker.Appended(size, layout, o.computed.program.Append))
	}
	switch {
	case err != nil:
	case o.Argsort != "":
		add(chunker.Indexed(layout, argsortBytes[o.Argsort]))
	case o.Shuffle:
		add(chunker.Shuffled(size, o.Seed), nil)
	}
	return all, layout, err
}

// countTransforms returns the number of transformations.
func (o *Options) countTransforms() (n int) {
	for _, isUsed := range []bool{o.computed.isUsed(), o.Argsort != "", o.Shuffle} {
		if isUsed {
			n++
		}
	}
	if len(o.appended) > 0 {
		n++
	}
	return n
}

// recordSpec returns the description of a record. A description needs a key, so a shuffle, which
// ignores keys, adds one if there is none.
func recordSpec(o *Options) format.Spec {
	spec := o.Record
	if o.Shuffle && len(spec.Keys) == 0 && spec.Type == "" && spec.RecordSize > 0 {
		spec.Keys = []string{"0:u8"}
	}
	if o.Shuffle {
		spec = format.AnyOrder(spec)
	}
	return spec
}

// aggregates returns the fields to combine in records with equal keys.
func (o *Options) aggregates() format.Aggregates {
	return format.Aggregates{
		Sum:   o.Sum,
		Min:   o.Min,
		Max:   o.Max,
		First: o.First,
		Last:  o.Last,
		Count: o.Count,
	}
}

// setAggregation finds the fields to combine in the records of the opened inputs.
func (o *Options) setAggregation(in *engine.Input) (err error) {
	if o.Unique {
		o.aggregation, err = format.NewAggregation(o.aggregates(), in.Header, in.Keyer, o.Keep == "last")
	}
	if err != nil || o.KeepKey == "" || o.aggregation == nil {
		return err
	}
	isTaken := func(c format.Column) bool { return c.Name == o.KeepKey }
	if slices.ContainsFunc(o.aggregation.Appended(), isTaken) {
		return option.Errorf(option.KeepKey, " %s: is also the name of a result: choose another name", o.KeepKey)
	}
	return nil
}

// resultsOf returns the columns of the results that are appended, when records are combined or as they are
// read.
func resultsOf(o *Options) []format.Column {
	if len(o.appended) > 0 {
		return o.appended
	}
	return o.aggregation.Appended()
}

// form returns the form in which the sorted records are written.
func (o *Options) form(in *engine.Input) engine.Form {
	form := engine.Form{
		Groups:      output.GroupForm{Last: o.Keep == "last", Count: o.Count, Repeated: o.Duplicates},
		Aggregation: o.aggregation,
		Bare:        o.omitHeader,
	}
	size := in.Keyer.Layout().RecordSize
	switch {
	case o.Argsort != "":
		form.From = size - argsortBytes[o.Argsort]
		form.To = size
		form.Bare = true
	case o.Shuffle:
		form.From = chunker.ShuffleKeyBytes
		form.To = size
	case o.computed.program != nil && o.KeepKey == "":
		form.To = in.ReadSize()
	case o.computed.program != nil:
		form.Computed = o.computed.program.Columns(o.KeepKey)
	}
	form.Computed = append(form.Computed, o.appended...)
	return form
}

// extraBytes returns the size of a written record minus the size of a sorted record, in bytes. It
// is negative if only a part of each record is written.
func (o *Options) extraBytes(in *engine.Input) int {
	form := o.form(in)
	size := in.Keyer.Layout().RecordSize
	switch {
	case form.To > 0:
		return form.To - form.From - size
	case form.Aggregation != nil:
		return form.Aggregation.Size() - size
	}
	return 0
}

// split returns the options for splitting the output into files.
func (o *Options) split() output.Split {
	return output.Split{Files: o.SplitFiles, Bytes: o.SplitBytes}
}
