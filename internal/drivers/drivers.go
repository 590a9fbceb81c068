// Package drivers contains the table of the device drivers. Everything that lists, selects or opens
// a device iterates over the table.
package drivers

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/extsort/extsort/device"
	"github.com/extsort/extsort/device/cpu"
	"github.com/extsort/extsort/device/opencl"
	"github.com/extsort/extsort/format"
	"github.com/extsort/extsort/internal/safely"
)

// Table lists the drivers. The first has one device, the host's processors, and lists it without
// starting anything. Devices are numbered in the order of the table, so a new driver goes to the
// end. Tests add drivers of their own.
var Table = []device.Driver{cpu.Driver, opencl.Driver}

// Host returns the host's processors as a device, which every machine has.
func Host() device.Device { return cpu.New() }

// NamesHost reports whether a word of the user means the host's processors. It starts no driver.
func NamesHost(word string) bool {
	return word == string(device.CPU) || word == "0"
}

// List returns the devices of all drivers, the host's processors first. The error says why
// devices are missing. List returns soon after ctx is cancelled, even while a driver starts.
func List(ctx context.Context) ([]device.Info, error) {
	var all []device.Info
	var missing []error
	for _, driver := range Table {
		found, err := listOne(ctx, driver)
		missing = append(missing, err)
		for i, info := range found {
			info.Index = len(all)
			info.DriverName = driver.Name()
			info.Number = i + 1
			all = append(all, info)
		}
	}
	return all, errors.Join(missing...)
}

// listOne lists the devices of one driver in a goroutine of its own, which outlives a cancelled
// call.
func listOne(ctx context.Context, driver device.Driver) ([]device.Info, error) {
	type result struct {
		found []device.Info
		err   error
	}
	done := make(chan result, 1)
	go func() {
		var r result
		err := safely.Call(func() error {
			r.found, r.err = driver.List(ctx)
			return nil
		})
		r.err = errors.Join(r.err, err)
		done <- r
	}()

	select {
	case r := <-done:
		return r.found, r.err
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

// kinds lists words that never mean a part of a device's name, even if no device has that kind.
var kinds = []device.Kind{device.CPU, device.GPU, device.Accelerator, device.OpenCLCPU}

// Select returns the devices that match a word of the user: the number of a device, a kind (all
// devices of that kind), or a part of a name in any case of letters.
func Select(list []device.Info, word string) ([]device.Info, error) {
	isKind := slices.ContainsFunc(list, func(info device.Info) bool {
		return string(info.Kind) == word
	}) ||
		slices.Contains(kinds, device.Kind(word))
	matches := func(info device.Info) bool {
		if number, err := strconv.Atoi(word); err == nil {
			return info.Index == number
		}
		if isKind {
			return string(info.Kind) == word
		}
		return strings.Contains(
			strings.ToLower(info.Name), strings.ToLower(word),
		)
	}
	found := slices.DeleteFunc(slices.Clone(list), func(info device.Info) bool {
		return !matches(info)
	})
	if len(found) == 0 {
		return nil, fmt.Errorf("no device %q: see extsort devices", word)
	}
	return found, nil
}

// MayAccelerate reports whether this machine may have a device besides the host's processors that
// can sort records of a layout. It returns at once, because it starts no driver.
func MayAccelerate(layout format.Layout) bool {
	return slices.ContainsFunc(Table[1:], func(driver device.Driver) bool {
		return driver.Installed() && driver.Supports(layout) == nil
	})
}

// Supports returns an error if a device cannot sort records of a layout.
func Supports(info device.Info, layout format.Layout) error {
	driver, err := driverOf(info)
	if err != nil {
		return err
	}
	if err := driver.Supports(layout); err != nil {
		return fmt.Errorf(
			"device %d (%s) %w; use the CPU", info.Index, info.Name, err,
		)
	}
	return nil
}

// Open opens a device of the list.
func Open(
	ctx context.Context, info device.Info, opt device.OpenOptions,
) (device.Device, error) {
	driver, err := driverOf(info)
	if err != nil {
		return nil, err
	}
	return driver.Open(ctx, info, opt)
}

func driverOf(info device.Info) (device.Driver, error) {
	i := slices.IndexFunc(Table, func(driver device.Driver) bool {
		return driver.Name() == info.DriverName
	})
	if i < 0 {
		return nil, fmt.Errorf(
			"device %d (%s): there is no driver %q",
			info.Index,
			info.Name,
			info.DriverName,
		)
	}
	return Table[i], nil
}
