//go:build opencl && cgo && linux

package opencl

import (
	"fmt"
	"math"
	"sync"
	"time"

	"github.com/extsort/extsort/device/opencl/cl"
)

const (
	trialBytes  = 16 << 20 // of pinned memory: a moment to pin and to transfer
	trialCopy   = 64 << 20 // within the device's memory: two of them are more than a large GPU's cache
	trialCopies = 8        // in one go
	trialRuns   = 4        // of which the fastest counts: the first touches memory

	// movesPerSort is how much longer the slower of the default sorts takes for 8-byte keys than reading or writing
	// them once in the device's memory.
	movesPerSort = 25

	linkEnough = 1 << 20 // bytes: of fewer the start-up is what is measured
	sortEnough = 1 << 20 // records: fewer say nothing of the device
)

// rates are the best that were seen of a device, in bytes per second: of its link each way, and of sorting u64 keys.
type rates struct {
	mu         sync.Mutex
	link, sort float64
}

func (r *rates) note(link, sort float64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.link, r.sort = max(r.link, link), max(r.sort, sort)
}

// noteLink remembers a transfer.
func (r *rates) noteLink(bytes int, took time.Duration) {
	if bytes >= linkEnough && took > 0 {
		r.note(float64(bytes)/took.Seconds(), 0)
	}
}

// noteSort remembers the sort of a chunk.
func (r *rates) noteSort(s shape, records int64, seconds float64) {
	if s.bare && s.keyBytes == 8 && records >= sortEnough && seconds > 0 {
		r.note(0, 8*float64(records)/seconds)
	}
}

// MeasureRates finds out what Info tells as LinkRate and SortRate, in some milliseconds besides what the device takes
// to start, which it then need not do again. No kernel is built for it: the rate of sorting is estimated, with
// caution, from that of copying.
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
	if err == nil {
		e.rates.note(link, moving/movesPerSort)
	}
	return err
}

// LinkRate measures transfers of so many bytes of pinned memory and returns the bytes per second of the slower
// direction.
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
		return 0, err
	}
	down, err := fastest(func() (*cl.Event, error) { return q.Read(pinned, 0, buffer, 0, size) })
	if err != nil {
		return 0, err
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
		for i := 0; i < trialCopies && err == nil; i++ {
			last, err = q.Copy(to, 0, from, 0, size)
		}
		return last, err
	})
	if err != nil {
		return 0, err
	}
	return 2 * trialCopies * float64(size) / seconds, nil
}

// fastest is the least time that a command took, by the host's clock.
func fastest(start func() (*cl.Event, error)) (float64, error) {
	least := time.Duration(math.MaxInt64)
	for range trialRuns {
		began := time.Now()
		e, err := start()
		if err == nil {
			err = cl.Wait(e)
		}
		if err != nil {
			return 0, fmt.Errorf("measure the device: %w", err)
		}
		least = min(least, time.Since(began))
	}
	return max(least.Seconds(), 1e-9), nil
}
