//go:build opencl && cgo && linux

package cl

import (
	"errors"
	"fmt"

	binding "github.com/jgillich/go-opencl/cl"
)

// code is an error code of OpenCL that the binding has no name for, or that came from our own calls.
type code int32

// The codes that this package looks at; the numbers are fixed by the OpenCL headers.
const (
	success              code = 0
	deviceNotFound       code = -1
	memAllocationFailure code = -4
	outOfResources       code = -5
	outOfHostMemory      code = -6
	buildProgramFailure  code = -11
	failedDependency     code = -14
	invalidBinary        code = -42
	platformNotFound     code = -1001 // of cl_khr_icd; also what the shim says where there is no library
)

func (c code) Error() string {
	if name, ok := codeNames[c]; ok {
		return fmt.Sprintf("%s (%d)", name, int32(c))
	}
	return fmt.Sprintf("OpenCL error %d", int32(c))
}

var codeNames = map[code]string{
	deviceNotFound:       "device not found",
	memAllocationFailure: "memory object allocation failure",
	outOfResources:       "out of resources",
	outOfHostMemory:      "out of host memory",
	buildProgramFailure:  "build program failure",
	failedDependency:     "an operation that was waited for failed",
	invalidBinary:        "invalid binary",
	platformNotFound:     "no OpenCL platform",
}

var allocationErrors = []error{
	binding.ErrMemObjectAllocationFailure, binding.ErrOutOfResources, binding.ErrOutOfHostMemory,
	binding.ErrInvalidBufferSize, memAllocationFailure, outOfResources, outOfHostMemory,
}

var buildErrors = []error{
	binding.ErrBuildProgramFailure, binding.ErrCompilerNotAvailable, binding.ErrInvalidBinary,
	binding.ErrInvalidBuildOptions, binding.ErrInvalidProgramExecutable, buildProgramFailure, invalidBinary,
}

// failure makes an *Error of what op returned; nil stays nil.
func failure(op string, err error) error {
	if err == nil {
		return nil
	}
	return &Error{Op: op, Kind: kindOf(err), Err: err}
}

func kindOf(err error) error {
	var build binding.BuildError
	switch {
	case errors.As(err, &build), isOneOf(err, buildErrors):
		return ErrBuild
	case isOneOf(err, allocationErrors):
		return ErrAllocation
	}
	return ErrDevice
}

func isOneOf(err error, list []error) bool {
	for _, e := range list {
		if errors.Is(err, e) {
			return true
		}
	}
	return false
}

// asError makes an error of a code of our own calls.
func asError(c int32) error {
	if code(c) == success {
		return nil
	}
	return code(c)
}
