package session

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/extsort/extsort/chunker/plan"
	"github.com/extsort/extsort/device"
	"github.com/extsort/extsort/internal/drivers"
	"github.com/extsort/extsort/internal/engine"
)

// A DeviceList lists the devices of this machine that a sort can use.
type DeviceList struct {
	Devices []device.Info // the CPU first
	Note    string        // why devices are missing, or how to get them; may be ""
}

// Devices lists the devices that a sort can use. It returns soon after ctx is cancelled, with an
// incomplete list.
func Devices(ctx context.Context) DeviceList {
	found, err := drivers.List(ctx)
	list := DeviceList{Devices: found}
	if err != nil {
		list.Note = strings.ReplaceAll(err.Error(), "\n", "; ") // of several drivers
	}
	return list
}

// deviceCPU is the name by which users ask for the host's processors.
const deviceCPU = string(device.CPU)

// Select returns the devices that match word, which is a number, a kind or a part of a name.
func (l DeviceList) Select(word string) ([]device.Info, error) {
	found, err := drivers.Select(l.Devices, word)
	return found, withNote(err, l.Note)
}

// withNote adds a note to an error. Either may be empty.
func withNote(err error, note string) error {
	if err == nil || note == "" {
		return err
	}
	return fmt.Errorf("%w (%s)", err, note)
}

// namedDevices returns the devices that the options name; none: the planner chooses.
func (o *Options) namedDevices() []string {
	return slices.DeleteFunc(slices.Clone(o.Devices), func(name string) bool { return name == "auto" })
}

// openDevices opens the devices that the options name. By default, it opens the devices that make
// the plan fastest.
func (s *session) openDevices(ctx context.Context, profile *plan.Profile) error {
	names := s.opt.namedDevices()
	if len(names) == 0 {
		return s.chooseDevices(ctx, profile)
	}
	for _, name := range names {
		if err := s.openNamed(ctx, name); err != nil {
			return err
		}
	}
	return nil
}

// add adds an open device to the run and to its facts.
func (s *session) add(d device.Device) {
	if wrap := s.opt.faults.wrapDevice; wrap != nil {
		d = wrap(d)
	}
	s.run.Devices = append(s.run.Devices, d)
	s.run.Facts.Devices = append(s.run.Facts.Devices, engine.Describe(d, s.run.Facts))
}

// openNamed opens the devices that match a name, except those that are already open.
func (s *session) openNamed(ctx context.Context, name string) error {
	if drivers.NamesHost(name) {
		// Starts no other driver, which takes up to a second.
		return s.openDevice(ctx, drivers.Host().Info())
	}
	list := Devices(ctx)
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	found, err := list.Select(name)
	if err != nil {
		return err
	}
	for _, info := range found {
		if err := s.openDevice(ctx, info); err != nil {
			return err
		}
	}
	return nil
}

// openDevice opens a device and adds it to the run, unless it is already open.
func (s *session) openDevice(ctx context.Context, info device.Info) error {
	isSame := func(d device.Device) bool { return d.Info().Index == info.Index }
	if slices.ContainsFunc(s.run.Devices, isSame) {
		return nil
	}
	if err := s.canSort(info); err != nil {
		return err
	}
	d, err := drivers.Open(ctx, info, s.deviceOptions())
	if err != nil {
		return err
	}
	s.add(d)
	return nil
}

// deviceOptions returns the options with which every device is opened.
func (s *session) deviceOptions() device.OpenOptions {
	return device.OpenOptions{
		MemoryBytes: s.opt.DeviceMemory,
		Algorithm:   s.opt.Algorithm,
		DigitBits:   s.opt.DigitBits,
	}
}

// chooseDevices opens the devices besides the CPU with which the sort is predicted to end sooner,
// or the CPU if there are none. It starts no driver if no device, however fast, would pay.
func (s *session) chooseDevices(ctx context.Context, profile *plan.Profile) error {
	host := drivers.Host()
	onHost := *s.run.Facts
	onHost.Devices = []plan.Device{engine.Describe(host, &onHost)}
	pays := func(d plan.Device) bool { return plan.GPUPays(&onHost, profile, d) }
	needed := s.canSort(host.Info()) != nil

	var note string
	var failed error
	if needed || drivers.MayAccelerate(onHost.Keyer.Layout()) && pays(plan.FastestGPU) {
		list := Devices(ctx)
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		note = list.Note
		for _, info := range list.Devices {
			switch {
			case info.Automatic && needed:
				failed = errors.Join(failed, s.openDevice(ctx, info))
			case info.Automatic:
				s.openIfFaster(ctx, info, pays)
			}
		}
	}
	if len(s.run.Devices) > 0 {
		return nil
	}
	return withNote(errors.Join(s.openDevice(ctx, host.Info()), failed), note)
}

// canSort returns an error if a device cannot do what the options or the records require.
func (s *session) canSort(info device.Info) error {
	if err := engine.CanSort(info, s.opt.Algorithm, s.opt.DigitBits); err != nil {
		return err
	}
	return drivers.Supports(info, s.run.Facts.Keyer.Layout())
}

// openIfFaster opens a device with which the sort is predicted to end sooner. If the prediction
// depends on rates that are unknown, the device measures them.
func (s *session) openIfFaster(ctx context.Context, info device.Info, pays func(plan.Device) bool) {
	if s.canSort(info) != nil {
		return
	}
	known := info.LinkRate > 0 && info.SortRate > 0
	faster := pays(engine.DescribeInfo(info, s.opt.DeviceMemory))
	if !faster && known {
		return
	}
	d, err := drivers.Open(ctx, info, s.deviceOptions())
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
