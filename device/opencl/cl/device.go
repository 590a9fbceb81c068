//go:build opencl && cgo && linux

package cl

import (
	"bytes"
	"encoding/binary"
	"errors"
	"slices"
	"strings"

	binding "github.com/jgillich/go-opencl/cl"
)

// DeviceType is a set of bits: some implementations (oclgrind) set several.
type DeviceType uint64

// The bits of DeviceType.
const (
	TypeCPU         DeviceType = 1 << 1
	TypeGPU         DeviceType = 1 << 2
	TypeAccelerator DeviceType = 1 << 3
)

// Platform is one OpenCL implementation on this machine.
type Platform struct {
	Name, Version string
	Devices       []*Device
}

// Device is one device of a platform, with what it says of itself.
type Device struct {
	Properties
	raw *binding.Device
}

// Properties are what the kernels and the planner want to know of a device. What a device does not tell is zero.
type Properties struct {
	Name, Vendor, Driver, Version string
	Platform                      string // name and version of the platform
	Type                          DeviceType
	MemoryBytes                   int64 // global memory
	MaxAllocBytes                 int64 // of one buffer
	LocalBytes                    int64 // local memory of a work-group
	Units                         int   // compute units
	MaxGroup                      int   // work-items in a work-group
	WarpSize                      int   // work-items that run in lockstep: NVIDIA's warp, AMD's wavefront, else 0
	UnifiedMemory                 bool  // the host's memory is the device's
	LittleEndian                  bool
	Extensions                    []string
}

// The numbers of the properties, from cl.h, cl_ext.h (NVIDIA's and AMD's).
const (
	platformVersion, platformName = 0x0901, 0x0902

	deviceType, deviceUnits, deviceMaxGroup               = 0x1000, 0x1002, 0x1004
	deviceMaxAlloc, deviceMemory, deviceLocal             = 0x1010, 0x101F, 0x1023
	deviceLittleEndian, deviceAvailable                   = 0x1026, 0x1027
	deviceName, deviceVendor, driverVersion               = 0x102B, 0x102C, 0x102D
	deviceVersion, deviceExtensions, deviceUnified        = 0x102F, 0x1030, 0x1035
	deviceWarpSizeNV, deviceWavefrontAMD           uint32 = 0x4003, 0x4043
)

// Platforms lists the platforms that have devices. The error wraps ErrUnavailable when there is no libOpenCL or no
// driver that it knows.
func Platforms() ([]*Platform, error) {
	raw, err := binding.GetPlatforms()
	if err == binding.ErrOther(platformNotFound) || err == nil && len(raw) == 0 {
		return nil, ErrUnavailable
	}
	if err != nil {
		return nil, failure("list platforms", err)
	}
	var list []*Platform
	for _, p := range raw {
		if platform := openPlatform(p); len(platform.Devices) > 0 {
			list = append(list, platform)
		}
	}
	if len(list) == 0 {
		return nil, ErrUnavailable
	}
	return list, nil
}

// openPlatform leaves out devices that cannot be asked: another platform may be in order.
func openPlatform(raw *binding.Platform) *Platform {
	name, _ := queryPlatform(raw, platformName)
	version, _ := queryPlatform(raw, platformVersion)
	platform := &Platform{Name: text(name), Version: text(version)}
	devices, err := binding.GetDevices(raw, binding.DeviceTypeAll)
	if err != nil {
		return platform
	}
	for _, d := range devices {
		properties, err := queryProperties(d)
		if err == nil {
			properties.Platform = platform.Name + " " + platform.Version
			platform.Devices = append(platform.Devices, &Device{Properties: properties, raw: d})
		}
	}
	return platform
}

func queryProperties(d *binding.Device) (Properties, error) {
	q := query{device: d}
	p := Properties{
		Name: q.text(deviceName), Vendor: q.text(deviceVendor), Driver: q.text(driverVersion),
		Version: q.text(deviceVersion), Type: DeviceType(q.number(deviceType)),
		MemoryBytes: int64(q.number(deviceMemory)), MaxAllocBytes: int64(q.number(deviceMaxAlloc)),
		LocalBytes: int64(q.number(deviceLocal)), Units: int(q.number(deviceUnits)),
		MaxGroup: int(q.number(deviceMaxGroup)), LittleEndian: q.number(deviceLittleEndian) != 0,
		Extensions: strings.Fields(q.text(deviceExtensions)),
	}
	available := q.number(deviceAvailable) != 0
	if q.err == nil && !available {
		q.err = binding.ErrDeviceNotAvailable
	}
	if q.err != nil {
		return Properties{}, failure("query device", q.err)
	}
	p.UnifiedMemory = optional(d, deviceUnified) != 0
	p.WarpSize = int(max(optional(d, deviceWarpSizeNV), optional(d, deviceWavefrontAMD)))
	return p, nil
}

// query reads properties until one fails.
type query struct {
	device *binding.Device
	err    error
}

func (q *query) bytes(what uint32) []byte {
	if q.err != nil {
		return nil
	}
	value, err := queryDevice(q.device, what)
	q.err = err
	return value
}

func (q *query) text(what uint32) string   { return text(q.bytes(what)) }
func (q *query) number(what uint32) uint64 { return number(q.bytes(what)) }

// optional is a number that only some vendors have, 0 with all others.
func optional(d *binding.Device, what uint32) uint64 {
	value, err := queryDevice(d, what)
	if err != nil {
		return 0
	}
	return number(value)
}

func text(value []byte) string {
	value, _, _ = bytes.Cut(value, []byte{0})
	return strings.TrimSpace(string(value))
}

func number(value []byte) uint64 {
	switch {
	case len(value) >= 8:
		return binary.NativeEndian.Uint64(value)
	case len(value) >= 4:
		return uint64(binary.NativeEndian.Uint32(value))
	}
	return 0
}

// Has reports whether the device offers an extension.
func (p *Properties) Has(extension string) bool { return slices.Contains(p.Extensions, extension) }

// IsUnavailable reports whether there is just no OpenCL here, as against OpenCL that fails.
func IsUnavailable(err error) bool { return errors.Is(err, ErrUnavailable) }
