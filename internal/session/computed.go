package session

import (
	"context"
	"fmt"
	"slices"

	"github.com/extsort/extsort/chunker"
	"github.com/extsort/extsort/chunker/input"
	"github.com/extsort/extsort/chunker/plan"
	"github.com/extsort/extsort/device"
	"github.com/extsort/extsort/format"
	"github.com/extsort/extsort/format/computed"
	"github.com/extsort/extsort/internal/option"
)

// Computed keys, such as hilbert(lon,lat), are put after each record as it is read. The sort knows
// only the longer records, and the output leaves the computed keys out unless Options.KeepKey is
// set.

// computedKeys computes keys. The zero value computes none.
type computedKeys struct {
	list     *computed.Keys
	program  *computed.Program // known once the inputs are open
	onlyPlan bool              // no records are sorted
}

// isUsed reports whether keys are computed.
func (c *computedKeys) isUsed() bool { return c.list != nil }

// describe completes the description of a record: it replaces computed keys by the fields that they
// need. A shuffle ignores keys.
func (o *Options) describe() error {
	o.Record = recordSpec(o)
	list, err := computed.Parse(o.Record.Keys)
	if err != nil {
		return &format.LayoutError{Faults: []error{err}}
	}
	if list == nil {
		return nil
	}
	o.Record.Keys = list.Fields()
	if !o.Shuffle {
		o.computed.list = list
	}
	return nil
}

// keyTexts returns the keys as the caller gave them.
func keyTexts(o *Options) []string {
	if o.computed.isUsed() {
		return o.computed.list.Texts()
	}
	return o.Record.Keys
}

// validate rejects options that conflict with computed keys.
func (c *computedKeys) validate(o *Options, p *problems) {
	if !c.isUsed() {
		p.check(o.KeepKey == "", option.KeepKey, " %s: no key is computed: give one, for example %v 'hilbert(lon,lat)'",
			o.KeepKey, option.Keys)
		return
	}
	p.require(o.merge == nil, option.Keys,
		"computed keys: a merge needs them in its inputs: sort with %v NAME, and merge by that field", option.KeepKey)
	if o.KeepKey == "" {
		p.check(!o.Verify, option.Verify, ": the output does not contain the computed key: add %v NAME", option.KeepKey)
		p.require(!o.Count && o.aggregates().IsEmpty(), option.Unique,
			"computed keys: to count or combine records, add %v NAME", option.KeepKey)
		return
	}
	p.check(o.Argsort == "", option.Argsort, " writes only positions: leave %v out", option.KeepKey)
	p.check(c.list.Count() == 1, option.KeepKey, " %s: stores one computed key, but there are %d", o.KeepKey,
		c.list.Count())
}

// bind sets the program that computes keys for the records of opened files, if keys are computed.
func (c *computedKeys) bind(header *format.Header, keepKey string) (err error) {
	if !c.isUsed() {
		return nil
	}
	if c.program, err = c.list.Bind(header.Layout()); err != nil {
		return &format.LayoutError{Faults: []error{err}}
	}
	isTaken := func(column format.Column) bool { return column.Name == keepKey }
	if keepKey != "" && slices.ContainsFunc(header.Columns(), isTaken) {
		return option.Errorf(option.KeepKey, " %s: the records already have such a field: choose another name", keepKey)
	}
	return nil
}

// observe finds the ranges of dimensions that were not given. It reads all records or, for a plan, a
// sample.
func (c *computedKeys) observe(ctx context.Context, o *Options, files []*input.Input, data chunker.Dataset) error {
	if c.program == nil {
		return nil
	}
	defer c.program.Ready()
	unknown := c.program.Unknown()
	if len(unknown) == 0 {
		return nil
	}
	i := slices.IndexFunc(files, func(in *input.Input) bool { return !in.Seekable() })
	switch {
	case o.Part.N > 0:
		return rangeError(unknown[0], "all parts need the same range")
	case input.Remote(files) != nil:
		return rangeError(unknown[0], "it would be read twice over the network to find it")
	case i >= 0:
		return rangeError(unknown[0], fmt.Sprintf("%s can be read only once", files[i].Name))
	}

	size := files[0].Header.Layout().RecordSize
	if c.onlyPlan {
		_, err := data.Sample(ctx, &observer{program: c.program, size: size}, plan.SampleKeys)
		return err
	}
	blockBytes := min(maxObservedBytes, o.MemoryBytes/int64(8*o.Workers))
	observe := func(_ context.Context, _ int64, recs []byte) error {
		c.program.Observe(recs)
		return nil
	}
	for _, src := range data.Split(1) {
		err := device.Copy(ctx, src, o.Workers, int(blockBytes)/size, size, device.BlockWriterFunc(observe))
		if err != nil {
			return err
		}
	}
	return nil
}

// maxObservedBytes is the maximum size of a read in the search for ranges.
const maxObservedBytes = 1 << 20

// rangeError returns the error for a dimension whose range must be given.
func rangeError(field, why string) error {
	return option.Errorf(option.Keys, ": the range of %s must be given, as in %s=LOW:HIGH: %s", field, field, why)
}

// An observer is a Prefixer that observes the records of a sample. It computes no keys.
type observer struct {
	program *computed.Program
	size    int
}

func (o *observer) Layout() format.Layout { return format.Layout{RecordSize: o.size} }

func (o *observer) PrefixBits() int { return 64 }

func (o *observer) Prefixes(_ []uint64, recs []byte) { o.program.Observe(recs) }
