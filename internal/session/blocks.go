package session

import (
	"context"
	"fmt"
	"io"

	"github.com/extsort/extsort/internal/human"
	"github.com/extsort/extsort/internal/option"
	"github.com/extsort/extsort/internal/profile"
	"github.com/extsort/extsort/internal/safely"
	"github.com/extsort/extsort/internal/turns"
)

// BlockWork describes the work on blocks of sorted records. Each block becomes a result of type T.
type BlockWork[T any] struct {
	RecordSize int
	BlockBytes int   // the most bytes of records in a block
	Memory     int64 // for each block and its result, in bytes

	// Work handles a block. Several goroutines call it concurrently. The records are valid until it
	// returns.
	Work func(recs []byte) (T, error)
	// Yield receives the results in the order of the blocks. If it returns false, the work ends.
	Yield func(T) bool
}

// SortBlocks sorts records and hands them to work, block by block, within the memory limit. It
// returns the report of the sort, or nil if Yield has ended the work.
func SortBlocks[T any](ctx context.Context, opt Options, work BlockWork[T]) (*Report, error) {
	limit := profile.LimitMemory(opt.MemoryBytes, MinMemory, systemMemory)
	opt = opt.withDefaults()
	workers, forSort, err := work.divide(limit, opt.Workers)
	if err != nil {
		return nil, err
	}
	opt.MemoryBytes = forSort

	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	from, to := io.Pipe()
	opt.Output = ""
	opt.Sink = nil
	opt.Stdout = to
	var report *Report
	var sorting, working safely.Group
	sorting.Go(func() error {
		err := safely.Call(func() (err error) {
			report, err = Sort(ctx, opt)
			return err
		})
		to.CloseWithError(err)
		return err
	})
	results := make(chan T)
	working.Go(func() error {
		defer close(results)
		return work.run(ctx, from, workers, results)
	})

	wantsMore := true
	for result := range results {
		if wantsMore = work.Yield(result); !wantsMore {
			break
		}
	}
	if !wantsMore {
		cancel(errNotNeeded)
	}
	err = working.Wait()
	if err != nil || !wantsMore {
		cancel(errNotNeeded)
		from.CloseWithError(errNotNeeded)
	}
	sortErr := sorting.Wait()
	switch {
	case !wantsMore:
		return nil, nil
	case err != nil:
		return nil, err
	}
	if report != nil {
		report.Detail.MemoryLimit = limit
	}
	return report, sortErr
}

// divide divides a memory limit between the workers and the sort.
func (w *BlockWork[T]) divide(limit int64, most int) (workers int, forSort int64, err error) {
	const (
		share  = 8 // of the limit, for the workers
		blocks = 2 // of each worker: one that it handles, and one that waits for Yield
	)
	each := blocks * w.Memory
	workers = int(min(max(limit/share/each, 1), int64(most)))
	forSort = max(limit-int64(workers)*each, MinMemory)
	if each > limit/2 {
		return 0, 0, &MemoryError{Limit: limit, Least: 2 * each, Text: fmt.Sprintf(
			"records of %s need a limit of %s: raise %v",
			human.Bytes(int64(w.RecordSize)), human.Bytes(2*each), option.MemoryBytes)}
	}
	return workers, forSort, nil
}

// run sends the results of all blocks in order.
func (w *BlockWork[T]) run(ctx context.Context, from io.Reader, workers int, results chan<- T) error {
	type block struct {
		recs   []byte
		result T
	}
	size := max(w.BlockBytes/w.RecordSize, 1) * w.RecordSize
	return turns.Conversion[block]{
		Read: func(b *block, _ int64) (more bool, err error) {
			if b.recs == nil {
				b.recs = make([]byte, size)
			}
			n, err := io.ReadFull(from, b.recs[:size])
			b.recs = b.recs[:n]
			if err == io.EOF || err == io.ErrUnexpectedEOF { // an error of the sort may wrap them
				err = nil
			}
			return n > 0, err
		},
		Convert: func(b *block) (err error) {
			b.result, err = w.Work(b.recs)
			return err
		},
		Write: func(ctx context.Context, b *block) error {
			select {
			case results <- b.result:
				return nil
			case <-ctx.Done():
				return context.Cause(ctx)
			}
		},
	}.Run(ctx, workers)
}
