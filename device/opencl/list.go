//go:build opencl && cgo && linux

package opencl

import (
	"errors"
	"fmt"
	"os"

	"github.com/extsort/extsort/device"
	"github.com/extsort/extsort/device/opencl/algo"
	"github.com/extsort/extsort/device/opencl/cl"
)

// Installed reports whether there is an OpenCL library. Unlike Devices, it starts no driver,
// which can take a second.
func Installed() bool { return cl.Installed() }

// Devices lists the OpenCL devices of this machine, numbered from 1. If there are none, the error
// wraps ErrUnavailable and says why. If a driver fails, the error says so, and the devices of
// other drivers are listed.
func Devices() ([]device.Info, error) {
	list, err := devices()
	infos := make([]device.Info, len(list))
	for i, d := range list {
		infos[i] = infoOf(i+1, d, &Tuning{})
	}
	return infos, err
}

func devices() ([]*cl.Device, error) {
	list, err := cl.Devices()
	if errors.Is(err, ErrUnavailable) {
		why := "no libOpenCL.so.1, or no driver in /etc/OpenCL/vendors"
		for _, name := range []string{"CUDA_VISIBLE_DEVICES", "ROCR_VISIBLE_DEVICES", "GPU_DEVICE_ORDINAL"} {
			shown, set := os.LookupEnv(name)
			if set {
				why += fmt.Sprintf(", or %s=%s hides all devices", name, shown)
			}
		}
		return nil, fmt.Errorf("list OpenCL devices: %w (%s)", err, why)
	}
	if err != nil {
		err = fmt.Errorf("an OpenCL driver failed: %w", err)
	}
	return list, err
}

// Raw returns the device with this Info.Number in the list of Devices, for measurements that use
// its queues and buffers directly.
func Raw(number int) (*cl.Device, error) {
	list, err := devices()
	if err != nil && len(list) == 0 {
		return nil, err
	}
	if number < 1 || number > len(list) {
		return nil, fmt.Errorf(
			"no OpenCL device %d: there are 1 to %d", number, len(list),
		)
	}
	return list[number-1], nil
}

// Fingerprint identifies the kernels of this binary. A Tuning is valid only for the kernels it
// was measured with.
func Fingerprint() string { return algo.Fingerprint() }

func infoOf(number int, d *cl.Device, tuning *Tuning) device.Info {
	kind := device.OpenCLCPU
	if d.GPU {
		kind = device.GPU
	} else if d.Accelerator {
		kind = device.Accelerator
	}
	return device.Info{
		Index:          number,
		Number:         number,
		DriverName:     driverName,
		Name:           d.Name,
		Driver:         d.Version + ", driver " + d.Driver,
		Kind:           kind,
		Automatic:      d.GPU || d.Accelerator,
		VariableDigits: true,
		MemoryBytes:    d.MemoryBytes,
		UnifiedMemory:  d.UnifiedMemory,
		MaxAlloc:       d.MaxAllocBytes,
		Units:          d.Units,
		LinkRate:       tuning.LinkRate,
		SortRate:       tuning.SortRate,
		Algorithms:     algo.Names(),
	}
}
