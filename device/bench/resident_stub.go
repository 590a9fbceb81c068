//go:build !opencl || !cgo || !linux

package bench

import (
	"github.com/extsort/extsort/device"
	"github.com/extsort/extsort/device/opencl"
)

// Resident is a Bed on an OpenCL device, which this binary cannot have.
type Resident struct{ Bed }

// NewResident fails: this binary was built without OpenCL. The error tells how to build one with it.
func NewResident(device.Info) (*Resident, error) {
	_, err := opencl.Devices()
	return nil, err
}

// LinkRate is not to be had.
func (*Resident) LinkRate() (float64, error) {
	_, err := opencl.Devices()
	return 0, err
}
