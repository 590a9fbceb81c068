package opencl

import "github.com/extsort/extsort/device/opencl/cl"

// The failures that callers distinguish by errors.Is. All of them wrap device.ErrFailed: another device can sort the
// same chunk.
var (
	ErrUnavailable = cl.ErrUnavailable // no OpenCL in this binary or on this machine
	ErrAllocation  = cl.ErrAllocation  // the device has less memory to give than it was asked for
	ErrBuild       = cl.ErrBuild       // the kernels cannot be built; the message has the build log's first lines
	ErrDevice      = cl.ErrDevice      // the device failed: lost, hung, or refusing a call
)

// Options say how a device is used. The zero value is the default.
type Options struct {
	Index       int     // Info.Index of the device; 0: its number in the list of Devices
	MemoryBytes int64   // use no more than this of the device's memory; 0: all
	Algorithm   string  // one of Info.Algorithms; "": the device's choice
	DigitBits   int     // that a pass sorts by, of algorithms that leave it open; 0: as measured, or by the cost model
	Tuning      *Tuning // what was measured of the device, which the choice of algorithms and parameters uses; may be nil
}
