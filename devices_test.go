package extsort

import (
	"testing"

	"github.com/extsort/extsort/device"
	"github.com/extsort/extsort/format"
)

// fixedSize is a dataset of which only the size matters.
type fixedSize struct {
	*watchDataset
	records int64
}

func (f fixedSize) Records() int64 { return f.records }

// TestGPUGain predicts on which device 8-byte keys are sorted sooner, for machines of which the answer is known.
func TestGPUGain(t *testing.T) {
	keyer, err := format.NewKeyer(format.Bare(format.Type{Kind: format.Unsigned, Size: 8}))
	if err != nil {
		t.Fatal(err)
	}
	h200 := device.Info{Kind: device.GPU, MemoryBytes: 140 << 30}
	measured := h200
	measured.LinkRate, measured.SortRate = 54e9, 300e9
	for _, c := range []struct {
		name    string
		gpu     device.Info
		bytes   int64
		memory  int64
		workers int
		gain    bool
	}{
		{"8 GiB on two cores", h200, 8 << 30, 16 << 30, 2, true},
		{"8 GiB on 16 cores that must spill", h200, 8 << 30, 512 << 20, 16, true},
		{"8 GiB on 16 cores, GPU measured", measured, 8 << 30, 16 << 30, 16, true},
		{"128 MiB on 16 cores", h200, 128 << 20, 16 << 30, 16, false},
		{"slow link", device.Info{Kind: device.GPU, MemoryBytes: 8 << 30, LinkRate: 1e9}, 2 << 30, 16 << 30, 8, false},
	} {
		j := &job{
			opt: Options{MemoryBytes: c.memory, Workers: c.workers}, keyer: keyer, size: 8,
			data: fixedSize{records: c.bytes / 8}, rates: defaultRates,
		}
		if got := j.gpuGain(c.gpu, float64(c.bytes)); (got > 0) != c.gain {
			t.Errorf("%s: a gain of %.2f s is predicted, want a gain: %t", c.name, got, c.gain)
		}
	}
}
