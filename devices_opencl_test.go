//go:build opencl && cgo && linux

package extsort

import (
	"testing"

	"github.com/extsort/extsort/device/opencl"
)

// A device of which nothing is known is measured where its rates decide, and opened if they are good enough.
func TestUnknownDeviceIsMeasured(t *testing.T) {
	list, err := opencl.Devices()
	if err != nil {
		t.Skip("no OpenCL device to test on: ", err)
	}
	info := list[0]
	j := keysJob(t, 8<<30, 16<<30, 16)
	if j.gpuGain(info, 1) > 0 || j.gpuGain(fastestGPU, 1) <= 0 {
		t.Fatal("the device's rates do not decide on these keys")
	}
	opened := j.openIfFaster(info)
	if opened != (len(j.devices) == 1) {
		t.Fatalf("opened: %t, devices: %d", opened, len(j.devices))
	}
	for _, d := range j.devices {
		if got := d.Info(); got.LinkRate <= 0 || got.SortRate <= 0 || j.gpuGain(got, 1) <= 0 {
			t.Errorf("opened with link %g, sort %g", got.LinkRate, got.SortRate)
		}
		if err := d.Close(); err != nil {
			t.Error(err)
		}
	}
	info.LinkRate, info.SortRate = 1e9, 1e9
	if j.openIfFaster(info) {
		t.Error("a device that is known to be slow was opened")
	}
}
