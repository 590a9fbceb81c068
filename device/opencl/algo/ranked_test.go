//go:build opencl && cgo && linux

package algo

import (
	"testing"

	"github.com/extsort/extsort/device/opencl/cl"
)

// TestDefaultsFitLocalMemory checks that the default shapes fit the local memory of common devices. If a
// shape is too large, it must shrink instead of failing to build.
func TestDefaultsFitLocalMemory(t *testing.T) {
	devices := map[string]*cl.Device{
		"48 KiB, as NVIDIA's":             {LocalBytes: 48 << 10, MaxGroup: 1024},
		"32 KiB, the least of OpenCL 1.2": {LocalBytes: 32 << 10, MaxGroup: 1024},
		"64 KiB, small work-groups":       {LocalBytes: 64 << 10, MaxGroup: 256},
	}
	for name, dev := range devices {
		for _, wordBytes := range []int{4, 8} {
			if err := hybridShape(dev, Params{}, wordBytes).check(dev, wordBytes); err != nil {
				t.Errorf("%s: hybrid: %v", name, err)
			}
			for _, wide := range []bool{false, true} {
				csr := countScanReorderShape(dev, Params{}, variant{wordBytes: wordBytes})
				if err := csr.checkDevice(dev, wordBytes, wide); err != nil {
					t.Errorf("%s: count-scan-reorder: %v", name, err)
				}
				for _, ranking := range []Ranking{RankMasks, RankBallots, RankSubgroups, RankWarpMasks} {
					if ranking == RankWarpMasks && dev.LocalBytes < 48<<10 {
						continue // only NVIDIA's shape has these
					}
					shape := onesweepShape(dev, Params{}, variant{wordBytes: wordBytes}, ranking)
					if err := shape.checkDevice(dev, wordBytes, wide); err != nil {
						t.Errorf("%s: onesweep, ranking %d: %v", name, ranking, err)
					}
				}
			}
		}
	}
}

// TestLocalBytes compares the computed local memory with the driver's figure for the kernel.
func TestLocalBytes(t *testing.T) {
	ctx, _ := openDevice(t)
	for _, v := range []variant{{4, false, false}, {8, true, true}} {
		b := &builder{ctx: ctx, v: v}
		passes := buildCountScanReorder(b, Params{})
		must(t, b.err)
		local, err := passes.moving.LocalBytes()
		must(t, err)
		shape := countScanReorderShape(ctx.Device, Params{}, v)
		if bound := shape.localBytes(v.wordBytes, v.wide); local > bound || local < bound/2 {
			t.Errorf("%+v: %d bytes of local memory, computed %d", v, local, bound)
		}
		b.release()
	}
}

// TestModelKeepsDefaults checks that the cost model chooses 8-bit digits for the fast sorts on
// devices with common work-groups and local memory.
func TestModelKeepsDefaults(t *testing.T) {
	for _, local := range []int64{32 << 10, 48 << 10, 64 << 10} {
		dev := &cl.Device{LocalBytes: local, MaxGroup: 1024}
		for v := range onesweepTuning {
			if h := countScanReorderShape(dev, Params{}, v).digitBits; h != 8 {
				t.Errorf("count-scan-reorder, %+v, %d bytes: digits of %d bits", v, local, h)
			}
			for _, ranking := range []Ranking{RankMasks, RankBallots, RankSubgroups} {
				if h := onesweepShape(dev, Params{}, v, ranking).digitBits; h != 8 {
					t.Errorf("onesweep, %+v, %d bytes, ranking %d: digits of %d bits", v, local, ranking, h)
				}
			}
		}
	}
}

// TestProbe runs the probe with the ranking that works everywhere. So if a device fails the
// probe, the probe is not at fault.
func TestProbe(t *testing.T) {
	ctx, _ := openDevice(t)
	if !probe(ctx, RankMasks) {
		t.Error("the probe refuses the ranking by masks")
	}
}
