package extsort

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/extsort/extsort/chunker/input"
)

// Source is one input: the file of its name, or what it has in place of one. That stays open.
type Source struct {
	Name string // of the file; "-": Options.Stdin; with At or Reader only what messages call the input

	// At has Size bytes, which are read at any place, by several goroutines at the same time and perhaps more than once:
	// a *bytes.Reader, say, or an object of a store. Version tells them from others of that name, for a checkpoint.
	At      io.ReaderAt
	Size    int64
	Version string

	Reader io.Reader // is read in sequence, once
}

// Sink is an output that is no file. Write gets the bytes of the output in their order, one call after another. Then
// Commit completes it, or Abort gives it up: after an error, also of Commit, and where nothing was written at all.
// A Write or a Commit that may take long should end when the context of the call is cancelled.
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
