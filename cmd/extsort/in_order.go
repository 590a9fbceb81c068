package main

import (
	"context"
	"sync"

	"github.com/extsort/extsort/internal/safely"
	"github.com/extsort/extsort/internal/turns"
)

// A textBlock is a piece of an input, together with the result of its conversion.
type textBlock struct {
	number int64  // from 0
	buffer []byte // memory for in, if it is reused
	in     []byte
	out    []byte
	lines  int64 // the number of lines in in, for parse
	failed error // error of a line; the lines before it are in out
}

// A conversion converts blocks. convert is called concurrently; read and write are called for one
// block at a time, in the order of the blocks.
type conversion struct {
	read    func(b *textBlock) (more bool, err error) // sets in; more is false at the end
	convert func(b *textBlock) error                  // sets out
	write   func(ctx context.Context, b *textBlock) error
}

// runInOrder converts all blocks with a number of workers. If blocks fail, it writes the blocks
// before the first failed one and returns that block's error.
func runInOrder(ctx context.Context, workers int, c conversion) error {
	group, ctx := safely.WithContext(ctx)
	var writing turns.Queue // of blocks
	var reading sync.Mutex
	var next int64
	ended := false
	read := func(b *textBlock) (more bool, err error) {
		reading.Lock()
		defer reading.Unlock()
		if ended {
			return false, nil
		}
		b.number = next
		next++
		more, err = c.read(b)
		ended = !more || err != nil
		return more, err
	}

	for range workers {
		group.Go(func() error {
			var b textBlock
			for ctx.Err() == nil {
				more, err := read(&b)
				if !more && err == nil {
					return nil
				}
				if err == nil {
					err = c.convert(&b)
				}
				if turn := writing.Wait(ctx, b.number); turn != nil {
					return turn
				}
				if err == nil {
					err = c.write(ctx, &b)
				}
				if err != nil {
					return err
				}
				writing.Pass(b.number+1, nil)
			}
			return context.Cause(ctx)
		})
	}
	return group.Wait()
}
