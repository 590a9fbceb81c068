//go:build opencl && cgo && linux

package opencl

import (
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/extsort/extsort/device/opencl/cl"
)

const (
	trialBytes  = 64 << 20 // two of them exceed the cache of a large GPU
	trialPinned = 32 << 20 // pinned and transferred in a moment
	trialCopies = 8        // copies in one batch
	trialRuns   = 4        // the fastest counts; the first one faults in memory

	// movesPerSort is the time of the slower default sort of 8-byte keys, divided by the time to
	// read or write the keys once in device memory.
	movesPerSort = 25
)

// MeasureRates measures Info.LinkRate and Info.SortRate. Apart from starting the device, which is
// then done, it takes some milliseconds. It builds no kernel: it estimates the sort rate,
// conservatively, from the rate of copying.
func (d *openDevice) MeasureRates() error {
	s, err := d.start()
	if err != nil {
		return err
	}
	link, moved, err := Rates(
		s.ctx,
		s.kernels,
		min(d.dev.MemoryBytes/8, d.dev.MaxAllocBytes),
	)
	if err != nil {
		return err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.linkRate = link
	d.sortRate = moved / movesPerSort
	return nil
}

// Rates measures the link and the memory of a device, with buffers of up to most bytes. link is
// the rate of transfers of pinned memory in the slower direction. moved is the rate at which
// copies within the device's memory read and write. Both are bytes per second.
func Rates(
	ctx *cl.Context,
	q *cl.Queue,
	most int64,
) (link, moved float64, err error) {
	size := min(most, trialBytes)
	a := allocator{ctx: ctx}
	from := a.buffer(size)
	to := a.buffer(size)
	defer a.release()
	pinned, err := ctx.NewPinned(q, int(min(size, trialPinned)))
	defer pinned.Release()
	if err = errors.Join(a.err, err); err != nil {
		return 0, 0, err
	}
	n := len(pinned.Bytes)
	up, err1 := fastestSeconds(func() (*cl.Event, error) {
		return q.Write(from, 0, pinned, 0, n)
	})
	down, err2 := fastestSeconds(func() (*cl.Event, error) {
		return q.Read(pinned, from, 0, n)
	})
	copied, err3 := fastestSeconds(func() (last *cl.Event, err error) {
		for i := 0; i < trialCopies && err == nil; i++ {
			last, err = q.Copy(to, from, size)
		}
		return last, err
	})
	return float64(n) / max(up, down), 2 * trialCopies * float64(size) / copied, errors.Join(err1, err2, err3)
}

// fastestSeconds returns the time of the fastest of several commands, by the host's clock.
func fastestSeconds(start func() (*cl.Event, error)) (seconds float64, err error) {
	least := time.Duration(math.MaxInt64)
	for range trialRuns {
		began := time.Now()
		e, err := start()
		if err == nil {
			err = cl.Wait(e)
		}
		if err != nil {
			return 1, fmt.Errorf("measure the device: %w", err)
		}
		least = min(least, time.Since(began))
	}
	return max(least.Seconds(), 1e-9), nil
}
