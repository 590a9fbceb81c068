package merge

import (
	"context"
	"errors"
	"io"

	"github.com/extsort/extsort/device"
	"github.com/extsort/extsort/merge/output"
	"golang.org/x/sync/errgroup"
)

// Stored is a sorted input that writes itself, such as a sorted chunk in the memory of a device.
type Stored func(ctx context.Context, w device.BlockWriter) error

// errEnough ends the writing of an input of which no more is needed.
var errEnough = errors.New("no more records are needed")

// Stores is Streams for inputs that write themselves, all at the same time, each through a pipe of its own. When a
// limit is reached, their writes fail and what passes this error on ends early.
func Stores(ctx context.Context, opt Options, inputs []Stored, w device.BlockWriter) error {
	group, ctx := errgroup.WithContext(ctx)
	readers := make([]io.Reader, len(inputs))
	for i, store := range inputs {
		from, to := io.Pipe()
		readers[i] = from
		group.Go(func() error {
			err := store(ctx, output.NewStreamSink(to, opt.Keyer.Layout().RecordSize))
			to.CloseWithError(err) // nil: the end of the input
			if errors.Is(err, errEnough) {
				return nil
			}
			return err
		})
	}
	group.Go(func() error {
		err := Streams(ctx, opt, readers, w)
		for _, r := range readers {
			r.(*io.PipeReader).CloseWithError(errEnough)
		}
		return err
	})
	return group.Wait()
}
