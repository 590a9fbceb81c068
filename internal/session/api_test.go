package session

import (
	"bytes"
	"context"
	"errors"
	"iter"
)

// SortSlice sorts the records of a slice in place and returns the result. The result is shorter
// than the slice if Unique or Limit leaves records out. With Count, the records grow, and the
// result may be a different slice. The slice replaces the inputs and the output in opt. In addition
// to MemoryBytes, SortSlice needs memory for a copy of the slice.
func SortSlice(ctx context.Context, records []byte, opt Options) ([]byte, error) {
	hasInput := len(opt.Inputs)+len(opt.Sources) > 0 || opt.Stdin != nil
	if hasInput || opt.hasOutput() {
		return nil, errors.New("sort slice: the slice is input and output: " +
			"leave Inputs, Sources, Stdin, Output, Stdout, Sink and Compress empty")
	}
	var sorted bytes.Buffer
	sorted.Grow(len(records))
	opt.Sources = []Source{{Name: "the slice", At: bytes.NewReader(records), Size: int64(len(records))}}
	opt.Stdout = &sorted
	opt.Raw = opt.Record.Format == ""
	if _, err := Sort(ctx, opt); err != nil {
		return nil, err
	}
	return append(records[:0], sorted.Bytes()...), nil
}

// Records sorts the inputs and iterates over the sorted records instead of writing them. Each
// record is valid only until the next iteration. If the sort fails, the last element is a nil
// record with the error. Breaking out of the loop cancels the sort. The fields Output, Stdout, Sink
// and Compress of opt must be empty.
func Records(ctx context.Context, opt Options) iter.Seq2[[]byte, error] {
	return func(yield func([]byte, error) bool) {
		if opt.hasOutput() {
			yield(nil, errors.New("records: the iterator is the output: leave Output, Stdout, Sink and Compress empty"))
			return
		}
		if _, err := EachRecord(ctx, opt, yield); err != nil {
			yield(nil, err)
		}
	}
}

// hasOutput reports whether the options say where to write the records, or in which compression.
func (o *Options) hasOutput() bool {
	return o.Output != "" || o.Stdout != nil || o.Sink != nil || o.Compress != ""
}
