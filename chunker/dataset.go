package chunker

import (
	"context"
	"math/rand/v2"
	"slices"

	"github.com/extsort/extsort/chunker/input"
	"github.com/extsort/extsort/chunker/plan"
	"github.com/extsort/extsort/device"
	"github.com/extsort/extsort/format"
)

// A Dataset is a sequence of records to be sorted.
type Dataset interface {
	// Records returns the number of records, or -1 if it is not known before the end.
	Records() int64

	// Cut returns the source of the next records, at most maxRecords, or nil if none are left. If
	// the dataset supports reading at offsets, the sources of successive calls may be read
	// concurrently. Otherwise each source must be read to its end before the next call.
	Cut(maxRecords int64) (device.Source, error)

	// Split divides all records into at most n sources of about the same size. The sources can be
	// read concurrently. They contain consecutive ranges of the records, in order.
	Split(n int) []device.Source

	// Sample returns the keys of up to n records at evenly spaced positions, or of the first
	// records if the dataset can be read only once.
	Sample(ctx context.Context, k format.Prefixer, n int) (plan.Sample, error)

	// Check returns errors that can only be known after everything has been read, for example that
	// an input has changed in the meantime. It reports less serious problems by calling warn.
	Check(warn func(message string)) error

	Close() error
}

// NewDataset returns the dataset of all records of the inputs, in the order of the inputs.
func NewDataset(inputs []*input.Input) Dataset {
	if slices.ContainsFunc(inputs, func(in *input.Input) bool { return !in.Seekable() }) {
		return input.NewStream(inputs)
	}
	return input.NewFiles(inputs)
}

// Placeholder returns a dataset for planning that contains no data. It has the given number of records
// (-1 if not known), with random keys in random order. All other methods are inherited from d.
func Placeholder(d Dataset, records int64) Dataset {
	return &placeholder{d, records}
}

type placeholder struct {
	Dataset
	records int64
}

func (d *placeholder) Records() int64 { return d.records }

func (d *placeholder) Sample(
	_ context.Context,
	k format.Prefixer,
	n int,
) (plan.Sample, error) {
	return RandomSample(k, d.records, n), nil
}

// RandomSample returns a sample of min(n, records) random keys.
func RandomSample(k format.Prefixer, records int64, n int) plan.Sample {
	n = plan.SampleLimit(n, k.Layout().RecordSize)
	if records >= 0 {
		n = int(min(int64(n), records))
	}
	prefixes := make([]uint64, n)
	random := rand.New(rand.NewPCG(1, 1))
	for i := range prefixes {
		prefixes[i] = random.Uint64() >> (64 - k.PrefixBits())
	}
	return plan.NewSample(prefixes)
}

// Wrapped returns a dataset whose sources are the results of wrap. The second argument of wrap is
// the maximum number of records before the source.
func Wrapped(
	d Dataset, wrap func(src device.Source, before int64) device.Source,
) Dataset {
	return &wrapped{Dataset: d, wrap: wrap}
}

type wrapped struct {
	Dataset
	wrap func(src device.Source, before int64) device.Source
	cut  int64 // maximum number of records that Cut has returned
}

func (w *wrapped) Cut(maxRecords int64) (device.Source, error) {
	src, err := w.Dataset.Cut(maxRecords)
	if src == nil || err != nil {
		return nil, err
	}
	w.cut += maxRecords
	return w.wrap(src, w.cut-maxRecords), nil
}

func (w *wrapped) Split(n int) []device.Source {
	sources := w.Dataset.Split(n)
	before := int64(0)
	for i, src := range sources {
		sources[i] = w.wrap(src, before)
		before += src.Records()
	}
	return sources
}
