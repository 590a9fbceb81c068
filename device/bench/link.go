//go:build opencl && cgo && linux

package bench

import "github.com/extsort/extsort/device/opencl"

// LinkRate measures transfers of pinned memory and returns the bytes per second of the slower
// direction.
func (b *Resident) LinkRate() (float64, error) {
	link, _, err := opencl.Rates(b.ctx, b.queue, b.info.MaxAlloc)
	return link, err
}
