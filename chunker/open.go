package chunker

import (
	"context"
	"errors"
	"io"

	"github.com/extsort/extsort/format"
)

// maxOpen is the greatest number of inputs that stay open. More are mapped: thousands can be merged, and a process may have
// few files open on some systems.
const maxOpen = 64

// OpenAll opens the inputs in the order in which they are named; no names mean standard input. All must hold the
// same kind of records. Decompressors may take windowBytes for what they look back to. A pipe that is waited for, to be opened or
// read, is not any longer when ctx is cancelled.
func OpenAll(ctx context.Context, spec format.Spec, names []string, stdin io.Reader, windowBytes int64) ([]*Input, error) {
	if len(names) == 0 {
		names = []string{StandardInput}
	}
	mapped := len(names) > maxOpen
	var inputs []*Input
	var faults []error
	seenStdin := false
	for _, name := range names {
		if name == StandardInput && seenStdin {
			faults = append(faults, errors.New("standard input (-) is named more than once"))
			continue
		}
		seenStdin = seenStdin || name == StandardInput
		in, err := openInput(ctx, spec, name, stdin, windowBytes, mapped)
		if err != nil {
			faults = append(faults, err)
			continue
		}
		inputs = append(inputs, in)
		faults = append(faults, inputs[0].Header.Compatible(in.Header))
	}
	if err := errors.Join(faults...); err != nil {
		closeInputs(inputs)
		return nil, err
	}
	return inputs, nil
}

// NewDataset is the dataset of all records of the inputs, one input after another.
func NewDataset(inputs []*Input) Dataset {
	size := inputs[0].Header.Layout().RecordSize
	for _, in := range inputs {
		if !in.Seekable() {
			return newStream(inputs, size)
		}
	}
	return newFiles(inputs, size)
}

// InputNames are the names of the inputs as messages show them.
func InputNames(inputs []*Input) []string {
	names := make([]string, len(inputs))
	for i, in := range inputs {
		names[i] = in.Name
	}
	return names
}
