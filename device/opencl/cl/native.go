//go:build opencl && cgo && linux

package cl

// #cgo CFLAGS: -DCL_TARGET_OPENCL_VERSION=120
// #cgo LDFLAGS: -Wl,--as-needed -ldl
// #include <CL/cl.h>
// #include <stdlib.h>
//
// static cl_program programOfBinary(cl_context c, cl_device_id d, const unsigned char *binary, size_t size,
//                                   const char *options, cl_int *err) {
// 	cl_int status = CL_SUCCESS;
// 	cl_program p = clCreateProgramWithBinary(c, 1, &d, &size, &binary, &status, err);
// 	if (*err == CL_SUCCESS) *err = status;
// 	if (*err == CL_SUCCESS) *err = clBuildProgram(p, 1, &d, options, NULL, NULL);
// 	if (*err != CL_SUCCESS && p) {
// 		clReleaseProgram(p);
// 		p = NULL;
// 	}
// 	return p;
// }
//
// static cl_int binaryOfProgram(cl_program p, unsigned char *binary) {
// 	return clGetProgramInfo(p, CL_PROGRAM_BINARIES, sizeof binary, &binary, NULL);
// }
//
// int isInstalled(void);
import "C"

import (
	"runtime"
	"unsafe"

	binding "github.com/jgillich/go-opencl/cl"
)

// This file is our own cgo: the calls that the binding lacks. Each of the binding's wrappers keeps the raw handle
// as its first field, which handle reads.

func handle[T any](wrapper *T) unsafe.Pointer {
	return *(*unsafe.Pointer)(unsafe.Pointer(wrapper))
}

// Installed reports whether libOpenCL is there, without asking it for platforms.
func Installed() bool { return C.isInstalled() != 0 }

// flush submits what has been queued, without waiting for it (the binding's Flush calls clFinish).
func flush(q *binding.CommandQueue) error {
	err := asError(int32(C.clFlush(C.cl_command_queue(handle(q)))))
	runtime.KeepAlive(q)
	return err
}

// eventStatus is 0 when the command is complete, negative when it failed, positive before.
func eventStatus(e *binding.Event) (int32, error) {
	var status C.cl_int
	err := asError(int32(C.clGetEventInfo(C.cl_event(handle(e)), C.CL_EVENT_COMMAND_EXECUTION_STATUS,
		C.size_t(unsafe.Sizeof(status)), unsafe.Pointer(&status), nil)))
	runtime.KeepAlive(e)
	return int32(status), err
}

// property reads a value of any length (the binding's buffer has 1024 bytes, and it panics beyond).
func property(ask func(size C.size_t, value unsafe.Pointer, needed *C.size_t) C.cl_int) ([]byte, error) {
	var size C.size_t
	if c := ask(0, nil, &size); c != 0 || size == 0 {
		return nil, asError(int32(c))
	}
	value := make([]byte, size)
	c := ask(size, unsafe.Pointer(&value[0]), nil)
	return value, asError(int32(c))
}

func queryDevice(d *binding.Device, what uint32) ([]byte, error) {
	return property(func(size C.size_t, value unsafe.Pointer, needed *C.size_t) C.cl_int {
		return C.clGetDeviceInfo(C.cl_device_id(handle(d)), C.cl_device_info(what), size, value, needed)
	})
}

func queryPlatform(p *binding.Platform, what uint32) ([]byte, error) {
	return property(func(size C.size_t, value unsafe.Pointer, needed *C.size_t) C.cl_int {
		return C.clGetPlatformInfo(C.cl_platform_id(handle(p)), C.cl_platform_info(what), size, value, needed)
	})
}

func kernelLocalBytes(k *binding.Kernel, d *binding.Device) (int64, error) {
	var value C.cl_ulong
	c := C.clGetKernelWorkGroupInfo(C.cl_kernel(handle(k)), C.cl_device_id(handle(d)), C.CL_KERNEL_LOCAL_MEM_SIZE,
		C.size_t(unsafe.Sizeof(value)), unsafe.Pointer(&value), nil)
	runtime.KeepAlive(k)
	return int64(value), asError(int32(c))
}

// programBinary reads the compiled program of a context's only device.
func programBinary(p *binding.Program) ([]byte, error) {
	program := C.cl_program(handle(p))
	var size C.size_t
	c := C.clGetProgramInfo(program, C.CL_PROGRAM_BINARY_SIZES, C.size_t(unsafe.Sizeof(size)), unsafe.Pointer(&size), nil)
	if c != 0 || size == 0 {
		return nil, asError(int32(c))
	}
	value := make([]byte, size)
	c = C.binaryOfProgram(program, (*C.uchar)(&value[0]))
	runtime.KeepAlive(p)
	return value, asError(int32(c))
}

// programFromBinary builds a program of what programBinary returned in an earlier process.
func programFromBinary(c *binding.Context, d *binding.Device, binary []byte, options string) (*binding.Program, error) {
	cOptions := C.CString(options)
	defer C.free(unsafe.Pointer(cOptions))
	var err C.cl_int
	raw := C.programOfBinary(C.cl_context(handle(c)), C.cl_device_id(handle(d)), (*C.uchar)(&binary[0]),
		C.size_t(len(binary)), cOptions, &err)
	runtime.KeepAlive(c)
	if raw == nil {
		return nil, asError(int32(err))
	}
	program := new(binding.Program)
	*(*C.cl_program)(unsafe.Pointer(program)) = raw
	return program, nil
}
