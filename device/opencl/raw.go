//go:build opencl && cgo && linux

package opencl

import (
	"fmt"

	"github.com/extsort/extsort/device/opencl/algo"
	"github.com/extsort/extsort/device/opencl/cl"
)

// Raw is the device with that number in the list of Devices, for measurements that need its queues and buffers.
func Raw(index int) (*cl.Device, error) {
	list, err := openable()
	if err != nil {
		return nil, err
	}
	if index < 1 || index > len(list) {
		return nil, fmt.Errorf("no OpenCL device %d: there are 1 to %d", index, len(list))
	}
	return list[index-1], nil
}

// Fingerprint tells the kernels of this binary from those of another: a Tuning holds only for its own.
func Fingerprint() string { return algo.Fingerprint() }
