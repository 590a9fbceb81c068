package extsort

import (
	"testing"

	"github.com/extsort/extsort/device"
	"github.com/extsort/extsort/device/opencl"
	"github.com/extsort/extsort/format"
)

// fixedSize is a dataset of which only the size matters.
type fixedSize struct {
	*watchDataset
	records int64
}

func (f fixedSize) Records() int64 { return f.records }

// keysJob is a job of so many bytes of 8-byte keys that are nowhere, on a machine of the default rates.
func keysJob(t *testing.T, bytes, memory int64, workers int) *job {
	t.Helper()
	keyer, err := format.NewKeyer(format.Bare(format.Type{Kind: format.Unsigned, Size: 8}))
	if err != nil {
		t.Fatal(err)
	}
	return &job{
		opt: Options{MemoryBytes: memory, Workers: workers}, keyer: keyer, size: 8,
		data: fixedSize{records: bytes / 8}, rates: defaultRates,
	}
}

// TestGPUGain predicts on which device 8-byte keys are sorted sooner, for machines of which the answer is known.
func TestGPUGain(t *testing.T) {
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
		j := keysJob(t, c.bytes, c.memory, c.workers)
		if got := j.gpuGain(c.gpu, 1); (got > 0) != c.gain {
			t.Errorf("%s: a gain of %.2f s is predicted, want a gain: %t", c.name, got, c.gain)
		}
	}
}

// TestGPUMayPay: a driver is started only where some GPU can make up for that.
func TestGPUMayPay(t *testing.T) {
	t.Setenv("EXTSORT_RATES", "default") // nothing is measured: there is no file
	for _, c := range []struct {
		name    string
		bytes   int64
		memory  int64
		workers int
		ordered bool
		want    bool
	}{
		{"a pipe", -8, 16 << 30, 2, false, false},
		{"1 MiB on one core", 1 << 20, 16 << 30, 1, false, false},
		{"512 MiB on 16 cores that must spill", 512 << 20, 256 << 20, 16, false, false},
		{"2 GiB on 16 cores", 2 << 30, 16 << 30, 16, false, false},
		{"2 GiB on 16 cores that must spill", 2 << 30, 512 << 20, 16, false, true},
		{"2 GiB on two cores", 2 << 30, 16 << 30, 2, false, true},
		{"32 GiB on 16 cores", 32 << 30, 64 << 30, 16, false, true},
		{"32 GiB in order", 32 << 30, 512 << 20, 16, true, false},
	} {
		j := keysJob(t, c.bytes, c.memory, c.workers)
		j.ordered = c.ordered
		if got := j.gpuMayPay(t.Context()); got != c.want {
			t.Errorf("%s: %t", c.name, got)
		}
	}
}

// TestNothingMeasuredInVain: where no GPU can be, neither its driver nor the rates that would speak for it are looked at.
func TestNothingMeasuredInVain(t *testing.T) {
	if opencl.Installed() {
		t.Skip("there is an OpenCL library")
	}
	j := keysJob(t, 2<<30, 16<<30, 2)
	if err := j.chooseDevices(t.Context()); err != nil {
		t.Fatal(err)
	}
	if len(j.devices) != 1 || j.devices[0].Info().Kind != device.CPU || j.rates.measured {
		t.Errorf("%d devices, rates measured: %t", len(j.devices), j.rates.measured)
	}
}
