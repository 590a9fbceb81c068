//go:build opencl && cgo && linux

package cl

// #cgo CFLAGS: -DCL_TARGET_OPENCL_VERSION=120
// #cgo LDFLAGS: -Wl,--as-needed -ldl
// #include <CL/cl.h>
//
// int isInstalled(void);
import "C"

import (
	"encoding/binary"
	"errors"
	"fmt"
	"runtime"
	"unsafe"

	binding "github.com/jgillich/go-opencl/cl"
)

// This file is our own cgo, the calls that the binding lacks, and what is made of errors. Each of the binding's
// wrappers keeps the raw handle as its first field, which handle reads.

func handle[T any](wrapper *T) unsafe.Pointer {
	return *(*unsafe.Pointer)(unsafe.Pointer(wrapper))
}

// Installed reports whether libOpenCL is there, without asking it for platforms.
func Installed() bool { return C.isInstalled() != 0 }

// Flush hands the queued commands to the device without waiting for them (the binding's Flush calls clFinish). A
// command that another queue waits for must have been flushed.
func (q *Queue) Flush() error {
	err := asError(C.clFlush(C.cl_command_queue(handle(q.raw))))
	runtime.KeepAlive(q)
	return failure("flush", err)
}

// asError makes an error of the code of a command or of our own calls, as the binding does of its own.
func asError[T ~int32](code T) error {
	switch code {
	case 0:
		return nil
	case C.CL_MEM_OBJECT_ALLOCATION_FAILURE:
		return binding.ErrMemObjectAllocationFailure
	case C.CL_OUT_OF_RESOURCES:
		return binding.ErrOutOfResources
	case C.CL_OUT_OF_HOST_MEMORY:
		return binding.ErrOutOfHostMemory
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

// failed is a call of OpenCL that failed: for errors.Is both its kind and the driver's own error, whose text it has.
type failed struct {
	kind error
	error
}

func (e failed) Unwrap() []error { return []error{e.kind, e.error} }

func failedAs(kind error, op string, err error) error {
	return failed{kind, fmt.Errorf("opencl: %s: %w", op, err)}
}

// failure says what op returned, of the kind that the error is of; nil stays nil.
func failure(op string, err error) error {
	if err == nil {
		return nil
	}
	kind := ErrDevice
	if _, ok := errors.AsType[binding.BuildError](err); ok {
		kind = ErrBuild
	} else if known, ok := kinds[err]; ok {
		kind = known
	}
	return failedAs(kind, op, err)
}

// longestInfo has room for a device's list of extensions (the binding's buffer has 1024 bytes).
const longestInfo = 64 << 10

// info reads a value by one of the functions clGet…Info.
func info(get func(size C.size_t, value unsafe.Pointer, used *C.size_t) C.cl_int) ([]byte, error) {
	value, used := make([]byte, longestInfo), C.size_t(0)
	code := get(longestInfo, unsafe.Pointer(&value[0]), &used)
	return value[:used], asError(code)
}

// number is a value of 4 or 8 bytes; 0 where there is none.
func number(value []byte) int64 {
	if len(value) >= 8 {
		return int64(binary.NativeEndian.Uint64(value))
	}
	return int64(int32(binary.NativeEndian.Uint32(append(value, 0, 0, 0, 0))))
}

// eventStatus is 0 when the command is complete, negative when it failed, positive before.
func eventStatus(e *binding.Event) int32 {
	status, _ := info(func(size C.size_t, value unsafe.Pointer, used *C.size_t) C.cl_int {
		return C.clGetEventInfo(C.cl_event(handle(e)), C.CL_EVENT_COMMAND_EXECUTION_STATUS, size, value, used)
	})
	runtime.KeepAlive(e)
	return int32(number(status))
}

// LocalBytes asks the driver how much local memory a work-group of the kernel takes.
func (k *Kernel) LocalBytes() (int64, error) {
	bytes, err := info(func(size C.size_t, value unsafe.Pointer, used *C.size_t) C.cl_int {
		return C.clGetKernelWorkGroupInfo(C.cl_kernel(handle(k.raw)), nil, C.CL_KERNEL_LOCAL_MEM_SIZE, size, value, used)
	})
	return number(bytes), failure("query kernel "+k.Name, err)
}
