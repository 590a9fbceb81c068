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

// This file contains the package's own cgo code: calls that the binding lacks, and the conversion
// of errors. Each wrapper type of the binding stores the raw handle in its first field, which
// handle reads.

func handle[T any](wrapper *T) unsafe.Pointer {
	return *(*unsafe.Pointer)(unsafe.Pointer(wrapper))
}

// Installed reports whether libOpenCL can be loaded. It does not start the platforms.
func Installed() bool { return C.isInstalled() != 0 }

// Flush submits the queued commands to the device without waiting for them (the binding's Flush
// calls clFinish). If another queue waits for a command, the command must be flushed.
func (q *Queue) Flush() error {
	err := asError(C.clFlush(C.cl_command_queue(handle(q.raw))))
	runtime.KeepAlive(q)
	return failure("flush", err)
}

// asError converts the code of a command or of one of our own calls to an error, like the binding
// does.
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

// failed is the error of an OpenCL call. It wraps its kind and the driver's error, and has the
// text of the latter.
type failed struct {
	kind error
	error
}

func (e failed) Unwrap() []error { return []error{e.kind, e.error} }

func failedAs(kind error, op string, err error) error {
	return failed{kind, fmt.Errorf("opencl: %s: %w", op, err)}
}

// failure returns the error of operation op, with its kind. It returns nil for nil.
func failure(op string, err error) error {
	if err == nil {
		return nil
	}
	kind := ErrDevice
	_, ok := errors.AsType[binding.BuildError](err)
	if ok {
		kind = ErrBuild
	} else if known, ok := kinds[err]; ok {
		kind = known
	}
	return failedAs(kind, op, err)
}

// longestInfo has room for a device's list of extensions. The binding's buffer has only 1024
// bytes.
const longestInfo = 64 << 10

// info reads a value with one of the functions clGet…Info.
func info(
	get func(size C.size_t, value unsafe.Pointer, used *C.size_t) C.cl_int,
) ([]byte, error) {
	value := make([]byte, longestInfo)
	used := C.size_t(0)
	code := get(longestInfo, unsafe.Pointer(&value[0]), &used)
	return value[:used], asError(code)
}

// number decodes a value of 4 or 8 bytes. It returns 0 if there is no value.
func number(value []byte) int64 {
	if len(value) >= 8 {
		return int64(binary.NativeEndian.Uint64(value))
	}
	return int64(int32(binary.NativeEndian.Uint32(append(value, 0, 0, 0, 0))))
}

// eventStatus returns 0 if the command is complete, a negative number if it failed, and a
// positive one otherwise.
func eventStatus(e *binding.Event) int32 {
	status, _ := info(func(size C.size_t, value unsafe.Pointer, used *C.size_t) C.cl_int {
		return C.clGetEventInfo(
			C.cl_event(handle(e)),
			C.CL_EVENT_COMMAND_EXECUTION_STATUS,
			size,
			value,
			used,
		)
	})
	runtime.KeepAlive(e)
	return int32(number(status))
}

// LocalBytes returns how much local memory a work-group of the kernel uses, according to the
// driver.
func (k *Kernel) LocalBytes() (int64, error) {
	bytes, err := info(func(size C.size_t, value unsafe.Pointer, used *C.size_t) C.cl_int {
		return C.clGetKernelWorkGroupInfo(
			C.cl_kernel(handle(k.raw)),
			nil,
			C.CL_KERNEL_LOCAL_MEM_SIZE,
			size,
			value,
			used,
		)
	})
	return number(bytes), failure("query kernel "+k.Name, err)
}
