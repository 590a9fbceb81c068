//go:build opencl && cgo && linux

package cl

import (
	"errors"

	binding "github.com/jgillich/go-opencl/cl"
)

// failedDependency is the status of an event whose command did not run because one that it waited for had failed.
const failedDependency = -14

// byCode names the failures that commands end with and that our own calls return, as the binding does for its own.
var byCode = map[int32]error{
	-4: binding.ErrMemObjectAllocationFailure, -5: binding.ErrOutOfResources, -6: binding.ErrOutOfHostMemory,
	-11: binding.ErrBuildProgramFailure, -42: binding.ErrInvalidBinary,
	failedDependency: binding.ErrExecStatusErrorForEventsInWaitList,
}

// asError makes an error of a code of our own calls.
func asError(code int32) error {
	if err, ok := byCode[code]; ok || code == 0 {
		return err
	}
	return binding.ErrOther(code)
}

var kinds = map[error]error{
	binding.ErrMemObjectAllocationFailure: ErrAllocation, binding.ErrOutOfResources: ErrAllocation,
	binding.ErrOutOfHostMemory: ErrAllocation, binding.ErrInvalidBufferSize: ErrAllocation,
	binding.ErrBuildProgramFailure: ErrBuild, binding.ErrCompilerNotAvailable: ErrBuild,
	binding.ErrInvalidBinary: ErrBuild, binding.ErrInvalidBuildOptions: ErrBuild,
	binding.ErrInvalidProgramExecutable: ErrBuild,
}

// failure makes an *Error of what op returned; nil stays nil.
func failure(op string, err error) error {
	if err == nil {
		return nil
	}
	kind := ErrDevice
	var build binding.BuildError
	if errors.As(err, &build) {
		kind = ErrBuild
	} else if known, ok := kinds[err]; ok {
		kind = known
	}
	return &Error{Op: op, Kind: kind, Err: err}
}
