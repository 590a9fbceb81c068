package session

import (
	"context"
	"io"

	"github.com/extsort/extsort/internal/engine"
	"github.com/extsort/extsort/internal/safely"
)

// EachRecord sorts the inputs and calls yield with each sorted record. If yield returns false, the
// sort is cancelled, and EachRecord returns neither a report nor an error.
func EachRecord(ctx context.Context, opt Options, yield func([]byte, error) bool) (*Report, error) {
	return eachRecord(ctx, opt, func(*session) error { return nil }, yield)
}

// eachRecord calls begin when the inputs are open, and then does the work of EachRecord. If begin
// fails, eachRecord returns its error.
func eachRecord(
	ctx context.Context, opt Options, begin func(*session) error, yield func([]byte, error) bool,
) (*Report, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	from, to := io.Pipe()
	defer from.Close()
	opt.Stdout = to
	opt.KeepHeader = false // the iterator returns records only

	s, err := prepare(ctx, opt, false)
	if err != nil {
		return nil, err
	}
	if err := begin(s); err != nil {
		return nil, s.end(err)
	}
	form := s.opt.form(s.run.Input)
	header, _, size, err := form.Shape(s.run.Input)
	if err != nil {
		return nil, s.end(err)
	}

	sorted := make(chan error, 1)
	ended := make(chan struct{})
	defer func() { // also if yield panics
		cancel()
		from.Close()
		<-ended
	}()
	var report *Report
	go func() {
		defer close(ended)
		err := safely.Call(func() (err error) {
			report, err = s.sort(ctx, opt)
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
		return nil, nil
	}
	if err == nil {
		err = sortErr
	}
	return report, err
}
