//go:build opencl && cgo && linux

package opencl

import "testing"

// TestMeasureRates checks that Info contains the measured rates, even if the device may use only
// little memory.
func TestMeasureRates(t *testing.T) {
	for _, opt := range []Options{{}, {MemoryBytes: 1 << 20}} {
		d := open(t, opt).(*openDevice)
		if opt.MemoryBytes > 0 {
			d.dev.MaxAllocBytes = 1 << 16
		}
		if info := d.Info(); info.LinkRate != 0 || info.SortRate != 0 {
			t.Errorf("known before: %+v", info)
		}
		if err := d.MeasureRates(); err != nil {
			t.Fatal(err)
		}
		if info := d.Info(); info.LinkRate < 1e6 || info.SortRate < 1e5 {
			t.Errorf("link %g, sort %g", info.LinkRate, info.SortRate)
		}
	}
}
