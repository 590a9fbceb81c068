package cpu

import (
	"context"

	"github.com/extsort/extsort/device"
	"github.com/extsort/extsort/format"
)

const driverName = "cpu"

// Driver is the driver of the host's processors, which form a single device.
var Driver device.Driver = driver{}

type driver struct{}

func (driver) Name() string {
	return driverName
}

// Installed returns true, because every machine has processors.
func (driver) Installed() bool {
	return true
}

// Supports returns nil, because the processors sort records of all layouts.
func (driver) Supports(format.Layout) error {
	return nil
}

func (driver) List(context.Context) ([]device.Info, error) {
	return []device.Info{New().Info()}, nil
}

// Open ignores the options. The processors have no memory of their own, the data determines the
// digits, and ChunkOptions specifies the algorithm.
func (driver) Open(
	context.Context,
	device.Info,
	device.OpenOptions,
) (device.Device, error) {
	return New(), nil
}
