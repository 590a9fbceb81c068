package opencl

import (
	"context"
	"errors"

	"github.com/extsort/extsort/device"
	"github.com/extsort/extsort/format"
)

const driverName = "opencl"

// Driver is the driver for OpenCL. In a binary without OpenCL, its List returns an error that
// says so.
var Driver device.Driver = driver{}

type driver struct{}

// Owns reports whether a device belongs to this driver.
func Owns(info device.Info) bool {
	return info.DriverName == driverName
}

func (driver) Name() string { return driverName }

func (driver) Installed() bool { return Installed() }

func (driver) Supports(layout format.Layout) error {
	if layout.MovesNaNs() {
		return errors.New(
			"sorts floats in total order only, without NaNs first or last and not by their numeric value",
		)
	}
	if layout.HasDecimals() {
		return errors.New("cannot compare zoned and packed decimal numbers")
	}
	return nil
}

// List returns the devices with the rates that extsort tune has measured.
func (driver) List(context.Context) ([]device.Info, error) {
	list, err := Devices()
	for i := range list {
		t := LoadTuning(list[i])
		if t != nil {
			list[i].LinkRate = t.LinkRate
			list[i].SortRate = t.SortRate
		}
	}
	return list, err
}

// Open opens a device with the parameters that extsort tune has found.
func (driver) Open(
	_ context.Context,
	info device.Info,
	opt device.OpenOptions,
) (device.Device, error) {
	return Open(info.Number, Options{
		Index:       info.Index,
		MemoryBytes: opt.MemoryBytes,
		Algorithm:   opt.Algorithm,
		DigitBits:   opt.DigitBits,
		Tuning:      LoadTuning(info),
	})
}
