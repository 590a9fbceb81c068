//go:build opencl && cgo && linux

package bench

import (
	"slices"
	"time"

	"github.com/extsort/extsort/device/opencl/cl"
)

const (
	linkBytes = 64 << 20 // of pinned memory: 1.2 ms at 55 GB/s, and little enough to pin in 40 ms
	linkRuns  = 8
)

// LinkRate measures transfers of pinned memory and returns the bytes per second of the slower direction.
func (b *Resident) LinkRate() (float64, error) {
	size := int(min(linkBytes, b.info.MaxAlloc))
	buffer, err := b.ctx.NewBuffer(int64(size))
	if err != nil {
		return 0, err
	}
	defer buffer.Release()
	pinned, err := b.ctx.NewPinned(b.queue, size)
	if err != nil {
		return 0, err
	}
	defer pinned.Release()
	up, err := b.transfers(func() (*cl.Event, error) { return b.queue.Write(buffer, 0, pinned, 0, size) })
	if err != nil {
		return 0, err
	}
	down, err := b.transfers(func() (*cl.Event, error) { return b.queue.Read(pinned, 0, buffer, 0, size) })
	return float64(size) / max(up, down), err
}

// transfers is the median time of a transfer, the first, which touches the memory, left out.
func (b *Resident) transfers(start func() (*cl.Event, error)) (float64, error) {
	var seconds []float64
	for range linkRuns + 1 {
		began := time.Now()
		e, err := start()
		if err == nil {
			err = cl.Wait(e)
		}
		if err != nil {
			return 0, err
		}
		seconds = append(seconds, time.Since(began).Seconds())
	}
	return median(slices.Delete(seconds, 0, 1)), nil
}
