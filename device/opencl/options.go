package opencl

import "github.com/extsort/extsort/device/opencl/cl"

// The failures that callers distinguish with errors.Is. All of them wrap device.ErrFailed:
// another device can sort the same chunk.
var (
	ErrUnavailable = cl.ErrUnavailable // no OpenCL in this binary or on this machine
	ErrAllocation  = cl.ErrAllocation  // the device has too little free memory
	// Compiling the kernels failed; the message contains the first lines of the log.
	ErrBuild  = cl.ErrBuild
	ErrDevice = cl.ErrDevice // the device was lost, hangs, or rejects a call
)

// Options describes how a device is used. The zero value is the default.
type Options struct {
	Index       int    // Info.Index of the device; 0: its number in the list of Devices
	MemoryBytes int64  // limit for the device's memory; 0: all of it
	Algorithm   string // one of Info.Algorithms; "": chosen by the device
	// Bits per pass, for algorithms with variable digits; 0: as measured, or according to the
	// cost model.
	DigitBits int
	Tuning    *Tuning // measurements by which algorithms and parameters are chosen; may be nil
}
