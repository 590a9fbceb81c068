//go:build opencl && cgo && linux

package opencl

import (
	"testing"

	"github.com/extsort/extsort/device"
	"github.com/extsort/extsort/device/devicetest"
)

// TestConformance lets whole records travel; TestKeysTravel and TestSegments cover the other way.
func TestConformance(t *testing.T) {
	devicetest.Run(t, func(t testing.TB) device.Device {
		d, err := openFirst(t, Options{Travel: TravelRecords})
		if err != nil {
			t.Fatal(err)
		}
		return d
	})
}
