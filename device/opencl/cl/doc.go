// Package cl provides the part of OpenCL 1.2 that sorting needs: devices, contexts, in-order
// queues with profiling, programs, kernels, device buffers and pinned host memory.
//
// Only the root package of this module is stable: this package may change in any version.
//
// It is a thin layer over github.com/jgillich/go-opencl/cl. It requires -tags opencl, cgo and
// Linux; otherwise it provides only the errors in this file. It adds functions that the binding
// lacks (a clFlush that does not wait, event status, long queries), and it protects the binding and
// the drivers from calls that would crash them:
//
//   - Finalizers free only events. A buffer lives until Release, so kernels cannot lose arguments.
//   - Wait lists may be empty, nil, or contain nil events. A launch of 0 work-items does nothing
//     and returns a nil Event.
//   - Asynchronous transfers accept only Pinned memory, never memory of the Go heap.
//   - Setting arguments and launching is one step, so goroutines can share a kernel.
//   - Every error names the operation. errors.Is distinguishes the kinds of failure.
//
// The package does not link to libOpenCL: shim.c forwards each call to the library that dlopen
// finds at first use. So the same binary starts on machines without OpenCL, and Devices returns
// ErrUnavailable there. The environment variable EXTSORT_OPENCL_LIBRARY names another library to
// load, which tests use to inject faults. A program that runs with higher privileges than its
// caller ignores the variable.
package cl

import "github.com/extsort/extsort/device"

// The failures that callers distinguish with errors.Is. All of them wrap device.ErrFailed.
var (
	ErrUnavailable = device.NewFailure("no OpenCL") // no libOpenCL, or no driver installed
	ErrAllocation  = device.NewFailure("out of device memory or resources")
	ErrBuild       = device.NewFailure("kernels cannot be built")
	// The device was lost, or rejects a valid operation.
	ErrDevice = device.NewFailure("device failed")
)
