//go:build opencl && cgo && linux

package opencl

import "testing"

// TestMeasureRates: Info tells what was measured, also of a device of which little memory may be used.
func TestMeasureRates(t *testing.T) {
	for _, opt := range []Options{{}, {MemoryBytes: 1 << 20}} {
		d := open(t, opt).(*engine)
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
