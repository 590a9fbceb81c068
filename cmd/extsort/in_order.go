package main

import (
	"context"
	"sync"

	"github.com/extsort/extsort/internal/safely"
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
	line := newQueueOfTurns(ctx)
	defer line.close()

	var reading sync.Mutex
	var next int64
	ended := false
	read := func(b *textBlock) (more bool, err error) {
		reading.Lock()
		defer reading.Unlock()
		if ended || ctx.Err() != nil {
			return false, context.Cause(ctx)
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
			for {
				more, err := read(&b)
				if !more && err == nil {
					return nil
				}
				if err == nil {
					err = c.convert(&b)
				}
				if turn := line.wait(b.number); turn != nil {
					return turn
				}
				if err == nil {
					err = c.write(ctx, &b)
				}
				if err != nil {
					return err
				}
				line.done()
			}
		})
	}
	return group.Wait()
}

// A queueOfTurns lets the workers write one after another.
type queueOfTurns struct {
	ctx     context.Context
	mu      sync.Mutex
	changed *sync.Cond
	turn    int64
	stop    func() bool
}

func newQueueOfTurns(ctx context.Context) *queueOfTurns {
	q := &queueOfTurns{ctx: ctx}
	q.changed = sync.NewCond(&q.mu)
	q.stop = context.AfterFunc(ctx, func() {
		q.mu.Lock()
		defer q.mu.Unlock()
		q.changed.Broadcast()
	})
	return q
}

func (q *queueOfTurns) close() { q.stop() }

// wait waits for the turn of a block, or until the context is cancelled.
func (q *queueOfTurns) wait(number int64) error {
	q.mu.Lock()
	defer q.mu.Unlock()
	for q.turn != number && q.ctx.Err() == nil {
		q.changed.Wait()
	}
	if q.turn != number {
		return context.Cause(q.ctx)
	}
	return nil
}

// done passes the turn to the next block.
func (q *queueOfTurns) done() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.turn++
	q.changed.Broadcast()
}
