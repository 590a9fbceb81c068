//go:build opencl && cgo && linux

package opencl

import (
	"fmt"
	"time"

	"github.com/extsort/extsort/device/opencl/cl"
)

const (
	trialBytes  = 16 << 20 // of pinned memory: 0.3 ms at 55 GB/s, and 8 ms to pin
	trialCopy   = 64 << 20 // within the device's memory: two of them are more than an H200's cache
	trialCopies = 8        // in one go
	trialRuns   = 4        // of which the fastest counts: the first touches memory

	// movesPerSort is how much longer a sort of 8-byte keys takes than reading or writing them once in the device's
	// memory: 25 times with the portable count-scan-reorder on an H200, 12 times with hybrid.
	movesPerSort = 25
)

// MeasureRates finds out what Info tells as LinkRate and SortRate, in some milliseconds besides what the device takes to
// start, which it then need not do again. No kernel is built for it: the rate of sorting is estimated, with caution, from
// that of copying.
func (e *engine) MeasureRates() error {
	s, err := e.start()
	if err != nil {
		return err
	}
	most := min(memoryFor(e.dev, e.opt)/8, allocFor(e.dev, e.opt))
	link, err := LinkRate(s.ctx, s.kernels, int(min(trialBytes, most)))
	if err != nil {
		return err
	}
	moving, err := memoryRate(s.ctx, s.kernels, min(trialCopy, most))
	if err != nil {
		return err
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	e.linkRate, e.sortRate = max(e.linkRate, link), max(e.sortRate, moving/movesPerSort)
	return nil
}

// LinkRate measures transfers of so many bytes of pinned memory and returns the bytes per second of the slower direction.
func LinkRate(ctx *cl.Context, q *cl.Queue, size int) (float64, error) {
	buffer, err := ctx.NewBuffer(int64(size))
	if err != nil {
		return 0, err
	}
	defer buffer.Release()
	pinned, err := ctx.NewPinned(q, size)
	if err != nil {
		return 0, err
	}
	defer pinned.Release()
	up, err := fastest(func() (*cl.Event, error) { return q.Write(buffer, 0, pinned, 0, size) })
	if err != nil {
		return 0, fmt.Errorf("measure the link: %w", err)
	}
	down, err := fastest(func() (*cl.Event, error) { return q.Read(pinned, 0, buffer, 0, size) })
	if err != nil {
		return 0, fmt.Errorf("measure the link: %w", err)
	}
	return float64(size) / max(up, down), nil
}

// memoryRate is the bytes per second that copies within the device's memory read and write.
func memoryRate(ctx *cl.Context, q *cl.Queue, size int64) (float64, error) {
	a := allocator{ctx: ctx}
	from, to := a.buffer(size), a.buffer(size)
	defer from.Release()
	defer to.Release()
	if a.err != nil {
		return 0, a.err
	}
	seconds, err := fastest(func() (last *cl.Event, err error) {
		for range trialCopies {
			if last, err = q.Copy(to, 0, from, 0, size); err != nil {
				return nil, err
			}
		}
		return last, nil
	})
	if err != nil {
		return 0, fmt.Errorf("measure the device's memory: %w", err)
	}
	return 2 * trialCopies * float64(size) / seconds, nil
}

// fastest is the least time that a command took, by the host's clock.
func fastest(start func() (*cl.Event, error)) (float64, error) {
	least := time.Duration(1 << 62)
	for range trialRuns {
		began := time.Now()
		e, err := start()
		if err == nil {
			err = cl.Wait(e)
		}
		if err != nil {
			return 0, err
		}
		least = min(least, time.Since(began))
	}
	return max(least.Seconds(), 1e-9), nil
}
