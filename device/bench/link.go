//go:build opencl && cgo && linux

package bench

import "github.com/extsort/extsort/device/opencl"

const linkBytes = 64 << 20 // of pinned memory: enough to be measured, and little enough to pin in a moment

// LinkRate measures transfers of pinned memory and returns the bytes per second of the slower direction.
func (b *Resident) LinkRate() (float64, error) {
	return opencl.LinkRate(b.ctx, b.queue, int(min(linkBytes, b.info.MaxAlloc)))
}
