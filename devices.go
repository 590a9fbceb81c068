package extsort

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/extsort/extsort/device"
	"github.com/extsort/extsort/device/cpu"
	"github.com/extsort/extsort/device/opencl"
	"github.com/extsort/extsort/device/tune"
)

// DeviceList is what a sort could use on this machine.
type DeviceList struct {
	Devices []device.Info // the CPU first, then the OpenCL devices
	Note    string        // why there are no OpenCL devices, or how to get them; "" when there is nothing to say
}

// Devices lists the devices that a sort can use.
func Devices() DeviceList {
	processor := cpu.New()
	defer processor.Close()
	list := DeviceList{Devices: []device.Info{processor.Info()}}
	others, err := opencl.Devices()
	if err != nil {
		list.Note = err.Error()
	}
	list.Devices = append(list.Devices, others...)
	tune.Describe(list.Devices)
	return list
}

// The names of devices that stand for a choice.
const (
	deviceAuto = "auto"
	deviceCPU  = "cpu"
)

// openDevices opens the devices that the options name, or those with which the plan is fastest.
func (j *job) openDevices(ctx context.Context) error {
	j.autoGPU = j.opt.faults.chosenGPU
	names := slices.DeleteFunc(slices.Clone(j.opt.Devices), func(name string) bool { return name == deviceAuto })
	for range j.opt.faults.moreDevices {
		j.devices = append(j.devices, j.opt.faults.device(cpu.New()))
	}
	if len(names) == 0 {
		return j.chooseDevices(ctx)
	}
	for _, name := range names {
		if err := j.openNamed(name); err != nil {
			return err
		}
	}
	return nil
}

// openNamed opens the devices that a name stands for, but for those that are open.
func (j *job) openNamed(name string) error {
	if name == deviceCPU || name == "0" {
		return j.openDevice(cpu.New().Info()) // without starting the drivers of GPUs, which takes up to a second
	}
	list := j.opt.faults.devices()
	found, err := opencl.Select(list.Devices, name)
	if err != nil {
		return withNote(err, list.Note)
	}
	for _, info := range found {
		if err := j.openDevice(info); err != nil {
			return err
		}
	}
	return nil
}

func withNote(err error, note string) error {
	if note == "" {
		return err
	}
	return fmt.Errorf("%w (%s)", err, note)
}

// openDevice opens a device unless it is open already.
func (j *job) openDevice(info device.Info) error {
	if slices.ContainsFunc(j.devices[j.opt.faults.moreDevices:], func(d device.Device) bool { return d.Info().Index == info.Index }) {
		return nil
	}
	if err := checkAlgorithm(info, j.opt.Algorithm); err != nil {
		return err
	}
	if info.Kind == device.CPU {
		j.devices = append(j.devices, j.opt.faults.device(cpu.New()))
		return nil
	}
	d, err := j.openCL(info)
	if err != nil {
		return err
	}
	j.devices = append(j.devices, j.opt.faults.device(d))
	return nil
}

func (j *job) openCL(info device.Info) (device.Device, error) {
	if gpus := j.opt.faults.gpus; gpus != nil {
		return gpus[info.Index-1], nil
	}
	return opencl.Open(info.Index, opencl.Options{
		MemoryBytes: j.opt.DeviceMemory, Algorithm: j.opt.Algorithm, LinkRate: info.LinkRate,
		Tuning: tune.Load(info),
	})
}

func checkAlgorithm(info device.Info, name string) error {
	if name == "" || slices.Contains(info.Algorithms, name) {
		return nil
	}
	return fmt.Errorf("algorithm %q: device %d (%s) has %s", name, info.Index, info.Name, strings.Join(info.Algorithms, ", "))
}

// chooseDevices takes the GPUs if the plan predicts that the sort ends sooner with them, else the CPU. An input of
// unknown size is sorted on the CPU: a GPU must be named for it.
func (j *job) chooseDevices(ctx context.Context) error {
	processor := cpu.New().Info()
	needed := checkAlgorithm(processor, j.opt.Algorithm) != nil // only a GPU has it
	if !needed && !(j.opt.faults.mayHaveGPU() && j.gpuMayPay(ctx)) {
		return j.openDevice(processor) // and neither was the machine measured nor a driver started for nothing
	}
	list := j.opt.faults.devices()
	for _, info := range list.Devices[1:] {
		useful := info.Kind == device.GPU || info.Kind == device.Accelerator
		if useful && (needed && j.openDevice(info) == nil || !needed && j.openIfFaster(info)) {
			j.autoGPU = true
		}
	}
	if j.autoGPU {
		return nil
	}
	if err := j.openDevice(processor); err != nil {
		return withNote(err, list.Note)
	}
	return nil
}

const (
	gpuDriverSeconds = 0.15 // an H200's, until it tells which devices there are
	gpuStartSeconds  = 0.2  // context, pinned memory, kernels from the binary cache, and the end of all that

	assumedLinkRate    = 24e9 // bytes/s each way: PCIe 4 x16; what was measured takes its place
	assumedGPUSortRate = 20e9 // bytes/s of keys; likewise

	// doubt is by what factor the rates that are assumed of this machine may be wrong.
	doubt = 2
)

// fastestGPU is what no GPU exceeds by so much that it would matter.
var fastestGPU = device.Info{Kind: device.GPU, MemoryBytes: 1 << 40, LinkRate: 64e9, SortRate: 400e9}

// gpuMayPay reports whether starting the driver of a GPU, whatever GPU that is, may end the sort sooner. Where the rates
// assumed of this machine do not tell, they are measured.
func (j *job) gpuMayPay(ctx context.Context) bool {
	gain := func(doubt float64) float64 { return j.gpuGain(fastestGPU, doubt) - gpuDriverSeconds }
	switch {
	case j.data.Records() < 0 || j.ordered || gain(doubt) <= 0: // what is in order is copied
		return false
	case gain(1/doubt) > 0:
		return true
	}
	if j.mayMeasure(calibrateGPUBytes) {
		j.rates = j.measuredRates(ctx)
	}
	return gain(1) > 0
}

// openIfFaster opens a GPU with which the sort is predicted to end sooner. One of which nothing is known is measured where
// that decides.
func (j *job) openIfFaster(info device.Info) bool {
	known := info.LinkRate > 0 && info.SortRate > 0
	pays := j.gpuGain(info, 1) > 0
	if !pays && (known || j.gpuGain(fastestGPU, 1) <= 0) {
		return false
	}
	d, err := j.openCL(info)
	if err != nil {
		return false
	}
	if m, ok := d.(interface{ MeasureRates() error }); ok && !pays {
		pays = m.MeasureRates() == nil && j.gpuGain(d.Info(), 1) > 0
	}
	if !pays {
		_ = d.Close() // it was not needed
		return false
	}
	j.devices = append(j.devices, j.opt.faults.device(d))
	return true
}

// rateOf is what a device is known or assumed to do.
func rateOf(info device.Info) gpuRates {
	g := gpuRates{1, info.LinkRate, info.SortRate}
	if g.linkBytes == 0 {
		g.linkBytes = assumedLinkRate
	}
	if g.sortBytes == 0 {
		g.sortBytes = assumedGPUSortRate
	}
	return g
}

// gpuRates are those of the open devices; nil unless all are GPUs.
func (j *job) gpuRates() *gpuRates {
	var sum gpuRates
	for _, d := range j.devices {
		info := d.Info()
		if info.Kind == device.CPU || info.Kind == device.OpenCLCPU {
			return nil
		}
		g := rateOf(info)
		sum = gpuRates{sum.count + 1, sum.linkBytes + g.linkBytes, sum.sortBytes + g.sortBytes}
	}
	if sum.count == 0 {
		return nil
	}
	return &sum
}

// gpuGain is by how many seconds the sort is predicted to be faster on a GPU than on the CPU, if that is slower than
// assumed by a factor. Reading and writing files takes the same time with both, and goes on while the GPU works; but what
// fits the memory of only one of them need not be spilled there.
func (j *job) gpuGain(info device.Info, slower float64) float64 {
	g := rateOf(info)
	onCPU, onGPU := j.work(), j.work()
	onCPU.gpus, onGPU.gpus = nil, &g
	memory := info.MemoryBytes
	if j.opt.DeviceMemory > 0 {
		memory = min(memory, j.opt.DeviceMemory)
	}
	return slower*(onCPU.sortCost(j.rates)+onCPU.spillAndMerge(j.rates, float64(j.opt.MemoryBytes))) -
		gpuStartSeconds - onGPU.sortCost(j.rates) - onGPU.spillAndMerge(j.rates, gpuShare*float64(memory))
}

// gpuShare is the part of a GPU's memory that records can have: keys lie there twice.
const gpuShare = 0.4

// retryOnCPU reports whether a sort that failed can be done again on the CPU: the GPU was not the user's choice, it
// was the GPU that failed, and nothing has been consumed or written that cannot be had again.
func (j *job) retryOnCPU(ctx context.Context, out *output, err error) bool {
	deviceFailed := errors.Is(err, opencl.ErrAllocation) || errors.Is(err, opencl.ErrBuild) ||
		errors.Is(err, opencl.ErrDevice) || errors.Is(err, opencl.ErrUnavailable)
	return j.autoGPU && deviceFailed && ctx.Err() == nil && allSeekable(j.inputs) && (out == nil || out.canRestart())
}
