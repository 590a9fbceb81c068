package chunker

import (
	"errors"
	"slices"
	"sort"

	"github.com/extsort/extsort/device"
	"github.com/extsort/extsort/format"
)

// files is the Dataset of inputs that can all be read at offsets: their records, one file after another.
type files struct {
	inputs []*Input
	starts []int64 // index of the first record of each input, and at the end the number of records
	size   int     // bytes of a record
	cut    int64   // records that Cut has given out
	ahead  *ahead
}

func newFiles(inputs []*Input, size int) *files {
	f := &files{inputs: inputs, starts: []int64{0}, size: size}
	for _, in := range inputs {
		f.starts = append(f.starts, f.starts[len(f.starts)-1]+in.Records)
	}
	f.ahead = newAhead(size, f.askFor)
	return f
}

func (f *files) Records() int64 { return f.starts[len(f.inputs)] }

func (f *files) Cut(maxRecords int64) (device.Source, error) {
	n := min(maxRecords, f.Records()-f.cut)
	if n <= 0 {
		return nil, nil
	}
	f.cut += n
	return f.section(f.cut-n, n), nil
}

func (f *files) Split(n int) []device.Source { return evenly(f.Records(), n, f.section) }

func (f *files) section(first, n int64) device.Source {
	return &sectionSource{first: first, records: n, size: f.size, readRecords: f.readRecords, mapRecords: f.mapRecords, ahead: f.ahead}
}

func (f *files) Sample(k *format.Keyer, n int) (Sample, error) {
	return sampleRecords(k, f.Records(), n, slices.Repeat([]readRecords{f.readRecords}, sampleReadersOf(f.size))...)
}

// mapRecords maps n records from index first on, if one file has all of them.
func (f *files) mapRecords(first, n int64) (device.Mapping, error) {
	i := f.inputOf(first)
	if first+n > f.starts[i+1] {
		return nil, nil
	}
	return f.inputs[i].mapRecords(first-f.starts[i], n)
}

func (f *files) inputOf(record int64) int {
	return sort.Search(len(f.inputs), func(i int) bool { return f.starts[i+1] > record })
}

// readRecords fills p with the records from index first on, from as many files as that takes.
func (f *files) readRecords(p []byte, first int64) error {
	i := f.inputOf(first)
	for len(p) > 0 {
		n := int(min(int64(len(p)/f.size), f.starts[i+1]-first)) * f.size
		if err := f.inputs[i].ReadRecords(p[:n], first-f.starts[i]); err != nil {
			return err
		}
		p, first, i = p[n:], first+int64(n/f.size), i+1
	}
	return nil
}

// askFor has the system read n records from index first on, from as many files as that takes.
func (f *files) askFor(first, n int64) { f.each(first, n, (*Input).askFor) }

// each calls do for the inputs that have n records from index first on, each with those of them that it has.
func (f *files) each(first, n int64, do func(in *Input, first, n int64)) {
	for i := f.inputOf(first); n > 0; i++ {
		if part := min(n, f.starts[i+1]-first); part > 0 {
			do(f.inputs[i], first-f.starts[i], part)
			first, n = first+part, n-part
		}
	}
}

func (f *files) Check() error { return checkInputs(f.inputs) }

func (f *files) Close() error { return closeInputs(f.inputs) }

func checkInputs(inputs []*Input) error {
	var errs []error
	for _, in := range inputs {
		errs = append(errs, in.Check())
	}
	return errors.Join(errs...)
}

func closeInputs(inputs []*Input) error {
	var errs []error
	for _, in := range inputs {
		errs = append(errs, in.Close())
	}
	return errors.Join(errs...)
}
