package session

import (
	"bytes"
	"context"
	"errors"
)

// SortSlice sorts the records of a slice in place and returns the result. The result is shorter than the slice if
// Unique or Limit leaves records out. With Count, the records grow, and the result may be a different slice. The slice
// replaces the inputs and the output in opt. In addition to MemoryBytes, SortSlice needs as much memory as the slice
// has.
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
