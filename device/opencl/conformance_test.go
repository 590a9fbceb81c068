//go:build opencl && cgo && linux

package opencl

import (
	"testing"

	"github.com/extsort/extsort/device"
	"github.com/extsort/extsort/device/devicetest"
)

func TestConformance(t *testing.T) {
	devicetest.Run(t, func(t testing.TB) device.Device {
		d, err := openFirst(t, Options{})
		if err != nil {
			t.Fatal(err)
		}
		return d
	})
}
