package session

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/extsort/extsort/chunker/plan"
	"github.com/extsort/extsort/device"
	"github.com/extsort/extsort/format"
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
		list.Note = strings.ReplaceAll(err.Error(), "\n", "; ") // errors of several drivers
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

// namedDevices returns the devices that the options name. If there are none, the planner chooses.
func (o *Options) namedDevices() []string {
	return slices.DeleteFunc(slices.Clone(o.Devices), func(name string) bool { return name == "auto" })
}

// openDevices opens the devices that the options name, or else the devices with the fastest plan.
// It returns the facts about them. f contains all other facts.
func (s *session) openDevices(ctx context.Context, f *plan.Facts, profile *plan.Profile) ([]plan.Device, error) {
	o := deviceOpener{session: s, facts: f}
	names := s.opt.namedDevices()
	if len(names) == 0 {
		if err := o.chooseDevices(ctx, profile); err != nil {
			return nil, err
		}
	}
	for _, name := range names {
		if err := o.openNamed(ctx, name); err != nil {
			return nil, err
		}
	}
	for range s.opt.faults.moreDevices {
		o.add(drivers.Host())
	}
	return o.opened, nil
}

// A deviceOpener opens the devices of a run.
type deviceOpener struct {
	*session
	facts  *plan.Facts // all except the devices
	opened []plan.Device
}

// describe returns the facts about a device.
func (o *deviceOpener) describe(d device.Device) plan.Device {
	return engine.Describe(d, device.ChunkOptions{
		Keyer:     o.facts.Keyer,
		Algorithm: o.facts.Request.Algorithm,
		Sample:    o.facts.Sample.Prefixes,
	})
}

// add adds an open device to the run.
func (o *deviceOpener) add(d device.Device) {
	if wrap := o.opt.faults.wrapDevice; wrap != nil {
		d = wrap(d)
	}
	o.run.Devices = append(o.run.Devices, d)
	o.opened = append(o.opened, o.describe(d))
}

// openNamed opens the devices that match a name and are not open yet.
func (o *deviceOpener) openNamed(ctx context.Context, name string) error {
	if drivers.NamesHost(name) {
		// This starts no other driver. Starting one takes up to a second.
		return o.openDevice(ctx, drivers.Host().Info())
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
		if err := o.openDevice(ctx, info); err != nil {
			return err
		}
	}
	return nil
}

// openDevice opens a device and adds it to the run, unless it is already open.
func (o *deviceOpener) openDevice(ctx context.Context, info device.Info) error {
	isSame := func(d device.Device) bool { return d.Info().Index == info.Index }
	if slices.ContainsFunc(o.run.Devices, isSame) {
		return nil
	}
	if err := o.canSort(info, o.facts.Keyer.Layout()); err != nil {
		return err
	}
	d, err := drivers.Open(ctx, info, o.deviceOptions())
	if err != nil {
		return err
	}
	o.add(d)
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

// chooseDevices opens each device other than the CPU that shortens the predicted time of the sort.
// If there is none, it opens the CPU. It starts no driver if not even the fastest device would pay
// off.
func (o *deviceOpener) chooseDevices(ctx context.Context, profile *plan.Profile) error {
	host := drivers.Host()
	onHost := *o.facts
	onHost.Devices = []plan.Device{o.describe(host)}
	pays := func(d plan.Device) bool { return plan.GPUPays(&onHost, profile, d) }
	layout := onHost.Keyer.Layout()
	needed := o.canSort(host.Info(), layout) != nil

	var note string
	var failed error
	if needed || drivers.MayAccelerate(layout) && pays(plan.FastestGPU) {
		list := Devices(ctx)
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		note = list.Note
		for _, info := range list.Devices {
			switch {
			case info.Automatic && needed:
				failed = errors.Join(failed, o.openDevice(ctx, info))
			case info.Automatic:
				o.openIfFaster(ctx, info, pays)
			}
		}
	}
	if len(o.opened) > 0 {
		return nil
	}
	return withNote(errors.Join(o.openDevice(ctx, host.Info()), failed), note)
}

// canSort returns an error if a device does not support the options or the layout of the records.
func (s *session) canSort(info device.Info, layout format.Layout) error {
	if err := engine.CanSort(info, s.opt.Algorithm, s.opt.DigitBits); err != nil {
		return err
	}
	return drivers.Supports(info, layout)
}

// openIfFaster opens a device if it shortens the predicted time of the sort. If the prediction
// depends on rates that are unknown, the device measures them.
func (o *deviceOpener) openIfFaster(ctx context.Context, info device.Info, pays func(plan.Device) bool) {
	if o.canSort(info, o.facts.Keyer.Layout()) != nil {
		return
	}
	known := info.LinkRate > 0 && info.SortRate > 0
	faster := pays(engine.DescribeInfo(info, o.opt.DeviceMemory))
	if !faster && known {
		return
	}
	d, err := drivers.Open(ctx, info, o.deviceOptions())
	if err != nil {
		return
	}
	if m, ok := d.(interface{ MeasureRates() error }); ok && !faster {
		faster = m.MeasureRates() == nil && pays(engine.DescribeInfo(d.Info(), o.opt.DeviceMemory))
	}
	if faster {
		o.add(d)
	} else {
		_ = d.Close() // it was not needed
	}
}
