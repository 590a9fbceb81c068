package turns

import (
	"context"
	"sync"

	"github.com/extsort/extsort/internal/safely"
)

// A Conversion converts blocks of type B. Convert is called concurrently; Read and Write are called
// for one block at a time, in the order of the blocks. A worker reuses its B for all its blocks.
type Conversion[B any] struct {
	// Read sets the input of the block with a number, from 0. more is false at the end.
	Read    func(b *B, number int64) (more bool, err error)
	Convert func(b *B) error // sets the output of the block
	Write   func(ctx context.Context, b *B) error
}

// Run converts all blocks with the given number of workers. If blocks fail, it writes the blocks before the
// first failed one and returns that block's error.
func (c Conversion[B]) Run(ctx context.Context, workers int) error {
	group, ctx := safely.WithContext(ctx)
	var writing Queue // of blocks
	read := c.numbered()
	for range workers {
		group.Go(func() error {
			var b B
			for ctx.Err() == nil {
				number, more, err := read(&b)
				if !more && err == nil {
					return nil
				}
				if err == nil {
					err = c.Convert(&b)
				}
				err = writing.inTurn(ctx, number, func() error {
					if err != nil {
						return err
					}
					return c.Write(ctx, &b)
				})
				if err != nil {
					return err
				}
			}
			return context.Cause(ctx)
		})
	}
	return group.Wait()
}

// inTurn calls do when it is the turn of a block. If do fails, no later block gets its turn.
func (q *Queue) inTurn(ctx context.Context, number int64, do func() error) error {
	if err := q.Wait(ctx, number); err != nil {
		return err
	}
	if err := do(); err != nil {
		return err
	}
	q.Pass(number+1, nil)
	return nil
}

// numbered returns a function that reads the next block. Several goroutines may call it.
func (c Conversion[B]) numbered() func(b *B) (number int64, more bool, err error) {
	var reading sync.Mutex
	var next int64
	ended := false
	return func(b *B) (number int64, more bool, err error) {
		reading.Lock()
		defer reading.Unlock()
		if ended {
			return 0, false, nil
		}
		number = next
		next++
		more, err = c.Read(b, number)
		ended = !more || err != nil
		return number, more, err
	}
}
