package merge

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/extsort/extsort/device"
	"github.com/extsort/extsort/merge/output"
	"golang.org/x/sync/errgroup"
)

// Stored is a sorted input that writes itself, such as a sorted chunk in the memory of a device.
type Stored struct {
	Records int64
	Store   func(ctx context.Context, w device.BlockWriter) error
}

// errEnough ends the writing of an input of which no more is needed.
var errEnough = errors.New("no more records are needed")

// Stores is Streams for inputs that write themselves, all at the same time, each through a pipe of its own. When a
// limit is reached, their writes fail and what passes this error on ends early.
func Stores(ctx context.Context, opt Options, inputs []Stored, w device.BlockWriter) error {
	group, ctx := errgroup.WithContext(ctx)
	readers := make([]io.Reader, len(inputs))
	ends := make([]*io.PipeReader, len(inputs))
	for i, in := range inputs {
		r, to := io.Pipe()
		readers[i], ends[i] = r, r
		group.Go(func() error {
			err := in.storeTo(ctx, i, output.NewStreamSink(to, opt.Keyer.Layout().RecordSize))
			to.CloseWithError(err) // nil: the end of the input
			if errors.Is(err, errEnough) {
				return nil
			}
			return err
		})
	}
	group.Go(func() error {
		err := Streams(ctx, opt, readers, w)
		for _, r := range ends {
			r.CloseWithError(errEnough)
		}
		return err
	})
	return group.Wait()
}

// storeTo lets the input write itself, and counts its records.
func (in *Stored) storeTo(ctx context.Context, input int, to *output.StreamSink) error {
	var err error
	if in.Records > 0 {
		err = in.Store(ctx, to)
	}
	switch n := to.Records(); {
	case err != nil:
		return err
	case n < in.Records:
		return fmt.Errorf("merge: input %d ended at record %d of %d", input+1, n, in.Records)
	case n > in.Records:
		return fmt.Errorf("merge: input %d has more than the %d records it was said to have", input+1, in.Records)
	}
	return nil
}
