// Package cl is the little of OpenCL 1.2 that sorting needs: devices, contexts, in-order queues with profiling,
// programs, kernels, device buffers and pinned host memory.
//
// Only the root package of this module is stable: this package may change in any version.
//
// It is a thin layer over github.com/jgillich/go-opencl/cl and built only with -tags opencl (and cgo, on Linux);
// without them only the errors of this file remain. It adds what the binding lacks (a clFlush that does not wait,
// event status, long queries) and stands guard before what the binding or drivers do not survive:
//
//   - nothing is freed by finalizers but events: a buffer lives until Release, so kernels cannot lose arguments
//   - wait lists may be empty, nil, or hold nil events; a launch over no work-items is no launch and a nil Event
//   - transfers that return before they are done take Pinned memory only, never memory of Go's heap
//   - setting arguments and launching is one step, so that a kernel can be shared by goroutines
//   - every error names the operation and says by errors.Is what is to be done about it
//
// libOpenCL is not linked to: shim.c forwards each call to the library that dlopen finds at first use, so the same
// binary starts where there is none, and then Devices returns ErrUnavailable. The environment variable
// EXTSORT_OPENCL_LIBRARY names another library to load, which tests use to inject faults; a program that runs with more
// rights than its caller has does not ask it.
package cl

import "github.com/extsort/extsort/device"

// The failures that callers distinguish by errors.Is. All of them wrap device.ErrFailed.
var (
	ErrUnavailable = device.NewFailure("no OpenCL") // no libOpenCL, or no driver known to it
	ErrAllocation  = device.NewFailure("out of device memory or resources")
	ErrBuild       = device.NewFailure("kernels cannot be built")
	ErrDevice      = device.NewFailure("device failed") // lost, or refusing what it should not refuse
)
