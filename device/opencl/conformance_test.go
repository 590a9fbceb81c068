//go:build opencl && cgo && linux

package opencl

import (
	"testing"

	"github.com/extsort/extsort/device"
	"github.com/extsort/extsort/device/devicetest"
)

func TestConformance(t *testing.T) {
	for _, travel := range []Travel{TravelRecords, TravelKeys} {
		t.Run("travel="+string(travel), func(t *testing.T) {
			devicetest.Run(t, func(t testing.TB) device.Device {
				d, err := openFirst(t, Options{Travel: travel})
				if err != nil {
					t.Fatal(err)
				}
				return d
			})
		})
	}
}
