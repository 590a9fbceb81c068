package session

import (
	"bytes"
	"context"
	"errors"
	"io"
	"iter"

	"github.com/extsort/extsort/internal/engine"
	"github.com/extsort/extsort/internal/safely"
)

// Records sorts the inputs and iterates over the sorted records instead of writing them. Each record is valid only
// until the next iteration. If the sort fails, the last element is a nil record with the error. Breaking out of the
// loop cancels the sort. The fields Output, Stdout, Sink and Compress of opt must be empty.
func Records(ctx context.Context, opt Options) iter.Seq2[[]byte, error] {
	return func(yield func([]byte, error) bool) {
		if opt.Output != "" || opt.Stdout != nil || opt.Sink != nil || opt.Compress != "" {
			yield(nil, errors.New("records: the iterator is the output: leave Output, Stdout, Sink and "+
				"Compress empty"))
			return
		}
		if err := records(ctx, opt, yield); err != nil {
			yield(nil, err)
		}
	}
}

// records gives yield the records; the error is not told of where yield wants no more.
func records(ctx context.Context, opt Options, yield func([]byte, error) bool) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	from, to := io.Pipe()
	defer from.Close()
	opt.Stdout, opt.KeepHeader = to, false // records alone have no frame
	s, err := prepare(ctx, opt, false)
	if err != nil {
		return err
	}
	form := s.opt.form(s.run.Input)
	header, _, size, err := form.Shape(s.run.Input)
	if err != nil {
		return s.end(err)
	}
	sorted := make(chan error, 1)
	go func() {
		err := safely.Call(func() error {
			_, err := s.sort(ctx, opt)
			return err
		})
		to.CloseWithError(err)
		sorted <- err
	}()
	more, err := engine.EachRecord(from, len(header.Encode(0)), size, yield)
	if !more {
		cancel()
	}
	from.Close() // who still writes gets an error
	if finished := <-sorted; err == nil {
		err = finished
	}
	if !more {
		return nil
	}
	return err
}

// SortSlice sorts the records of a slice in place and returns the result. The result is shorter than the slice if
// Unique or Limit leaves records out. With Count, the records grow, and the result may be a different slice. The slice
// replaces the inputs and the output in opt. In addition to MemoryBytes, SortSlice needs as much memory as the slice
// has.
func SortSlice(ctx context.Context, records []byte, opt Options) ([]byte, error) {
	if len(opt.Inputs)+len(opt.Sources) > 0 || opt.Stdin != nil || opt.Output != "" || opt.Stdout != nil ||
		opt.Sink != nil || opt.Compress != "" {
		return nil, errors.New("sort slice: the slice is input and output: leave Inputs, Sources, Stdin, " +
			"Output, Stdout, Sink and " +
			"Compress empty")
	}
	var sorted bytes.Buffer
	sorted.Grow(len(records))
	opt.Sources = []Source{{Name: "the slice", At: bytes.NewReader(records), Size: int64(len(records))}}
	opt.Stdout, opt.Raw = &sorted, opt.Record.Format == ""
	if _, err := Sort(ctx, opt); err != nil {
		return nil, err
	}
	return append(records[:0], sorted.Bytes()...), nil
}
