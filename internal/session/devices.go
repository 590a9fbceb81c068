package session

import (
	"errors"
	"fmt"
	"slices"

	"github.com/extsort/extsort/chunker/plan"
	"github.com/extsort/extsort/device"
	"github.com/extsort/extsort/device/cpu"
	"github.com/extsort/extsort/device/opencl"
	"github.com/extsort/extsort/device/tune"
	"github.com/extsort/extsort/internal/engine"
)

// A DeviceList lists the devices of this machine that a sort can use.
type DeviceList struct {
	Devices []device.Info // the CPU first, then the OpenCL devices
	Note    string        // why there are no OpenCL devices, or how to get them; may be ""
}

// Devices lists the devices that a sort can use.
func Devices() DeviceList {
	list := DeviceList{Devices: []device.Info{cpu.New().Info()}}
	others, err := opencl.Devices()
	if err != nil {
		list.Note = err.Error()
	}
	list.Devices = append(list.Devices, others...)
	tune.Describe(list.Devices)
	return list
}

const deviceCPU = "cpu" // as a name

// The devices of this machine. Tests put others in their place.
var (
	machineDevices = Devices
	hasOpenCL      = opencl.Installed
	openCL         = opencl.Open
)

// Select returns the devices that match word, which is a number, a kind or a part of a name.
func (l DeviceList) Select(word string) ([]device.Info, error) {
	found, err := opencl.Select(l.Devices, word)
	return found, withNote(err, l.Note)
}

func withNote(err error, note string) error {
	if err == nil || note == "" {
		return err
	}
	return fmt.Errorf("%w (%s)", err, note)
}

// namedDevices are those that were asked for; none: the planner chooses.
func (o *Options) namedDevices() []string {
	return slices.DeleteFunc(slices.Clone(o.Devices), func(name string) bool { return name == "auto" })
}

// openDevices opens the devices that the options name, or those with which the plan is fastest.
func (s *session) openDevices(profile *plan.Profile) error {
	names := s.opt.namedDevices()
	if len(names) == 0 {
		return s.chooseDevices(profile)
	}
	for _, name := range names {
		if err := s.openNamed(name); err != nil {
			return err
		}
	}
	return nil
}

// add takes a device into the run and its facts.
func (s *session) add(d device.Device) {
	if wrap := s.opt.faults.wrapDevice; wrap != nil {
		d = wrap(d)
	}
	s.run.Devices = append(s.run.Devices, d)
	s.run.Facts.Devices = append(s.run.Facts.Devices, engine.Describe(d, s.run.Facts))
}

// openNamed opens the devices that a name stands for, but for those that are open.
func (s *session) openNamed(name string) error {
	if name == deviceCPU || name == "0" {
		return s.openDevice(cpu.New().Info()) // without starting the drivers of GPUs, which takes up to a second
	}
	found, err := machineDevices().Select(name)
	for _, info := range found {
		if err == nil {
			err = s.openDevice(info)
		}
	}
	return err
}

// openDevice opens a device unless it is open already.
func (s *session) openDevice(info device.Info) error {
	if slices.ContainsFunc(s.run.Devices, func(d device.Device) bool { return d.Info().Index == info.Index }) {
		return nil
	}
	if err := engine.CanSort(info, s.opt.Algorithm, s.opt.DigitBits); err != nil {
		return err
	}
	if info.Kind == device.CPU {
		s.add(cpu.New())
		return nil
	}
	if s.run.Facts.Keyer.Layout().MovesNaNs() {
		return fmt.Errorf("nan first or last, or numeric floats: device %d (%s) sorts floats in total order "+
			"only; use the CPU",
			info.Index, info.Name)
	}
	d, err := s.openCL(info)
	if err == nil {
		s.add(d)
	}
	return err
}

func (s *session) openCL(info device.Info) (device.Device, error) {
	return openCL(info.Index, opencl.Options{
		MemoryBytes: s.opt.DeviceMemory, Algorithm: s.opt.Algorithm, DigitBits: s.opt.DigitBits,
		Tuning: tune.Load(info),
	})
}

// chooseDevices takes the GPUs if the sort is predicted to end sooner with them, else the CPU, and starts no driver
// where no GPU, however fast, would pay.
func (s *session) chooseDevices(profile *plan.Profile) error {
	processor := cpu.New()
	onCPU := *s.run.Facts
	onCPU.Devices = []plan.Device{engine.Describe(processor, &onCPU)}
	needed := engine.CanSort(processor.Info(), s.opt.Algorithm, s.opt.DigitBits) != nil // only a GPU can
	pays := func(gpu plan.Device) bool { return plan.GPUPays(&onCPU, profile, gpu) }
	note, failed := "", error(nil)
	if needed || hasOpenCL() && !onCPU.Keyer.Layout().MovesNaNs() && pays(plan.FastestGPU) {
		list := machineDevices()
		note = list.Note
		for _, info := range list.Devices[1:] {
			switch useful := info.Kind == device.GPU || info.Kind == device.Accelerator; {
			case useful && needed:
				failed = errors.Join(failed, s.openDevice(info))
			case useful:
				s.openIfFaster(info, pays)
			}
		}
	}
	if len(s.run.Devices) > 0 {
		return nil
	}
	return withNote(errors.Join(s.openDevice(processor.Info()), failed), note)
}

// openIfFaster opens a GPU with which the sort is predicted to end sooner. One of which nothing is known is measured
// where that decides.
func (s *session) openIfFaster(info device.Info, pays func(plan.Device) bool) {
	known := info.LinkRate > 0 && info.SortRate > 0
	faster := pays(engine.DescribeInfo(info, s.opt.DeviceMemory))
	if !faster && known {
		return
	}
	d, err := s.openCL(info)
	if err != nil {
		return
	}
	if m, ok := d.(interface{ MeasureRates() error }); ok && !faster {
		faster = m.MeasureRates() == nil && pays(engine.DescribeInfo(d.Info(), s.opt.DeviceMemory))
	}
	if faster {
		s.add(d)
	} else {
		_ = d.Close() // it was not needed
	}
}
