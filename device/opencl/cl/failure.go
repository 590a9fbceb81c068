//go:build opencl && cgo && linux

package cl

import (
	"errors"

	binding "github.com/jgillich/go-opencl/cl"
)

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
