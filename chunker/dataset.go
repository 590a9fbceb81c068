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

// Dataset is a sequence of records to be sorted.
type Dataset interface {
	// Records is the number of records, or -1 when it is not known before the end.
	Records() int64

	// Cut returns the source of the next records, maxRecords at most, or nil when none are left. The sources of
	// successive calls may be read at the same time where the dataset can be read at offsets; from a stream
	// the one must be read to its end before the next is cut.
	Cut(maxRecords int64) (device.Source, error)

	// Split cuts all records into at most n sources of about the same size that can be read at the same time.
	// The records of one source all come before those of the next.
	Split(n int) []device.Source

	// Sample returns the keys of up to n records from places spread evenly over the dataset, or of its first ones when
	// it can be read only once.
	Sample(ctx context.Context, k *format.Keyer, n int) (plan.Sample, error)

	// Check reports what can only be known after all has been read: that an input changed in between, for example. It
	// warns of what is no error.
	Check(warn func(message string)) error

	Close() error
}

// NewDataset is the dataset of all records of the inputs, one input after another.
func NewDataset(inputs []*input.Input) Dataset {
	if slices.ContainsFunc(inputs, func(in *input.Input) bool { return !in.Seekable() }) {
		return input.NewStream(inputs)
	}
	return input.NewFiles(inputs)
}

// Imagined returns a dataset that does not exist: the number of records, or -1 if it is not known, with random keys in
// random order. It has only what a plan needs; d has the rest.
func Imagined(d Dataset, records int64) Dataset { return &imagined{d, records} }

type imagined struct {
	Dataset
	records int64
}

func (d *imagined) Records() int64 { return d.records }

func (d *imagined) Sample(_ context.Context, k *format.Keyer, n int) (plan.Sample, error) {
	return ImaginedSample(k, d.records, n), nil
}

// ImaginedSample returns a sample of n random keys, or of as many as there are records.
func ImaginedSample(k *format.Keyer, records int64, n int) plan.Sample {
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

// Wrapped is a dataset whose sources wrap makes of those of another, with the number of records before each, at most.
func Wrapped(d Dataset, wrap func(src device.Source, before int64) device.Source) Dataset {
	return &wrapped{Dataset: d, wrap: wrap}
}

type wrapped struct {
	Dataset
	wrap func(src device.Source, before int64) device.Source
	cut  int64 // records that Cut has given out, at most
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
	sources, before := w.Dataset.Split(n), int64(0)
	for i, src := range sources {
		sources[i] = w.wrap(src, before)
		before += src.Records()
	}
	return sources
}
