//go:build opencl && cgo && linux

package opencl

import (
	"testing"

	"github.com/extsort/extsort/device"
	"github.com/extsort/extsort/device/devicetest"
)

// TestConformance runs all parts of the suite on one open device, so that they share its kernels.
func TestConformance(t *testing.T) {
	d := open(t, Options{})
	devicetest.Run(t, func(testing.TB) device.Device { return sharedDevice{d} })
}

// sharedDevice is a device that stays open.
type sharedDevice struct{ device.Device }

func (sharedDevice) Close() error { return nil }
