package cpu

import (
	"context"

	"github.com/extsort/extsort/device"
	"github.com/extsort/extsort/format"
)

const driverName = "cpu"

// Driver is the driver of the host's processors, which are one device.
var Driver device.Driver = driver{}

type driver struct{}

func (driver) Name() string { return driverName }

// Installed returns true: every machine has processors.
func (driver) Installed() bool { return true }

// Supports returns nil: the processors sort records of all layouts.
func (driver) Supports(format.Layout) error { return nil }

func (driver) List(context.Context) ([]device.Info, error) { return []device.Info{New().Info()}, nil }

// Open ignores the options: the processors have no memory of their own and choose the digits by the data, and
// ChunkOptions names the algorithm.
func (driver) Open(context.Context, device.Info, device.OpenOptions) (device.Device, error) {
	return New(), nil
}
