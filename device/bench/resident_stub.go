//go:build !opencl || !cgo || !linux

package bench

import (
	"github.com/extsort/extsort/device"
	"github.com/extsort/extsort/device/opencl"
)

// Resident is a Bed on an OpenCL device. This binary does not support it.
type Resident struct{ Bed }

// NewResident returns an error that says how to build a binary with OpenCL.
func NewResident(device.Info) (*Resident, error) {
	_, err := opencl.Devices()
	return nil, err
}

// LinkRate returns an error.
func (*Resident) LinkRate() (float64, error) {
	_, err := opencl.Devices()
	return 0, err
}
