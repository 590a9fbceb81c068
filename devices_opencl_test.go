//go:build opencl && cgo && linux

package extsort

import (
	"math/rand/v2"
	"path/filepath"
	"testing"

	"github.com/extsort/extsort/chunker/plan"
	"github.com/extsort/extsort/device/opencl"
	"github.com/extsort/extsort/internal/engine"
)

// A device of which nothing is known is measured where its rates decide, and opened if they are good enough.
func TestUnknownDeviceIsMeasured(t *testing.T) {
	list, err := opencl.Devices()
	if err != nil {
		t.Skip("no OpenCL device to test on: ", err)
	}
	data := kindNamed("u64").make(t, "uniform", 1000, rand.New(rand.NewPCG(1, 2)))
	opt := Options{Record: kindNamed("u64").spec, Inputs: []string{writeFile(t, data)},
		Output: filepath.Join(t.TempDir(), "out")}
	s, err := begin(t.Context(), opt)
	if err != nil {
		t.Fatal(err)
	}
	defer s.close()
	if s.run.Facts, err = gather(&s.opt, s.run.Input); err != nil {
		t.Fatal(err)
	}
	asked := 0
	pays := func(gpu plan.Device) bool {
		asked++
		return gpu.LinkBytes > 0 && gpu.SortBytes > 0
	}
	info := list[0]
	info.LinkRate, info.SortRate = 0, 0
	if !s.openIfFaster(info, pays) || len(s.run.Devices) != 1 || asked != 2 {
		t.Fatalf("%d devices are open, %d times it was asked whether one pays", len(s.run.Devices), asked)
	}
	if got := s.run.Devices[0].Info(); got.LinkRate <= 0 || got.SortRate <= 0 {
		t.Errorf("opened with link %g, sort %g", got.LinkRate, got.SortRate)
	}
	info.LinkRate, info.SortRate = 1e9, 1e9
	if s.openIfFaster(info, func(gpu plan.Device) bool { return false }) {
		t.Error("a device that is known to be slow was opened")
	}
	if got := engine.DescribeInfo(info, 1<<20); got.Memory > 1<<20 {
		t.Errorf("%d bytes of memory are described, 1 MiB is allowed", got.Memory)
	}
}
