package session

import (
	"github.com/extsort/extsort/chunker"
	"github.com/extsort/extsort/format"
	"github.com/extsort/extsort/internal/engine"
	"github.com/extsort/extsort/merge/output"
)

// An argsort or a shuffle sorts transformed records and writes only a part of each one: the index,
// or the record without its random key.

// argsortBytes lists the types of Options.Argsort and their sizes.
var argsortBytes = map[string]int{"u32": 4, "u64": 8}

// transform returns the transformation of the records before the sort, or nil if there is none.
func (o *Options) transform(l format.Layout) (*chunker.Transform, error) {
	switch {
	case o.Argsort != "":
		return chunker.Indexed(l, argsortBytes[o.Argsort])
	case o.Shuffle:
		return chunker.Shuffled(l.RecordSize, o.Seed), nil
	}
	return nil, nil
}

// isTransformed reports whether the records are transformed while they are read.
func (o *Options) isTransformed() bool { return o.Argsort != "" || o.Shuffle }

// recordSpec returns the description of a record. A description needs a key, so a shuffle, which
// ignores keys, adds one if there is none.
func (o *Options) recordSpec() format.Spec {
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
	return err
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
	}
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
