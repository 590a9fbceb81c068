package cl

import "errors"

// What callers distinguish by errors.Is. All but ErrUnavailable come as an *Error.
var (
	ErrUnavailable = errors.New("no OpenCL") // no libOpenCL, or no driver known to it
	ErrAllocation  = errors.New("out of device memory or resources")
	ErrBuild       = errors.New("kernels cannot be built")
	ErrDevice      = errors.New("device failed") // lost, or refusing what it should not refuse
)

// Error is a call of OpenCL that failed.
type Error struct {
	Op   string // what was tried
	Kind error  // one of the errors above
	Err  error  // what the driver said
}

func (e *Error) Error() string { return "opencl: " + e.Op + ": " + e.Err.Error() }

// Unwrap lets errors.Is see both the kind and the driver's own error.
func (e *Error) Unwrap() []error { return []error{e.Kind, e.Err} }
