package device

import (
	"context"

	"golang.org/x/sync/errgroup"
)

// Copy gives all records of a source, which have size bytes, to w: by several workers at a time, blocks of blockRecords
// at most. When w fails it has been given all records before those, but no more are read.
func Copy(ctx context.Context, src Source, workers, blockRecords, size int, w BlockWriter) error {
	group, ctx := errgroup.WithContext(ctx)
	for range workers {
		group.Go(func() error { return copyBlocks(ctx, src, max(blockRecords, 1), size, w) })
	}
	return group.Wait()
}

func copyBlocks(ctx context.Context, src Source, records, size int, w BlockWriter) error {
	buffer := make([]byte, records*size)
	for ctx.Err() == nil {
		first, n, err := src.Next(records, func(int64, int) []byte { return buffer })
		if err != nil || n == 0 {
			return err
		}
		if err := w.WriteBlock(ctx, first, buffer[:n*size]); err != nil {
			return err
		}
	}
	return ctx.Err()
}
