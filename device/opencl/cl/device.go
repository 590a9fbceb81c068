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

// Device is one device of a platform, with what it says of itself that the kernels and the planner want to know.
type Device struct {
	Name, Vendor, Driver, Version string
	GPU, Accelerator              bool  // some implementations (oclgrind) are both
	MemoryBytes                   int64 // global memory
	UnifiedMemory                 bool  // which is the host's
	MaxAllocBytes                 int64 // of one buffer
	LocalBytes                    int64 // local memory of a work-group
	Units                         int   // compute units
	MaxGroup                      int   // work-items in a work-group
	Extensions                    []string

	raw *binding.Device
}

// Has reports whether the device offers an extension.
func (d *Device) Has(extension string) bool { return slices.Contains(d.Extensions, extension) }

const platformNotFound binding.ErrOther = -1001 // also what the shim says where there is no library

// Devices lists the devices of all platforms. The error, beside which there may be devices, is of drivers and devices
// that fail; it wraps ErrUnavailable when there is no libOpenCL, or no driver that it knows, or none that has a device.
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
		MemoryBytes: q.number(C.CL_DEVICE_GLOBAL_MEM_SIZE), MaxAllocBytes: q.number(C.CL_DEVICE_MAX_MEM_ALLOC_SIZE),
		UnifiedMemory: q.number(C.CL_DEVICE_HOST_UNIFIED_MEMORY) != 0,
		LocalBytes:    q.number(C.CL_DEVICE_LOCAL_MEM_SIZE), Units: int(q.number(C.CL_DEVICE_MAX_COMPUTE_UNITS)),
		MaxGroup:   int(q.number(C.CL_DEVICE_MAX_WORK_GROUP_SIZE)),
		Extensions: strings.Fields(q.text(C.CL_DEVICE_EXTENSIONS)),
	}
	if q.number(C.CL_DEVICE_AVAILABLE) == 0 && q.err == nil {
		q.err = binding.ErrDeviceNotAvailable
	}
	return d, q.err
}

// query reads a device's properties until one fails.
type query struct {
	device *binding.Device
	err    error
}

func (q *query) bytes(what C.cl_device_info) (value []byte) {
	if q.err == nil {
		value, q.err = info(func(size C.size_t, value unsafe.Pointer, used *C.size_t) C.cl_int {
			return C.clGetDeviceInfo(C.cl_device_id(handle(q.device)), what, size, value, used)
		})
	}
	return value
}

func (q *query) text(what C.cl_device_info) string {
	value, _, _ := bytes.Cut(q.bytes(what), []byte{0})
	return strings.TrimSpace(string(value))
}

func (q *query) number(what C.cl_device_info) int64 { return number(q.bytes(what)) }

// Context holds the objects of one device. Its methods are safe for concurrent use.
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

// Release gives the context back. REQUIRES: all that was made in it is released, or not used any more.
func (c *Context) Release() { c.raw.Release() }
