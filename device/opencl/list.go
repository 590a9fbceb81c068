//go:build opencl && cgo && linux

package opencl

import (
	"fmt"

	"github.com/extsort/extsort/device"
	"github.com/extsort/extsort/device/opencl/algo"
	"github.com/extsort/extsort/device/opencl/cl"
)

// Installed reports whether there is an OpenCL library, which may know a driver. Unlike Devices it starts none, which
// takes up to a second.
func Installed() bool { return cl.Installed() }

// Devices lists the OpenCL devices of this machine, numbered from 1 (0 is the CPU). Where there is none the error
// wraps ErrUnavailable and says why.
func Devices() ([]device.Info, error) {
	list, err := openable()
	if err != nil {
		return nil, err
	}
	infos := make([]device.Info, len(list))
	for i, d := range list {
		infos[i] = infoOf(i+1, d, Options{})
	}
	return infos, nil
}

func openable() ([]*cl.Device, error) {
	platforms, err := cl.Platforms()
	if err != nil {
		return nil, fmt.Errorf("list OpenCL devices: %w (no libOpenCL.so.1, or no driver in /etc/OpenCL/vendors)", err)
	}
	var list []*cl.Device
	for _, p := range platforms {
		list = append(list, p.Devices...)
	}
	return list, nil
}

func infoOf(index int, d *cl.Device, opt Options) device.Info {
	info := device.Info{
		Index: index, Name: d.Name, Driver: d.Version + ", driver " + d.Driver, Kind: kindOf(d.Type),
		MemoryBytes: memoryFor(d, opt), MaxAlloc: allocFor(d, opt), Units: d.Units,
		LinkRate: opt.LinkRate, Algorithms: algo.Names(),
	}
	opt.Tuning.describe(&info)
	return info
}

// kindOf looks at single bits: some implementations set several.
func kindOf(t cl.DeviceType) device.Kind {
	switch {
	case t&cl.TypeGPU != 0:
		return device.GPU
	case t&cl.TypeAccelerator != 0:
		return device.Accelerator
	}
	return device.OpenCLCPU
}

func memoryFor(d *cl.Device, opt Options) int64 {
	if opt.MemoryBytes > 0 {
		return min(opt.MemoryBytes, d.MemoryBytes)
	}
	return d.MemoryBytes
}

func allocFor(d *cl.Device, opt Options) int64 {
	if opt.AllocBytes > 0 {
		return min(opt.AllocBytes, d.MaxAllocBytes)
	}
	return d.MaxAllocBytes
}
