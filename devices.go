package extsort

import (
	"context"
	"fmt"
	"slices"

	"github.com/extsort/extsort/device"
	"github.com/extsort/extsort/device/cpu"
)

// DeviceList is what a sort could use on this machine.
type DeviceList struct {
	Devices []device.Info // the CPU first
	Note    string        // why there are no OpenCL devices, or how to get them; "" when there is nothing to say
}

// Devices lists the devices that a sort can use.
func Devices() DeviceList {
	d := cpu.New()
	defer d.Close()
	return DeviceList{Devices: []device.Info{d.Info()}, Note: "built without OpenCL: build with -tags opencl"}
}

// openDevices opens the devices that the options name.
func openDevices(ctx context.Context, opt *Options) ([]device.Device, error) {
	for _, name := range opt.Devices {
		if !slices.Contains([]string{"auto", "cpu", "0"}, name) {
			return nil, fmt.Errorf("device %q: not found (extsort devices lists what there is)", name)
		}
	}
	d := cpu.New()
	if err := checkAlgorithm(d, opt.Algorithm); err != nil {
		return nil, err
	}
	return []device.Device{opt.faults.device(d)}, nil
}

func checkAlgorithm(d device.Device, name string) error {
	info := d.Info()
	if name == "" || name == "auto" || slices.Contains(info.Algorithms, name) {
		return nil
	}
	return fmt.Errorf("algorithm %q: device %s has only %v", name, info.Name, info.Algorithms)
}
