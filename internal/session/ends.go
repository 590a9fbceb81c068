package session

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/extsort/extsort/chunker/input"
)

// A Source is one input: the file Name, or At, or Reader. Sort does not close At or Reader.
type Source struct {
	Name string // name of a file; "-": Options.Stdin. With At or Reader, messages use this name for the input

	// At provides Size bytes, for example from a *bytes.Reader or an object store. Several goroutines read it concurrently
	// at any offset, and may read bytes more than once. Version identifies the contents for a checkpoint.
	At      io.ReaderAt
	Size    int64
	Version string

	Reader io.Reader // read once, sequentially
}

// A Sink is a custom output. Write receives the bytes of the output in order and is never called concurrently. At the
// end, Commit completes the output, or Abort discards it. Abort is called after an error, including an error of Commit,
// and if nothing was written. A slow Write or Commit should return when the context of the call is cancelled.
type Sink interface {
	io.Writer
	Commit(ctx context.Context) error
	Abort() error
}

// sources are all inputs, in their order: at least one.
func (o *Options) sources() []input.Source {
	all := input.Named(o.Inputs...)
	for _, s := range o.Sources {
		all = append(all, input.Source(s))
	}
	if len(all) == 0 {
		return input.Named(stdio)
	}
	return all
}

// into has run write the output, and completes or gives up Options.Sink, if there is one.
func (o Options) into(ctx context.Context, run func(context.Context, Options) (*Report, error)) (*Report, error) {
	start := time.Now()
	report, err := run(ctx, o)
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
