//go:build opencl && cgo && linux

package cl

import (
	"bytes"
	"encoding/binary"
	"runtime"
	"slices"
	"strings"

	binding "github.com/jgillich/go-opencl/cl"
)

// DeviceType is a set of bits: some implementations (oclgrind) set several.
type DeviceType uint64

// The bits of DeviceType.
const (
	TypeGPU         DeviceType = 1 << 2
	TypeAccelerator DeviceType = 1 << 3
)

// Device is one device of a platform, with what it says of itself.
type Device struct {
	Properties
	raw *binding.Device
}

// Properties are what the kernels and the planner want to know of a device.
type Properties struct {
	Name, Vendor, Driver, Version string
	Platform                      string // name and version of the platform
	Type                          DeviceType
	MemoryBytes                   int64 // global memory
	MaxAllocBytes                 int64 // of one buffer
	LocalBytes                    int64 // local memory of a work-group
	Units                         int   // compute units
	MaxGroup                      int   // work-items in a work-group
	LittleEndian                  bool
	Extensions                    []string
}

// Has reports whether the device offers an extension.
func (p *Properties) Has(extension string) bool { return slices.Contains(p.Extensions, extension) }

// The numbers of the properties, from cl.h.
const (
	platformVersion, platformName = 0x0901, 0x0902

	deviceType, deviceUnits, deviceMaxGroup                    = 0x1000, 0x1002, 0x1004
	deviceMaxAlloc, deviceMemory, deviceLocal                  = 0x1010, 0x101F, 0x1023
	deviceLittleEndian, deviceAvailable                        = 0x1026, 0x1027
	deviceName, deviceVendor, driverVersion                    = 0x102B, 0x102C, 0x102D
	deviceVersion, deviceExtensions                            = 0x102F, 0x1030
	platformNotFound                          binding.ErrOther = -1001 // also what the shim says where there is no library
)

// Devices lists the devices of all platforms. The error wraps ErrUnavailable when there is no libOpenCL, or no driver
// that it knows, or none that has a device.
func Devices() ([]*Device, error) {
	platforms, err := binding.GetPlatforms()
	if err != nil && err != platformNotFound {
		return nil, failure("list platforms", err)
	}
	var list []*Device
	for _, p := range platforms {
		list = append(list, devicesOf(p)...)
	}
	if len(list) == 0 {
		return nil, ErrUnavailable
	}
	return list, nil
}

// devicesOf leaves out devices that cannot be asked: another platform may be in order.
func devicesOf(p *binding.Platform) (list []*Device) {
	q := query{ask: func(what uint32) ([]byte, error) { return queryPlatform(p, what) }}
	name := q.text(platformName) + " " + q.text(platformVersion)
	devices, _ := binding.GetDevices(p, binding.DeviceTypeAll)
	for _, d := range devices {
		if properties, err := queryProperties(d); err == nil {
			properties.Platform = name
			list = append(list, &Device{Properties: properties, raw: d})
		}
	}
	return list
}

func queryProperties(d *binding.Device) (Properties, error) {
	q := query{ask: func(what uint32) ([]byte, error) { return queryDevice(d, what) }}
	p := Properties{
		Name: q.text(deviceName), Vendor: q.text(deviceVendor), Driver: q.text(driverVersion),
		Version: q.text(deviceVersion), Type: DeviceType(q.number(deviceType)),
		MemoryBytes: int64(q.number(deviceMemory)), MaxAllocBytes: int64(q.number(deviceMaxAlloc)),
		LocalBytes: int64(q.number(deviceLocal)), Units: int(q.number(deviceUnits)),
		MaxGroup: int(q.number(deviceMaxGroup)), LittleEndian: q.number(deviceLittleEndian) != 0,
		Extensions: strings.Fields(q.text(deviceExtensions)),
	}
	if q.number(deviceAvailable) == 0 && q.err == nil {
		q.err = binding.ErrDeviceNotAvailable
	}
	return p, failure("query device", q.err)
}

// query reads properties until one fails.
type query struct {
	ask func(what uint32) ([]byte, error)
	err error
}

func (q *query) bytes(what uint32) (value []byte) {
	if q.err == nil {
		value, q.err = q.ask(what)
	}
	return value
}

func (q *query) text(what uint32) string {
	value, _, _ := bytes.Cut(q.bytes(what), []byte{0})
	return strings.TrimSpace(string(value))
}

func (q *query) number(what uint32) uint64 {
	value := q.bytes(what)
	switch {
	case len(value) >= 8:
		return binary.NativeEndian.Uint64(value)
	case len(value) >= 4:
		return uint64(binary.NativeEndian.Uint32(value))
	}
	return 0
}

// Context holds the objects of one device. Its methods are safe for concurrent use.
type Context struct {
	device *Device
	raw    *binding.Context
}

// NewContext opens a device.
func NewContext(d *Device) (*Context, error) {
	raw, err := binding.CreateContext([]*binding.Device{d.raw})
	if err != nil {
		return nil, failure("open "+d.Name, err)
	}
	runtime.SetFinalizer(raw, nil)
	return &Context{device: d, raw: raw}, nil
}

// Device is the context's device.
func (c *Context) Device() *Device { return c.device }

// Release gives the context back. REQUIRES: all that was made in it is released, or not used any more.
func (c *Context) Release() { c.raw.Release() }

// NewQueue makes an in-order queue whose events can be asked for times.
func (c *Context) NewQueue() (*Queue, error) {
	raw, err := c.raw.CreateCommandQueue(c.device.raw, binding.CommandQueueProfilingEnable)
	if err != nil {
		return nil, failure("make a command queue", err)
	}
	runtime.SetFinalizer(raw, nil)
	return &Queue{raw: raw}, nil
}
