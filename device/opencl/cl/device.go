//go:build opencl && cgo && linux

package cl

// #include <CL/cl.h>
import "C"

import (
	"bytes"
	"cmp"
	"runtime"
	"slices"
	"strings"
	"unsafe"

	binding "github.com/jgillich/go-opencl/cl"
)

// A Device is one device of a platform, with the properties that the kernels and the planner
// need.
type Device struct {
	Name, Vendor, Driver, Version string
	GPU, Accelerator              bool  // some implementations (oclgrind) are both
	MemoryBytes                   int64 // global memory
	UnifiedMemory                 bool  // global memory is host memory
	MaxAllocBytes                 int64 // maximum size of one buffer
	LocalBytes                    int64 // local memory per work-group
	Units                         int   // compute units
	MaxGroup                      int   // maximum number of work-items in a work-group
	Extensions                    []string

	raw *binding.Device
}

// Has reports whether the device supports an extension.
func (d *Device) Has(extension string) bool {
	return slices.Contains(d.Extensions, extension)
}

const platformNotFound binding.ErrOther = -1001 // also returned by the shim if there is no library

// Devices returns the devices of all platforms. An error describes drivers and devices that
// failed; the list may still contain others. The error wraps ErrUnavailable if there is no
// libOpenCL, no driver, or no device.
func Devices() ([]*Device, error) {
	platforms, err := binding.GetPlatforms()
	if err != nil && err != platformNotFound {
		return nil, failure("list platforms", err)
	}
	var list []*Device
	var failed error
	for _, p := range platforms {
		devices, err := p.GetDevices(binding.DeviceTypeAll)
		if err != nil && err != binding.ErrDeviceNotFound {
			failed = cmp.Or(failed, failure("list a platform's devices", err))
		}
		for _, raw := range devices {
			d, err := describe(raw)
			if err == nil {
				list = append(list, d)
			}
			failed = cmp.Or(failed, failure("describe a device", err))
		}
	}
	if len(list) == 0 && failed == nil {
		failed = ErrUnavailable
	}
	return list, failed
}

func describe(raw *binding.Device) (*Device, error) {
	q := query{device: raw}
	kind := q.number(C.CL_DEVICE_TYPE)
	d := &Device{raw: raw,
		Name: q.text(C.CL_DEVICE_NAME), Vendor: q.text(C.CL_DEVICE_VENDOR), Driver: q.text(C.CL_DRIVER_VERSION),
		Version: q.text(C.CL_DEVICE_VERSION),
		GPU:     kind&C.CL_DEVICE_TYPE_GPU != 0, Accelerator: kind&C.CL_DEVICE_TYPE_ACCELERATOR != 0,
		MemoryBytes: q.number(
			C.CL_DEVICE_GLOBAL_MEM_SIZE,
		), MaxAllocBytes: q.number(C.CL_DEVICE_MAX_MEM_ALLOC_SIZE),
		UnifiedMemory: q.number(C.CL_DEVICE_HOST_UNIFIED_MEMORY) != 0,
		LocalBytes: q.number(
			C.CL_DEVICE_LOCAL_MEM_SIZE,
		), Units: int(q.number(C.CL_DEVICE_MAX_COMPUTE_UNITS)),
		MaxGroup:   int(q.number(C.CL_DEVICE_MAX_WORK_GROUP_SIZE)),
		Extensions: strings.Fields(q.text(C.CL_DEVICE_EXTENSIONS)),
	}
	if q.number(C.CL_DEVICE_AVAILABLE) == 0 && q.err == nil {
		q.err = binding.ErrDeviceNotAvailable
	}
	return d, q.err
}

// A query reads properties of a device until one fails.
type query struct {
	device *binding.Device
	err    error
}

func (q *query) bytes(what C.cl_device_info) (value []byte) {
	if q.err == nil {
		value, q.err = info(func(size C.size_t, value unsafe.Pointer, used *C.size_t) C.cl_int {
			return C.clGetDeviceInfo(
				C.cl_device_id(handle(q.device)),
				what,
				size,
				value,
				used,
			)
		})
	}
	return value
}

func (q *query) text(what C.cl_device_info) string {
	value, _, _ := bytes.Cut(q.bytes(what), []byte{0})
	return strings.TrimSpace(string(value))
}

func (q *query) number(what C.cl_device_info) int64 {
	return number(q.bytes(what))
}

// A Context owns the objects of one device. Its methods are safe for concurrent use.
type Context struct {
	Device *Device
	raw    *binding.Context
}

// NewContext opens a device.
func NewContext(d *Device) (*Context, error) {
	raw, err := binding.CreateContext([]*binding.Device{d.raw})
	if err != nil {
		return nil, failure("open "+d.Name, err)
	}
	runtime.SetFinalizer(raw, nil)
	return &Context{Device: d, raw: raw}, nil
}

// Release frees the context. REQUIRES: all objects created in it are released or no longer used.
func (c *Context) Release() { c.raw.Release() }
