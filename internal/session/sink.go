package session

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/extsort/extsort/internal/safely"
)

// A Sink is a custom output. Write receives the bytes of the output in order and is never called
// concurrently. At the end, Commit completes the output, or Abort discards it. Abort is called
// after any error, including an error of Commit, even if nothing was written. A slow Write or
// Commit should return when the context of the call is cancelled.
type Sink interface {
	io.Writer
	Commit(ctx context.Context) error
	Abort() error
}

// into calls run, which writes the output, and then commits or aborts Options.Sink, if there is
// one.
func (o Options) into(ctx context.Context, run func(context.Context, Options) (*Report, error)) (*Report, error) {
	start := time.Now()
	var report *Report
	err := safely.Call(func() (err error) {
		report, err = run(ctx, o)
		return err
	})
	if o.Sink == nil {
		return report, err
	}
	if err == nil {
		if err = o.Sink.Commit(ctx); err != nil {
			err = fmt.Errorf("finish the output: %w", err)
		}
	}
	if err != nil {
		return report, errors.Join(err, o.Sink.Abort())
	}
	report.Seconds = time.Since(start).Seconds()
	return report, nil
}
