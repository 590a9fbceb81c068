package session

import (
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
		if opt.hasOutput() {
			yield(nil, errors.New("records: the iterator is the output: leave Output, Stdout, Sink and Compress empty"))
			return
		}
		if err := eachRecord(ctx, opt, yield); err != nil {
			yield(nil, err)
		}
	}
}

// hasOutput reports whether the options say where to write the records, or in which compression.
func (o *Options) hasOutput() bool {
	return o.Output != "" || o.Stdout != nil || o.Sink != nil || o.Compress != ""
}

// eachRecord sorts the inputs and calls yield with each sorted record. If yield returns false, the sort is cancelled
// and its error is not reported.
func eachRecord(ctx context.Context, opt Options, yield func([]byte, error) bool) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	from, to := io.Pipe()
	defer from.Close()
	opt.Stdout = to
	opt.KeepHeader = false // the iterator returns records only

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

	wantsMore, err := engine.EachRecord(from, len(header.Encode(0)), size, yield)
	if !wantsMore {
		cancel()
	}
	from.Close() // a blocked writer gets an error
	sortErr := <-sorted
	if !wantsMore {
		return nil
	}
	if err == nil {
		err = sortErr
	}
	return err
}
